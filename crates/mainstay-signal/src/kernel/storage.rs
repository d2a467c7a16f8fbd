//! Disks and file systems: NVMe and SCSI commands that fail or time out, block errors, and file systems that stop. Optical
//! drives and loop devices are left out, because their errors are no faults of the node.
//!
//! The formats come from the kernel's `drivers/nvme/host`, `block/blk-core.c`, `drivers/scsi/sd.c`, `drivers/ata`,
//! `fs/ext4`, `fs/jbd2`, `fs/xfs`, `fs/btrfs`, `drivers/md` and `fs/nfs`; their wording changed with the versions.

use mainstay_model::Source;

use super::words::phrase;
use crate::scan::Cursor;
use crate::{Place, Signal};

/// Beginnings that older kernels print before a block error.
const BLOCK_FUNCTIONS: [&str; 3] = ["blk_update_request: ", "print_req_error: ", "end_request: "];

/// Block errors by their first words.
const BLOCK_ERRORS: [&str; 8] = [
    "I/O error, dev ",
    "critical medium error, dev ",
    "critical target error, dev ",
    "critical nexus error, dev ",
    "critical space allocation error, dev ",
    "recoverable transport error, dev ",
    "timeout error, dev ",
    "protection error, dev ",
];

/// Devices that are no disks of the node.
const NO_DISKS: [&str; 4] = ["sr", "fd", "loop", "zram"];

const NVME: &[(&str, &str)] = &[
    ("Removing after probe failure", "disk-lost"),
    ("Device not ready", "disk-lost"),
    ("Disabling device after reset failure", "disk-lost"),
    ("Device unresponsive", "disk-lost"),
    ("timeout, ", "disk-timeout"),
    ("controller is down", "disk-reset"),
    ("frozen state error detected", "disk-reset"),
    ("reset controller", "disk-reset"),
    ("resetting controller", "disk-reset"),
    ("Abort status", "disk-timeout"),
    ("connection establishment failed", "storage-unreachable"),
    ("failed to connect", "storage-unreachable"),
    ("starting error recovery", "storage-unreachable"),
    ("failed nvme_keep_alive", "storage-unreachable"),
    ("keep-alive failed", "storage-unreachable"),
    ("Shutdown timeout", "disk-reset"),
    ("failed", "disk-error"),
];

const SCSI: &[(&str, &str)] = &[
    ("rejecting I/O to offline device", "disk-lost"),
    ("Device offlined", "disk-lost"),
    ("FAILED Result: ", "disk-error"),
    ("Sense Key : Medium Error", "disk-error"),
    ("Sense Key : Hardware Error", "disk-error"),
    ("Unhandled error code", "disk-error"),
    ("timing out command", "disk-timeout"),
];

const ATA: &[(&str, &str)] =
    &[("failed command: ", "disk-error"), ("exception Emask ", "disk-error"), ("disabled", "disk-lost")];

const FILE_SYSTEM: &[(&str, &str)] = &[
    ("shut down", "filesystem-stopped"),
    ("Shutting down filesystem", "filesystem-stopped"),
    ("Remounting filesystem read-only", "filesystem-stopped"),
    ("forced readonly", "filesystem-stopped"),
    ("xfs_do_force_shutdown", "filesystem-stopped"),
    ("I/O error", "filesystem-error"),
    ("I/O Error", "filesystem-error"),
    ("Corruption", "filesystem-error"),
    ("Metadata corruption", "filesystem-error"),
    ("writeback error", "filesystem-error"),
    ("bdev", "filesystem-error"),
    ("Detected aborted journal", "filesystem-error"),
    ("failed", "filesystem-error"),
    ("error", "filesystem-error"),
];

pub(super) fn parse(text: &str) -> Option<Signal> {
    let (code, device) = block(text)
        .or_else(|| nvme(text))
        .or_else(|| scsi(text))
        .or_else(|| file_system(text))
        .or_else(|| remote(text))?;
    Signal::new(Source::Kernel, code, Place::Node, device)
}

/// Parses `I/O error, dev nvme0n1, sector 131209936 op 0x0:(READ) …` and `Buffer I/O error on dev sda1, logical block 1`.
fn block(text: &str) -> Option<(&'static str, &str)> {
    let mut line = Cursor::new(text);
    for function in BLOCK_FUNCTIONS {
        let _ = line.eat(function);
    }
    let is_block = BLOCK_ERRORS.iter().any(|start| line.eat(start).is_some());
    let is_buffer = !is_block
        && (line.eat("Buffer I/O error on dev").is_some() && {
            let _ = line.eat("ice");
            line.eat(" ").is_some()
        });
    if !is_block && !is_buffer {
        return None;
    }
    let device = device(&mut line)?;
    line.eat(",")?;
    let is_disk = !NO_DISKS.iter().any(|start| {
        device.strip_prefix(start).is_some_and(|rest| rest.bytes().next().is_none_or(|byte| byte.is_ascii_digit()))
    });
    is_disk.then_some(("disk-error", device))
}

