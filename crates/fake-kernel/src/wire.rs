//! The few messages of the FUSE protocol that are needed here, as `include/uapi/linux/fuse.h` lays them out (7.31): numbers
//! in the machine's order, one after the other. It moves bytes and knows nothing of files.

use rustix::io::Errno;

/// What the kernel asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) unique: u64,
    pub(crate) node: u64,
    pub(crate) ask: Operation,
}

/// The operation that a FUSE request asks for, with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Operation {
    Init,
    Lookup(Vec<u8>),
    /// About an entry that is forgotten: no answer is wanted.
    Forget,
    Attributes,
    Open,
    Read {
        file: u64,
        offset: u64,
        room: usize,
        nonblocking: bool,
    },
    Poll {
        file: u64,
        /// By which the kernel wants to be told later.
        handle: u64,
        notify: bool,
    },
    SeekData {
        file: u64,
    },
    Release {
        file: u64,
    },
    /// The asker of this request has a signal to see to.
    Interrupt {
        unique: u64,
    },
    Destroy,
    Flush,
    Other,
}

/// Behind the last record: where `SEEK_END` puts a reader, because this is how large the log says it is.
pub(crate) const END: u64 = 1 << 62;

const HEADER_BYTES: usize = 40;
const SEEK_DATA: u32 = 3;
const O_NONBLOCK: u32 = 0o4000;
const POLL_NOTIFY: u32 = 1;
const DIRECT_IO: u32 = 1;
/// Entries and attributes never change.
const VALID_SECONDS: u64 = 3_600;
const NOTIFY_POLL: i32 = 1;

/// Numbers, one after the other.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const BYTES: usize>(&mut self) -> [u8; BYTES] {
        match self.0.split_first_chunk() {
            Some((taken, rest)) => {
                self.0 = rest;
                *taken
            }
            None => [0; BYTES],
        }
    }

    fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.take())
    }

    fn u64(&mut self) -> u64 {
        u64::from_ne_bytes(self.take())
    }
}

impl Request {
    /// Reads a message; nothing where it is too short to be one.
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        let (header, body) = message.split_at_checked(HEADER_BYTES)?;
        let mut header = Fields(header);
        let (_bytes, opcode, unique, node) = (header.u32(), header.u32(), header.u64(), header.u64());
        let mut fields = Fields(body);
        let ask = match opcode {
            1 => Operation::Lookup(body.strip_suffix(b"\0").unwrap_or(body).to_vec()),
            2 | 42 => Operation::Forget,
            3 => Operation::Attributes,
            14 | 27 => Operation::Open,
            15 => {
                let (file, offset, room) = (fields.u64(), fields.u64(), fields.u32());
                let (_read_flags, _owner, flags) = (fields.u32(), fields.u64(), fields.u32());
                let room = usize::try_from(room).ok()?;
                Operation::Read { file, offset, room, nonblocking: flags & O_NONBLOCK != 0 }
            }
            18 | 29 => Operation::Release { file: fields.u64() },
            25 => Operation::Flush,
            26 => Operation::Init,
            36 => Operation::Interrupt { unique: fields.u64() },
            38 => Operation::Destroy,
            40 => {
                let (file, handle, flags) = (fields.u64(), fields.u64(), fields.u32());
                Operation::Poll { file, handle, notify: flags & POLL_NOTIFY != 0 }
            }
            46 => {
                let (file, _offset, whence) = (fields.u64(), fields.u64(), fields.u32());
                if whence == SEEK_DATA { Operation::SeekData { file } } else { Operation::Other }
            }
            _ => Operation::Other,
        };
        Some(Self { unique, node, ask })
    }
}

// === answers ===

fn message(unique: u64, error: i32, body: &[u8]) -> Vec<u8> {
    let bytes = u32::try_from(16 + body.len()).unwrap_or(u32::MAX);
    [&bytes.to_ne_bytes()[..], &error.to_ne_bytes(), &unique.to_ne_bytes(), body].concat()
}

pub(crate) fn done(unique: u64, body: &[u8]) -> Vec<u8> {
    message(unique, 0, body)
}

pub(crate) fn failed(unique: u64, error: Errno) -> Vec<u8> {
    message(unique, -error.raw_os_error(), &[])
}

/// Tells the kernel to ask again whether a file can be read.
pub(crate) fn wake(handle: u64) -> Vec<u8> {
    message(0, NOTIFY_POLL, &handle.to_ne_bytes())
}

fn numbers(u64s: &[u64], u32s: &[u32]) -> Vec<u8> {
    let longs = u64s.iter().flat_map(|number| number.to_ne_bytes());
    longs.chain(u32s.iter().flat_map(|number| number.to_ne_bytes())).collect()
}

/// The version, and that nothing special is wanted.
pub(crate) fn init() -> Vec<u8> {
    let (version, read_ahead, flags, background, write_bytes_max) = ([7, 31], 0, 0, 0, 4096);
    let mut body = numbers(&[], &[version[0], version[1], read_ahead, flags, background, write_bytes_max, 1]);
    body.resize(64, 0);
    body
}

fn attributes(node: u64, size: u64, mode: u32) -> Vec<u8> {
    numbers(&[node, size, 0, 0, 0, 0], &[0, 0, 0, mode, 1, 0, 0, 0, 4096, 0])
}

pub(crate) fn attributes_of(node: u64, size: u64, mode: u32) -> Vec<u8> {
    [numbers(&[VALID_SECONDS], &[0, 0]), attributes(node, size, mode)].concat()
}

pub(crate) fn entry(node: u64, size: u64, mode: u32) -> Vec<u8> {
    [numbers(&[node, 0, VALID_SECONDS, VALID_SECONDS], &[0, 0]), attributes(node, size, mode)].concat()
}

/// Reads go to the server as they are asked, past the page cache.
pub(crate) fn opened(file: u64) -> Vec<u8> {
    numbers(&[file], &[DIRECT_IO, 0])
}

pub(crate) fn poll(events: u16) -> Vec<u8> {
    numbers(&[], &[u32::from(events), 0])
}

pub(crate) fn position(offset: u64) -> Vec<u8> {
    numbers(&[offset], &[])
}
