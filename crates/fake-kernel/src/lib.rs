//! Files that behave as the kernel's do, for programs that read them by path and must not know the difference.
//!
//! [`Ring`] is the kernel's log as `/dev/kmsg` shows it: one record a read, the oldest overwritten, `EPIPE` to who was
//! too slow. [`Files`] serves it, and files whose reads hang, through FUSE: the reader opens a path, polls, seeks and is
//! killed as with the real device, in a process of its own, while the log lives on here.
//!
//! Why FUSE. A pipe or a socket has no `EPIPE` after an overwrite, no `SEEK_DATA` and forgets what a dead reader took;
//! a character device of our own (CUSE) cannot seek, because the kernel answers that itself, and is not built into most
//! kernels. What FUSE cannot show: the number that `lseek` returns for `SEEK_END`, and that a `lseek` with an offset is
//! refused; both are in [`Ring`] alone. It needs root and `/dev/fuse`.

mod files;
mod ring;
mod wire;

pub use files::Files;
pub use ring::{Line, Reader, Ring, SeekTarget};