/// Parses `nvme nvme1: I/O 775 QID 2 timeout, aborting`, `nvme 0000:90:00.0: …` and `nvme0n1: Read(0x2) @ LBA …`.
fn nvme(text: &str) -> Option<(&'static str, &str)> {
    let mut line = Cursor::new(text);
    if line.eat("nvme ").is_some() {
        let (name, said) = line.rest().split_once(": ")?;
        let is_name =
            name.len() <= 16 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":.".contains(&byte));
        return if is_name { Some((phrase(said, NVME)?, name)) } else { None };
    }
    if !text.starts_with("nvme") {
        return None;
    }
    let name = device(&mut line)?;
    line.eat(": ")?;
    (line.rest().contains(" @ LBA ") && line.rest().contains("(sct ")).then_some(("disk-error", name))
}

/// Parses `sd 1:0:2:0: [sdc] tag#3023 FAILED Result: …` and `ata1.00: failed command: READ DMA`.
fn scsi(text: &str) -> Option<(&'static str, &str)> {
    let mut line = Cursor::new(text);
    let is_scsi = line.eat("sd ").is_some();
    let is_ata = !is_scsi && line.eat("ata").is_some();
    if !is_scsi && !is_ata {
        return None;
    }
    let address = line.run(|c| c.is_ascii_digit() || c == ':' || c == '.');
    let said = line.rest().strip_prefix(' ')?;
    if is_ata {
        return Some((phrase(said, ATA)?, ""));
    }
    let name = said.strip_prefix('[').and_then(|said| said.split_once(']')).map_or(address, |(name, _)| name);
    Some((phrase(said, SCSI)?, name))
}

/// Parses lines of local file systems: `EXT4-fs error (device sda1): …`, `XFS (sdb6): log I/O error -5`, `Aborting
/// journal on device nvme0n1p1-8.`, `BTRFS error (device sda): …`, `md/raid1:md0: Disk failure on sda1, …`.
fn file_system(text: &str) -> Option<(&'static str, &str)> {
    let mut line = Cursor::new(text);
    if line.eat("Aborting journal on device ").is_some()
        || line.eat("JBD2: Detected IO errors while flushing file data on ").is_some()
    {
        return Some(("filesystem-error", device(&mut line)?));
    }
    if text.starts_with("md/") && text.contains(": Disk failure on ") {
        return Some(("disk-lost", ""));
    }
    let is_one = ["EXT4-fs", "XFS", "BTRFS", "F2FS-fs"].iter().any(|name| line.eat(name).is_some());
    if !is_one {
        return None;
    }
    let words = line.run(|c| c.is_ascii_lowercase() || c == ' ' || c == ':');
    line.eat("(")?;
    let _ = line.eat("device ");
    let name = device(&mut line)?;
    // BTRFS adds a state, `(device sda state EA)`.
    line.run(|c| c.is_ascii_alphanumeric() || c == ' ');
    line.eat(")")?;
    let said = line.rest();
    match phrase(said, FILE_SYSTEM) {
        Some(code) => Some((code, name)),
        None => ["error", "critical"].iter().any(|level| words.contains(level)).then_some(("filesystem-error", name)),
    }
}

/// Parses lines of file systems and disks behind a network.
fn remote(text: &str) -> Option<(&'static str, &'static str)> {
    let is_nfs = text.starts_with("nfs: server ") && text.contains(" not responding");
    let is_iscsi = text.contains("detected conn error (") && text.starts_with(" connection");
    let is_lustre = text.starts_with("LustreError: ") || text.starts_with("Lustre: ") && text.contains(" was lost");
    let is_ceph = text.starts_with("libceph: ") && (text.contains(" down") || text.contains("socket error"));
    (is_nfs || is_iscsi || is_lustre || is_ceph).then_some(("storage-unreachable", ""))
}

/// Parses the name of a block device, which the kernel chooses.
fn device<'a>(line: &mut Cursor<'a>) -> Option<&'a str> {
    let name = line.run(|c| c.is_ascii_alphanumeric() || "-_!".contains(c));
    (!name.is_empty() && name.len() <= 32).then_some(name)
}

