//! The program behind `cargo xtask`. The library has the tasks, because the crates `generate` and `proofs` share parts of
//! them.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    xtask::run().await
}
