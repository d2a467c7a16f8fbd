//! Who may ask the running agent for something, and how: one line over a socket in the file system, one line back. Whoever
//! is about to unload the driver, to reset a GPU or to set MIG asks it to let go of NVML, and is answered once it has.

mod release_file;

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mainstay_model::BootId;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use crate::output::{self, CommandOutput, Format, Outcome, Problem};
use crate::sources::nvml::{NvmlSession, RELEASE_MAX};
pub(crate) use release_file::ReleaseFile;

/// An operator, a script, and somebody who is curious.
const ASKERS_MAX: usize = 8;

/// A line either way.
const LINE_BYTES_MAX: u64 = 256;

/// For the line that asks.
const ASK_LIMIT: Duration = Duration::from_secs(2);

/// How long NVML may take to be closed. A look at eight GPUs is under a second; what takes longer hangs.
const LET_GO_LIMIT: Duration = Duration::from_secs(10);

/// How often it is looked whether it is.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A request on the control socket: close NVML for a time, or allow it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// To let go of NVML for so long.
    Release(Duration),
    /// To use it again.
    Hold,
}

/// Reply on the control socket: whether NVML is closed, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    /// Whether NVML is closed.
    free: bool,
    /// How long that took.
    took_millis: u64,
    /// How long it stays closed, at most.
    for_seconds: u64,
    /// What it is doing, where it is not closed.
    doing: String,
}

/// Unix socket on which local tools ask the agent to close NVML.
#[derive(Debug)]
pub(crate) struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
    order: ReleaseFile,
    room: Arc<Semaphore>,
}

// === impl Request ===

impl Request {
    fn line(&self) -> String {
        match self {
            Self::Release(length) => format!("release {}\n", length.as_secs()),
            Self::Hold => "hold\n".to_owned(),
        }
    }

    pub(crate) fn read(line: &str) -> Option<Self> {
        match line.trim_end().split_once(' ') {
            Some(("release", seconds)) => {
                let length = Duration::from_secs(seconds.parse().ok()?);
                (Duration::from_secs(1)..=RELEASE_MAX).contains(&length).then_some(Self::Release(length))
            }
            Some(_) => None,
            None => (line.trim_end() == "hold").then_some(Self::Hold),
        }
    }
}

// === impl ControlSocket ===

