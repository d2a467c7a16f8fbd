//! The files themselves: a FUSE file system of one folder that is mounted nowhere. It is reached through a descriptor of
//! this process, so it goes away with the process, however that ends.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, MutexGuard, PoisonError};

use anyhow::Context as _;
use rustix::event::PollFlags;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen,
};

use crate::ring::{Line, Reader, Ring, SeekTarget};
use crate::wire::{self, Operation, Request};

#[expect(
    clippy::disallowed_types,
    reason = "there is no executor here: plain threads share the state for microseconds"
)]
type Lock<T> = std::sync::Mutex<T>;

const ROOT: u64 = 1;
const LOG: u64 = 2;
/// Answers with a text until it is told to hang.
const SOUND: u64 = 3;
const FOLDER_MODE: u32 = 0o040_755;
const FILE_MODE: u32 = 0o100_444;
/// The kernel wants room for at least this much (`FUSE_MIN_READ_BUFFER`).
const MESSAGE_BYTES_MAX: usize = 64 * 1024;

/// A log and a file that may hang, served until this is dropped.
#[derive(Debug)]
pub struct Files {
    shared: Arc<Shared>,
    folder: OwnedFd,
}

#[derive(Debug)]
struct Shared {
    device: OwnedFd,
    state: Lock<State>,
}

#[derive(Debug)]
struct State {
    ring: Ring,
    open: BTreeMap<u64, OpenFile>,
    next_file: u64,
    /// Reads of the log that wait for a line.
    waiting: Vec<(u64, u64, usize)>,
    /// Polls that want to be told of one.
    polled: Vec<u64>,
    sound: ReadBehaviour,
    /// Reads that hang.
    hanging: Vec<u64>,
}

/// One open file handle, with its position.
#[derive(Debug)]
struct OpenFile {
    node: u64,
    reader: Reader,
    /// Where the next read should be, if nobody seeks.
    offset: u64,
}

/// Whether reads of the second file return a text or hang.
#[derive(Debug)]
enum ReadBehaviour {
    Says(Vec<u8>),
    Hangs,
}

// === impl Files ===

impl Files {
    /// Serves an empty log that holds so many bytes of text.
    ///
    /// # Errors
    /// Without root, or without `/dev/fuse`.
    pub fn serve(log_bytes_max: usize) -> anyhow::Result<Self> {
        let device = rustix::fs::open("/dev/fuse", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
        let device = device.context("cannot open /dev/fuse, which the fake log is served through")?;
        let context = fsopen("fuse", FsOpenFlags::FSOPEN_CLOEXEC).context("no file system called fuse")?;
        let settings = [
            ("source", "fake-kernel".to_owned()),
            ("fd", device.as_raw_fd().to_string()),
            ("rootmode", "40000".into()),
        ];
        for (key, value) in settings.iter().chain(&[("user_id", "0".into()), ("group_id", "0".into())]) {
            fsconfig_set_string(context.as_fd(), *key, value.as_str())
                .with_context(|| format!("fuse refused {key}"))?;
        }
        fsconfig_set_flag(context.as_fd(), "allow_other").context("fuse refused allow_other")?;
        let state = State {
            ring: Ring::new(log_bytes_max),
            open: BTreeMap::new(),
            next_file: 1,
            waiting: Vec::new(),
            polled: Vec::new(),
            sound: ReadBehaviour::Says(Vec::new()),
            hanging: Vec::new(),
        };
        let shared = Arc::new(Shared { device, state: Lock::new(state) });
        fsconfig_create(context.as_fd()).context("fuse cannot be mounted: this needs root")?;
        // Before this, a read of the device is refused.
        let serving = Arc::clone(&shared);
        std::thread::Builder::new().name("fake-kernel".into()).spawn(move || serving.serve())?;
        let attributes = MountAttrFlags::empty();
        let folder = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes).context("fsmount")?;
        Ok(Self { shared, folder })
    }

    /// The path of the log, for this process and for every other of the same user while this one lives.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.path("kmsg")
    }

    /// The path of a file with a text, whose reads can be made to hang.
    #[must_use]
    pub fn text_path(&self) -> PathBuf {
        self.path("sound")
    }

    fn path(&self, name: &str) -> PathBuf {
        format!("/proc/{}/fd/{}/{name}", std::process::id(), self.folder.as_raw_fd()).into()
    }

    /// Writes a line, and answers its number.
    pub fn write(&self, line: Line) -> u64 {
        let mut state = self.shared.state();
        let seq = state.ring.write(line);
        let answers = state.after_write();
        drop(state);
        self.shared.answer(answers);
        seq
    }

    /// What `dmesg -C` does.
    pub fn clear(&self) {
        self.shared.state().ring.clear();
    }

    /// What the other file says from now on; reads that hang get it.
    pub fn set_text(&self, text: &str) {
        let mut state = self.shared.state();
        state.sound = ReadBehaviour::Says(text.as_bytes().to_vec());
        let hanging = std::mem::take(&mut state.hanging);
        drop(state);
        self.shared.answer(hanging.into_iter().map(|unique| wire::done(unique, text.as_bytes())).collect());
    }

    /// From now on reads of the other file do not come back, unless their process is killed: as a driver hangs that at
    /// least sleeps killably. One that does not cannot be ended by anybody.
    pub fn hang(&self) {
        self.shared.state().sound = ReadBehaviour::Hangs;
    }

    /// How many reads hang now.
    #[must_use]
    pub fn hanging(&self) -> usize {
        self.shared.state().hanging.len()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // Who hangs here would keep the file system, and so the serving thread, alive.
        self.set_text("");
    }
}

