//! Identity of this process on the Lease, on the Cell and in Events. It names the pod, so that an operator finds the leader
//! with `kubectl`.

/// Variable with the pod's name, which the Deployment sets from the downward API.
const POD_NAME: &str = "POD_NAME";
/// The host name outside a pod.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";
/// Name of a process whose pod and host have none.
const UNNAMED: &str = "mainstay";
/// Longest name that is kept. With the random part the identity fits a user name and the instance of an Event, which have at
/// most 128 bytes.
const NAME_BYTES_MAX: usize = 100;

/// Returns the identity of this process. A process that restarts has another one: a pod that restarts keeps its name, so
/// uniqueness comes from the operating system's entropy.
pub(crate) fn of_this_process() -> String {
    let mut bytes = [0; 8];
    let random = match aws_lc_rs::rand::fill(&mut bytes) {
        Ok(()) => u64::from_le_bytes(bytes),
        Err(_) => fastrand::u64(..),
    };
    let host = || std::fs::read_to_string(HOST_NAME).unwrap_or_default();
    identity(&std::env::var(POD_NAME).ok().filter(|name| !name.is_empty()).unwrap_or_else(host), random)
}

fn identity(name: &str, random: u64) -> String {
    let plain = name.trim().chars().filter(|c| c.is_ascii_alphanumeric() || "-.".contains(*c));
    let plain: String = plain.take(NAME_BYTES_MAX).collect();
    let name = if plain.is_empty() { UNNAMED } else { &plain };
    format!("{name}_{random:016x}")
}

#[cfg(test)]
mod tests {
    use mainstay_model::UserName;

    use super::*;

    #[test]
    fn an_identity_names_the_pod_and_is_a_user_name() {
        assert_eq!(
            identity("mainstay-controller-7d9c5b6f4-x2x7k", 7),
            "mainstay-controller-7d9c5b6f4-x2x7k_0000000000000007"
        );
        assert_eq!(identity("\u{1b}[2J\n", 7), "2J_0000000000000007");
        assert_eq!(identity("", 7), "mainstay_0000000000000007");
        let longest = identity(&"n".repeat(253), u64::MAX);
        assert!(UserName::parse(&longest).is_ok(), "{longest}");
        assert_ne!(of_this_process(), of_this_process());
    }
}
