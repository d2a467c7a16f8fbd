//! The same files give the same digest; what was written can be unpacked; and whatever was changed on the way is
//! noticed.

use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use crate::images::layer::{Entry, pack};

fn entries(program: &str) -> (TempDir, Vec<Entry>) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("program");
    std::fs::write(&file, program).unwrap();
    let entries = vec![Entry::folder("var/lib/x", 65_532), Entry::program("usr/bin/x", &file).unwrap()];
    (folder, entries)
}

fn written(program: &str) -> (TempDir, PathBuf, String) {
    let layers = Architecture::ALL.map(|arch| {
        let (_kept, entries) = entries(&format!("{program}{}", arch.name()));
        (arch, pack(entries).unwrap())
    });
    let image = Image {
        name: "x",
        version: "1.2.3",
        revision: "abc",
        created: "2026-11-15T00:00:00Z",
        entrypoint: "/usr/bin/x",
        user: 65_532,
        layers: &layers,
    };
    let out = TempDir::new().unwrap();
    let folder = out.path().join("x");
    let digests = image.write(&folder).unwrap();
    assert_eq!(digests.manifests.len(), 2);
    (out, folder, digests.index)
}

#[test]
fn the_same_files_have_the_same_digest_in_whatever_order_they_are_packed() {
    let (_first, _, digest) = written("#!/bin/sh\n");
    let (_second, _, again) = written("#!/bin/sh\n");
    assert_eq!(digest, again);
    let (_third, _, other) = written("#!/bin/sh\necho\n");
    assert_ne!(digest, other);
    let (_kept, mut entries) = entries("a");
    let forwards = pack(entries.clone()).unwrap();
    entries.reverse();
    assert_eq!(forwards.compressed, pack(entries).unwrap().compressed);
}

#[test]
fn an_image_is_unpacked_as_it_was_packed_for_each_architecture() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_out, folder, _) = written("#!/bin/sh\n");
    for arch in Architecture::ALL {
        let into = TempDir::new().unwrap();
        let runs = unpack(&folder, arch, into.path()).unwrap();
        assert_eq!((runs.entrypoint.as_str(), runs.user.as_str()), ("/usr/bin/x", "65532:65532"));
        assert_eq!(runs.labels["org.opencontainers.image.revision"], "abc");
        let program = into.path().join("usr/bin/x");
        assert_eq!(std::fs::read_to_string(&program).unwrap(), format!("#!/bin/sh\n{}", arch.name()));
        assert_eq!(program.metadata().unwrap().permissions().mode() & 0o777, 0o755);
        assert!(into.path().join("var/lib/x").is_dir());
    }
}

#[test]
fn a_blob_that_was_changed_is_noticed() {
    let (_out, folder, _) = written("#!/bin/sh\n");
    let blobs: Vec<_> =
        std::fs::read_dir(folder.join("blobs/sha256")).unwrap().map(|blob| blob.unwrap().path()).collect();
    assert_eq!(blobs.len(), 7, "an index, and a manifest, a config and a layer per architecture");
    for blob in blobs {
        let good = std::fs::read(&blob).unwrap();
        for bad in [[&good[..good.len() - 1], &[good[good.len() - 1] ^ 1]].concat(), good[1..].to_vec()] {
            std::fs::write(&blob, bad).unwrap();
            let refused = |arch| unpack(&folder, arch, TempDir::new().unwrap().path()).is_err();
            assert!(Architecture::ALL.into_iter().any(refused), "{}", blob.display());
        }
        std::fs::write(&blob, good).unwrap();
    }
    unpack(&folder, Architecture::X86_64, TempDir::new().unwrap().path()).unwrap();
}
