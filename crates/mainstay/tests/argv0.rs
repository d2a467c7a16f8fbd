//! The program under kubectl's names, and the scripts of shells: links to the real binary, the real kubectl, a real bash.

#![cfg(test)]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_mainstay");

fn run(program: &Path, words: &[&str]) -> Output {
    Command::new(program).args(words).output().unwrap()
}

fn stdout(output: Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn kubectl_completes_the_words_of_its_plugin() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("kubectl_complete-mainstay");
    symlink(PROGRAM, &link).unwrap();
    let offered = |words: &[&str]| stdout(run(&link, words));
    let words = offered(&[""]);
    assert!(words.contains("status\tShow fleet status") && words.ends_with(":4\n"), "{words}");
    assert_eq!(offered(&["sta"]).lines().count(), 2, "the one word, and what to do with it");
    assert!(offered(&["incident", ""]).contains("ack\t"));
    assert!(offered(&["status", "--wat"]).starts_with("--watch\t"));
    assert_eq!(offered(&["status", "-o", "y"]).lines().next(), Some("yaml\tYAML"));
    assert!(offered(&["status", "--kubeconfig", ""]).ends_with(":0\n"), "files are wanted there");
}

#[test]
fn as_a_plugin_it_speaks_of_itself_as_kubectl_does() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("kubectl-mainstay");
    symlink(PROGRAM, &link).unwrap();
    let help = stdout(run(&link, &["why", "--help"]));
    assert!(
        help.contains("Usage: kubectl mainstay why") && help.contains("  kubectl mainstay why node r12n04"),
        "{help}"
    );
    let failed = run(&link, &["why", "node", "n1", "--kubeconfig", "/nowhere"]);
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
}

#[test]
fn a_shell_takes_its_script() {
    let script = stdout(run(Path::new(PROGRAM), &["completion", "bash"]));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mainstay.bash");
    std::fs::write(&file, script).unwrap();
    let asks = format!(
        ". {}; COMP_WORDS=(mainstay sta); COMP_CWORD=1; _mainstay mainstay sta mainstay; echo ${{COMPREPLY[@]}}",
        file.display()
    );
    assert_eq!(stdout(Command::new("bash").args(["-c", &asks]).output().unwrap()).trim(), "status");
    for shell in ["zsh", "fish"] {
        assert!(stdout(run(Path::new(PROGRAM), &["completion", shell])).contains("doctor"), "{shell}");
    }
}