impl ControlSocket {
    /// Takes the path. Whoever had it before is gone, because the state beside it is had by one agent alone.
    pub(crate) fn bind(path: &Path, boot: BootId) -> io::Result<Self> {
        match std::fs::remove_file(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let listener = UnixListener::bind(path)?;
        // Who may ask the agent to look away is who could stop it anyway.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        let room = Arc::new(Semaphore::new(ASKERS_MAX));
        Ok(Self { listener, path: path.to_path_buf(), order: ReleaseFile::next_to(path, boot), room })
    }

    /// The order that is written down, if any.
    pub(crate) const fn order(&self) -> &ReleaseFile {
        &self.order
    }

    /// The next who asks. Safe to be dropped while it waits.
    pub(crate) async fn accept(&self) -> io::Result<UnixStream> {
        let (stream, _) = self.listener.accept().await?;
        Ok(stream)
    }

    /// Answers one, unless too many are asking already.
    pub(crate) fn answer(&self, stream: UnixStream, guest: NvmlSession) {
        let Ok(place) = Arc::clone(&self.room).try_acquire_owned() else { return };
        let order = self.order.clone();
        tokio::spawn(async move {
            // Who goes away is not answered.
            let _ = serve(stream, &guest, order).await;
            drop(place);
        });
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn serve(mut stream: UnixStream, guest: &NvmlSession, order: ReleaseFile) -> io::Result<()> {
    let (reader, _) = stream.split();
    let mut line = String::new();
    timeout(ASK_LIMIT, BufReader::new(reader.take(LINE_BYTES_MAX)).read_line(&mut line)).await??;
    let text = match Request::read(&line) {
        Some(asked) => {
            let length = match asked {
                Request::Release(length) => Some(length),
                Request::Hold => None,
            };
            // A disk that hangs does not keep whoever asks waiting.
            let kept = tokio::task::spawn_blocking(move || order.store(length, crate::now()));
            let _ = timeout(ASK_LIMIT, kept).await;
            serde_json::to_string(&done(&asked, guest).await)?
        }
        None => "\"release SECONDS, up to an hour, and hold are understood\"".to_owned(),
    };
    timeout(ASK_LIMIT, stream.write_all(format!("{text}\n").as_bytes())).await?
}

async fn done(asked: &Request, guest: &NvmlSession) -> Response {
    let begun = Instant::now();
    match asked {
        Request::Release(length) => {
            guest.release(*length);
            while !guest.is_free() && begun.elapsed() < LET_GO_LIMIT {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
        Request::Hold => guest.hold(),
    }
    Response {
        free: guest.is_free(),
        took_millis: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        for_seconds: guest
            .released_for()
            .map_or(0, |left| u64::try_from(left.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX)),
        doing: guest.doing().words(),
    }
}

/// Asks the running agent.
pub(crate) async fn ask(path: &Path, asked: &Request, format: Format) -> Result<CommandOutput, Problem> {
    let no_agent = |error: io::Error| {
        let what = format!("cannot reach the agent at {}", path.display());
        Problem::new(what, error, "check that the agent runs on this node, and that --control is its socket.")
    };
    let text = timeout(ASK_LIMIT + LET_GO_LIMIT + ASK_LIMIT, exchange(path, &asked.line())).await;
    let text = text.map_err(|_| no_agent(io::Error::from(io::ErrorKind::TimedOut)))?.map_err(no_agent)?;
    let answer: Response = serde_json::from_str(&text).map_err(|error| {
        Problem::new(
            "unexpected response from the agent",
            error,
            "check that the agent has the same version. Response: ".to_owned() + &text,
        )
    })?;
    let Response { free, took_millis, for_seconds, doing } = &answer;
    if matches!(asked, Request::Release(_)) && !free {
        let what = "the agent could not close NVML";
        let detail = format!("a driver call hangs: {doing}.");
        return Err(Problem::new(what, detail, "stop the agent: SIGTERM ends it within two seconds."));
    }
    let text = match (format, asked) {
        (Format::Json, _) => output::json(&answer, true)?,
        (Format::Text, Request::Release(_)) => {
            format!("NVML closed after {took_millis} ms. The agent opens it again in {for_seconds} s, or on `hold`.\n")
        }
        (Format::Text, Request::Hold) => "The agent may open NVML again.\n".to_owned(),
    };
    Ok(CommandOutput { text, outcome: Outcome::Nothing })
}

async fn exchange(path: &Path, line: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(path).await?;
    stream.write_all(line.as_bytes()).await?;
    let mut text = String::new();
    BufReader::new(stream.take(LINE_BYTES_MAX * 2)).read_line(&mut text).await?;
    Ok(text)
}

/// `90`, `90s`, `2m`, `1h`; from a second to an hour.
pub(crate) fn length(text: &str) -> Result<Duration, String> {
    let (digits, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(digits) => (digits, text.get(digits.len()..).unwrap_or_default()),
        None => (text, "s"),
    };
    let number: u64 = digits.parse().map_err(|_| "use a number with s, m or h, for example 90s or 2m")?;
    let seconds = match unit {
        "h" => number.saturating_mul(3_600),
        "m" => number.saturating_mul(60),
        _ => number,
    };
    let length = Duration::from_secs(seconds);
    if (Duration::from_secs(1)..=RELEASE_MAX).contains(&length) {
        Ok(length)
    } else {
        Err("use 1s to 1h; the agent always opens NVML again".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_bounded_and_lines_are_read_as_they_are_written() {
        assert_eq!(length("90"), Ok(Duration::from_secs(90)));
        assert_eq!(length("2m"), Ok(Duration::from_mins(2)));
        assert_eq!(length("1h"), Ok(Duration::from_hours(1)));
        for wrong in ["", "0s", "61m", "m", "-1", "1d", "99999999999999999999"] {
            assert!(length(wrong).is_err(), "{wrong}");
        }
        for asked in [Request::Release(Duration::from_secs(7)), Request::Hold] {
            assert_eq!(Request::read(&asked.line()), Some(asked));
        }
        for wrong in ["", "release", "release 0", "release 3601", "release x", "hold 1", "run"] {
            assert_eq!(Request::read(wrong), None, "{wrong}");
        }
    }

    #[tokio::test]
    async fn whoever_asks_is_answered_when_nvml_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.sock");
        std::fs::write(&path, "left behind by one that was killed").unwrap();
        let control = ControlSocket::bind(&path, BootId::parse("boot").unwrap()).unwrap();
        let guest = NvmlSession::new();
        let its = guest.clone();
        let served = tokio::spawn(async move {
            let stream = control.accept().await.unwrap();
            control.answer(stream, its);
            control
        });
        let said = ask(&path, &Request::Release(Duration::from_secs(60)), Format::Json).await.unwrap();
        let answer: Response = serde_json::from_str(&said.text).unwrap();
        assert!(answer.free && answer.for_seconds == 60, "{answer:?}");
        assert!(guest.released_for().is_some());
        let order = ReleaseFile::next_to(&path, BootId::parse("boot").unwrap());
        assert!(
            order.remaining(crate::now()).is_some_and(|left| left <= Duration::from_secs(60)),
            "it is written down"
        );
        drop(served.await.unwrap());
        assert!(!path.exists());
        let problem = ask(&path, &Request::Hold, Format::Text).await.unwrap_err();
        assert!(problem.what.contains("cannot reach the agent"), "{problem:?}");
    }
}
