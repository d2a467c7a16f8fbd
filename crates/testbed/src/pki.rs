//! The identities of one cluster: a certificate authority, a serving certificate, client certificates for the programs
//! and the administrator, and the key that signs service account tokens. Real nodes get theirs when they are started, so the
//! authority's key is kept. Thrown away with the cluster.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};

/// Address of the Service `kubernetes`, the first one of the server's range. Every pod gets it as KUBERNETES_SERVICE_HOST.
pub(crate) const KUBERNETES_SERVICE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

const AUTHORITY: &str = "mainstay testbed authority";

/// Who talks to the API server with a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    /// A person or a test, above RBAC.
    Admin,
    ControllerManager,
    Scheduler,
    /// Its rights are in [`crate::kwok`]. It shows a token instead of a certificate: it sends most requests of all,
    /// and checking a certificate's signature on each of them was 7 % of the API server's work.
    Kwok,
}

impl Identity {
    const ALL: [Self; 4] = [Self::Admin, Self::ControllerManager, Self::Scheduler, Self::Kwok];

    /// The user name that the API server sees. Those of the two programs are bound by its bootstrap roles.
    pub(crate) const fn user(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::ControllerManager => "system:kube-controller-manager",
            Self::Scheduler => "system:kube-scheduler",
            Self::Kwok => "testbed:kwok",
        }
    }

    const fn group(self) -> Option<&'static str> {
        match self {
            Self::Admin => Some("system:masters"),
            Self::ControllerManager | Self::Scheduler | Self::Kwok => None,
        }
    }

    /// The file with the address, the authority and this identity's key. The administrator's has the plain name,
    /// because it is the one people use.
    pub(crate) fn kubeconfig(self, dir: &Path) -> PathBuf {
        dir.join(match self {
            Self::Admin => "kubeconfig",
            Self::ControllerManager => "kubeconfig-controller-manager",
            Self::Scheduler => "kubeconfig-scheduler",
            Self::Kwok => "kubeconfig-kwok",
        })
    }
}

/// Name of the API server in requests that it forwards to extension API servers.
pub(crate) const FRONT_PROXY: &str = "front-proxy-client";

/// Files that the API server and the controller manager are pointed to.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    pub(crate) ca: PathBuf,
    pub(crate) ca_key: PathBuf,
    pub(crate) serving_cert: PathBuf,
    pub(crate) serving_key: PathBuf,
    pub(crate) token_private_key: PathBuf,
    pub(crate) token_public_key: PathBuf,
    pub(crate) static_tokens: PathBuf,
    pub(crate) front_proxy_ca: PathBuf,
    pub(crate) front_proxy_cert: PathBuf,
    pub(crate) front_proxy_key: PathBuf,
}

impl Files {
    pub(crate) fn of(dir: &Path) -> Self {
        let pki = dir.join("pki");
        Self {
            ca: pki.join("ca.crt"),
            ca_key: pki.join("ca.key"),
            serving_cert: pki.join("serving.crt"),
            serving_key: pki.join("serving.key"),
            token_private_key: pki.join("token.key"),
            token_public_key: pki.join("token.pub"),
            static_tokens: pki.join("static-tokens.csv"),
            front_proxy_ca: pki.join("front-proxy-ca.crt"),
            front_proxy_cert: pki.join("front-proxy.crt"),
            front_proxy_key: pki.join("front-proxy.key"),
        }
    }
}

/// Makes everything anew in `dir`, for an API server at `url`.
pub(crate) fn write(dir: &Path, url: &str) -> Result<Files> {
    let files = Files::of(dir);
    std::fs::create_dir_all(dir.join("pki"))?;
    let authority = authority_named(AUTHORITY)?;
    write_private(&files.ca, &authority.pem())?;
    write_private(&files.ca_key, &authority.key().serialize_pem())?;

    let (cert, key) = serving(&authority)?;
    write_private(&files.serving_cert, &cert)?;
    write_private(&files.serving_key, &key)?;

    // Of its own authority: a client certificate of the other one must not be able to name another user.
    let proxy_authority = authority_named("mainstay testbed front proxy authority")?;
    let (cert, key) = client(&proxy_authority, FRONT_PROXY, None)?;
    write_private(&files.front_proxy_ca, &proxy_authority.pem())?;
    write_private(&files.front_proxy_cert, &cert)?;
    write_private(&files.front_proxy_key, &key)?;

    let token_key = KeyPair::generate()?;
    write_private(&files.token_private_key, &token_key.serialize_pem())?;
    write_private(&files.token_public_key, &token_key.public_key_pem())?;

    let token = random_token()?;
    write_private(&files.static_tokens, &format!("{token},{user},{user}\n", user = Identity::Kwok.user()))?;
    for identity in Identity::ALL {
        let credentials = match identity {
            Identity::Kwok => format!("token: {token}"),
            Identity::Admin | Identity::ControllerManager | Identity::Scheduler => {
                certificate(&authority, identity.user(), identity.group())?
            }
        };
        write_private(&identity.kubeconfig(dir), &kubeconfig(url, &authority.pem(), identity.user(), &credentials))?;
    }
    Ok(files)
}