// === impl Shared ===

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request whose asker is gone is refused with `ENOENT`, which is nobody's trouble.
    fn answer(&self, answers: Vec<Vec<u8>>) {
        for answer in answers {
            let _ = rustix::io::write(&self.device, &answer);
        }
    }

    /// Until the file system is gone (`ENODEV`).
    fn serve(&self) {
        let mut buffer = vec![0; MESSAGE_BYTES_MAX];
        loop {
            let message = match rustix::io::read(&self.device, &mut buffer) {
                Ok(bytes) => buffer.get(..bytes).unwrap_or_default(),
                // The asker went away before we looked (ENOENT).
                Err(Errno::INTR | Errno::AGAIN | Errno::NOENT) => continue,
                Err(_) => return,
            };
            let Some(request) = Request::read(message) else { continue };
            if request.ask == Operation::Destroy {
                return;
            }
            let answers = self.state().take(request);
            self.answer(answers);
        }
    }
}

// === impl State ===

impl State {
    fn take(&mut self, request: Request) -> Vec<Vec<u8>> {
        let Request { unique, node, ask } = request;
        let body = match ask {
            Operation::Init => Ok(wire::init()),
            Operation::Forget | Operation::Destroy => return Vec::new(),
            Operation::Lookup(name) => match name.as_slice() {
                b"kmsg" => Ok(wire::entry(LOG, wire::END, FILE_MODE)),
                b"sound" => Ok(wire::entry(SOUND, 4096, FILE_MODE)),
                _ => Err(Errno::NOENT),
            },
            Operation::Attributes => Ok(match node {
                ROOT => wire::attributes_of(ROOT, 0, FOLDER_MODE),
                LOG => wire::attributes_of(LOG, wire::END, FILE_MODE),
                other => wire::attributes_of(other, 4096, FILE_MODE),
            }),
            Operation::Open => {
                let file = self.next_file;
                self.next_file += 1;
                self.open.insert(file, OpenFile { node, reader: self.ring.open(), offset: 0 });
                Ok(wire::opened(file))
            }
            Operation::Release { file } => {
                self.open.remove(&file);
                Ok(Vec::new())
            }
            Operation::Flush => Ok(Vec::new()),
            Operation::Read { file, offset, room, nonblocking } => match self.read(file, offset, room) {
                Err(Errno::AGAIN) if self.is_sound(file) => {
                    self.hanging.push(unique);
                    return Vec::new();
                }
                Err(Errno::AGAIN) if !nonblocking => {
                    self.waiting.push((unique, file, room));
                    return Vec::new();
                }
                read => read,
            },
            Operation::Poll { file, handle, notify } => {
                let events = self.open.get(&file).map_or(PollFlags::ERR, |open| self.ring.poll(&open.reader));
                if notify && events.is_empty() && !self.polled.contains(&handle) {
                    self.polled.push(handle);
                }
                Ok(wire::poll(events.bits()))
            }
            Operation::SeekData { file } => {
                let Self { ring, open, .. } = self;
                let moved = open.get_mut(&file).ok_or(Errno::BADF).and_then(|open| {
                    // A read at the beginning that follows is not another seek.
                    open.offset = 0;
                    ring.seek(&mut open.reader, 0, SeekTarget::Data)
                });
                moved.map(wire::position)
            }
            Operation::Interrupt { unique: asked } => return self.interrupt(asked),
            Operation::Other => Err(Errno::NOSYS),
        };
        vec![body.map_or_else(|error| wire::failed(unique, error), |body| wire::done(unique, &body))]
    }

    fn is_sound(&self, file: u64) -> bool {
        self.open.get(&file).is_some_and(|open| open.node == SOUND)
    }

    fn read(&mut self, file: u64, offset: u64, room: usize) -> Result<Vec<u8>, Errno> {
        let Self { ring, open, sound, .. } = self;
        let open = open.get_mut(&file).ok_or(Errno::BADF)?;
        if open.node == SOUND {
            let ReadBehaviour::Says(text) = sound else { return Err(Errno::AGAIN) };
            let from = usize::try_from(offset).unwrap_or(usize::MAX).min(text.len());
            return Ok(text.iter().skip(from).take(room).copied().collect());
        }
        // The kernel moves the position by itself for these two, and only the next read tells.
        match offset {
            wire::END if open.offset != wire::END => ring.seek(&mut open.reader, 0, SeekTarget::End)?,
            0 if open.offset != 0 => ring.seek(&mut open.reader, 0, SeekTarget::Set)?,
            _ => 0,
        };
        let record = ring.read(&mut open.reader, room);
        open.offset = offset + record.as_ref().map_or(0, |record| u64::try_from(record.len()).unwrap_or(0));
        record
    }

    /// Answers who waited for a line.
    fn after_write(&mut self) -> Vec<Vec<u8>> {
        let mut answers: Vec<Vec<u8>> = self.polled.drain(..).map(wire::wake).collect();
        for (unique, file, room) in std::mem::take(&mut self.waiting) {
            let offset = self.open.get(&file).map_or(0, |open| open.offset);
            match self.read(file, offset, room) {
                Ok(record) => answers.push(wire::done(unique, &record)),
                Err(Errno::AGAIN) => self.waiting.push((unique, file, room)),
                Err(error) => answers.push(wire::failed(unique, error)),
            }
        }
        answers
    }

    /// A signal came for who waits: the read ends without an answer. One that is not here yet is asked for again.
    fn interrupt(&mut self, unique: u64) -> Vec<Vec<u8>> {
        let before = self.waiting.len() + self.hanging.len();
        self.waiting.retain(|(waits, ..)| *waits != unique);
        self.hanging.retain(|hangs| *hangs != unique);
        let found = before > self.waiting.len() + self.hanging.len();
        if found { vec![wire::failed(unique, Errno::INTR)] } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests;