#[cfg(test)]
pub(super) mod tests {
    use crate::kernel::tests::{Line, nothing, says};

    #[rustfmt::skip] // one line a case
    pub(crate) const LINES: &[Line] = &[
        ("nvme nvme1: I/O 775 QID 2 timeout, aborting", "Kernel disk-timeout node nvme1"),
        ("nvme nvme0: I/O tag 12 (a00c) opcode 0x2 (I/O Cmd) QID 1 timeout, aborting req_op:READ(0) size:4096", "Kernel disk-timeout node nvme0"),
        ("nvme nvme2: Device not ready; aborting reset", "Kernel disk-lost node nvme2"),
        ("nvme nvme2: Removing after probe failure status: -19", "Kernel disk-lost node nvme2"),
        ("nvme nvme0: controller is down; will reset: CSTS=0x3, PCI_STATUS=0x10", "Kernel disk-reset node nvme0"),
        ("nvme nvme0: frozen state error detected, reset controller", "Kernel disk-reset node nvme0"),
        ("nvme nvme1: rdma connection establishment failed (-22)", "Kernel storage-unreachable node nvme1"),
        ("nvme0n1: I/O Cmd(0x2) @ LBA 131209936, 200 blocks, I/O Error (sct 0x3 / sc 0x71) ", "Kernel disk-error node nvme0n1"),
        ("I/O error, dev nvme0n1, sector 131209936 op 0x0:(READ) flags 0x80700 phys_seg 25 prio class 0", "Kernel disk-error node nvme0n1"),
        ("blk_update_request: critical medium error, dev sde, sector 12894264 op 0x1:(WRITE) flags 0x800", "Kernel disk-error node sde"),
        ("print_req_error: I/O error, dev sdc, sector 628940360 flags 80700", "Kernel disk-error node sdc"),
        ("Buffer I/O error on device nvme0n1p1, logical block 1066386", "Kernel disk-error node nvme0n1p1"),
        ("Buffer I/O error on dev sda1, logical block 0, lost async page write", "Kernel disk-error node sda1"),
        ("sd 1:0:2:0: [sdc] tag#3023 FAILED Result: hostbyte=DID_BAD_TARGET driverbyte=DRIVER_OK", "Kernel disk-error node sdc"),
        ("sd 6:0:0:1: rejecting I/O to offline device", "Kernel disk-lost node 6:0:0:1:"),
        ("ata1.00: failed command: READ FPDMA QUEUED", "Kernel disk-error node"),
        ("EXT4-fs (sde): I/O error while writing superblock", "Kernel filesystem-error node sde"),
        ("EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm x: reading directory lblock 0", "Kernel filesystem-error node sda1"),
        ("EXT4-fs (sda1): Remounting filesystem read-only", "Kernel filesystem-stopped node sda1"),
        ("Aborting journal on device nvme0n1p1-8.", "Kernel filesystem-error node nvme0n1p1-8"),
        ("XFS (sdb6): log I/O error -5", "Kernel filesystem-error node sdb6"),
        ("XFS (sdb6): Filesystem has been shut down due to log error (0x2).", "Kernel filesystem-stopped node sdb6"),
        ("BTRFS error (device sda state EA): bdev /dev/sda errs: wr 1, rd 0, flush 0, corrupt 0, gen 0", "Kernel filesystem-error node sda"),
        ("md/raid1:md0: Disk failure on sda1, disabling device.", "Kernel disk-lost node"),
        ("nfs: server storage-1 not responding, still trying", "Kernel storage-unreachable node"),
    ];

    #[test]
    fn an_error_of_a_disk_names_the_disk() {
        says(LINES);
    }

    #[test]
    fn normal_lines_and_other_devices_are_left_alone() {
        nothing(&[
            "sd 0:0:2:0: [sdb] 419430400 512-byte logical blocks: (214 GB/200 GiB)",
            "ata1: SATA link down (SStatus 0 SControl 300)",
            "XFS (sdb5): Mounting V5 Filesystem",
            "XFS (sdb5): Ending clean mount",
            "EXT4-fs (sda1): mounted filesystem with ordered data mode. Quota mode: none.",
            "nvme nvme0: pci function 0000:01:00.0",
            "nvme nvme0: 32/0/0 default/read/poll queues",
            "I/O error, dev sr0, sector 0 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2",
            "blk_update_request: I/O error, dev loop3, sector 1",
            "nvme2n1: detected capacity change from 800166076416 to 0",
        ]);
    }
}