/// A kubeconfig for a bearer token, as a text.
pub(crate) fn kubeconfig_for_token(dir: &Path, url: &str, token: &str) -> Result<String> {
    let ca = std::fs::read_to_string(Files::of(dir).ca).context("cannot read the cluster's authority")?;
    // JSON is YAML: quoted this way, no token can break out of its line.
    Ok(kubeconfig(url, &ca, "bearer", &format!("token: {}", serde_json::to_string(token)?)))
}

/// A kubeconfig with the identity that the API server expects of a node's kubelet, as a text.
pub(crate) fn kubeconfig_for_node(dir: &Path, url: &str, node: &str) -> Result<String> {
    let files = Files::of(dir);
    let ca = std::fs::read_to_string(&files.ca).context("cannot read the cluster's authority")?;
    let key = std::fs::read_to_string(&files.ca_key).context("cannot read the key of the cluster's authority")?;
    let authority = Issuer::new(authority_params(AUTHORITY)?, KeyPair::from_pem(&key)?);
    let user = format!("system:node:{node}");
    let credentials = certificate(&authority, &user, Some("system:nodes"))?;
    Ok(kubeconfig(url, &ca, &user, &credentials))
}

fn kubeconfig(url: &str, ca_pem: &str, user: &str, credentials: &str) -> String {
    let ca = STANDARD.encode(ca_pem);
    format!(
        "apiVersion: v1
kind: Config
current-context: testbed
clusters:
- name: testbed
  cluster:
    server: {url}
    certificate-authority-data: {ca}
users:
- name: {user}
  user:
    {credentials}
contexts:
- name: testbed
  context:
    cluster: testbed
    user: {user}
"
    )
}

fn authority_named(name: &str) -> Result<CertifiedIssuer<'static, KeyPair>> {
    Ok(CertifiedIssuer::self_signed(authority_params(name)?, KeyPair::generate()?)?)
}

fn authority_params(name: &str) -> Result<CertificateParams> {
    let mut params = named(name, None)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    Ok(params)
}

fn serving(authority: &Issuer<'_, KeyPair>) -> Result<(String, String)> {
    let mut params = named("kube-apiserver", None)?;
    params.subject_alt_names = vec![
        SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        SanType::IpAddress(IpAddr::V4(KUBERNETES_SERVICE)),
        SanType::DnsName("localhost".try_into()?),
        SanType::DnsName("kubernetes.default.svc".try_into()?),
    ];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    signed(params, authority)
}

/// A client certificate and its key, as lines of a kubeconfig.
fn certificate(authority: &Issuer<'_, KeyPair>, user: &str, group: Option<&str>) -> Result<String> {
    let (cert, key) = client(authority, user, group)?;
    let [cert, key] = [cert, key].map(|pem| STANDARD.encode(pem));
    Ok(format!("client-certificate-data: {cert}\n    client-key-data: {key}"))
}

/// A client certificate and its key, as PEM.
fn client(authority: &Issuer<'_, KeyPair>, user: &str, group: Option<&str>) -> Result<(String, String)> {
    let mut params = named(user, group)?;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    signed(params, authority)
}

fn random_token() -> Result<String> {
    let mut bytes = [0; 32];
    aws_lc_rs::rand::fill(&mut bytes).context("no randomness for a token")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn named(common_name: &str, organization: Option<&str>) -> Result<CertificateParams> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, common_name);
    if let Some(organization) = organization {
        params.distinguished_name.push(DnType::OrganizationName, organization);
    }
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

fn signed(mut params: CertificateParams, authority: &Issuer<'_, KeyPair>) -> Result<(String, String)> {
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    let key = KeyPair::generate()?;
    let cert = params.signed_by(&key, authority)?;
    Ok((cert.pem(), key.serialize_pem()))
}

/// Readable by its owner alone: other users of the machine are no administrators of the cluster.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<()> {
    let open = std::fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path);
    let mut file = open.with_context(|| format!("cannot create {}", path.display()))?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn every_identity_has_a_kubeconfig_that_kube_accepts_and_only_its_owner_can_read() {
        let dir = crate::process::tests::scratch("pki");
        write(&dir, "https://127.0.0.1:6443").unwrap();
        for identity in Identity::ALL {
            let path = identity.kubeconfig(&dir);
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            let config = kube::config::Kubeconfig::read_from(&path).unwrap();
            assert_eq!(config.auth_infos[0].name, identity.user());
        }
        let node = kubeconfig_for_node(&dir, "https://127.0.0.1:6443", "real-1").unwrap();
        let config = kube::config::Kubeconfig::from_yaml(&node).unwrap();
        assert_eq!(config.auth_infos[0].name, "system:node:real-1");
        assert_eq!(std::fs::metadata(Files::of(&dir).ca_key).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_token_with_quotes_and_newlines_stays_one_value() {
        let dir = crate::process::tests::scratch("token");
        write(&dir, "https://127.0.0.1:6443").unwrap();
        let text = kubeconfig_for_token(&dir, "https://127.0.0.1:6443", "a\"b\n  server: evil").unwrap();
        let config = kube::config::Kubeconfig::from_yaml(&text).unwrap();
        assert_eq!(config.clusters[0].cluster.as_ref().unwrap().server.as_deref(), Some("https://127.0.0.1:6443"));
        std::fs::remove_dir_all(dir).unwrap();
    }
}
