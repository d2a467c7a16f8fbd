//! One record: `priority,number,microseconds,flags[,more];text`, then lines of properties that begin with a space. The
//! format is that of the kernel's `Documentation/ABI/testing/dev-kmsg`.

/// What the text may be unescaped to; longer ones are cut, as `mainstay-signal` looks at no more.
const TEXT_BYTES_MAX: usize = mainstay_signal::LINE_BYTES_MAX;

/// One record of the kernel log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its place in this boot; the first is 0, and none is left out.
    pub number: u64,
    /// The syslog priority, 0 to 7.
    pub level: u8,
    /// When, in microseconds since boot.
    pub at_micros: u64,
    /// Its text, unescaped. Whoever chose a file name may have put a line break into it.
    pub text: String,
    /// Whether it is a whole line.
    pub extent: Extent,
}

/// Whether a record is a whole line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// It is.
    Whole,
    /// It goes on where another left off, so its beginning may be anybody's words.
    Fragment,
}

// === impl Record ===

impl Record {
    /// Reads a record; nothing where it has no number.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let head_end = bytes.iter().position(|byte| *byte == b';')?;
        let (head, rest) = bytes.split_at(head_end);
        let mut fields = std::str::from_utf8(head).ok()?.split(',');
        // The facility is above the three bits of the level.
        let priority: u32 = fields.next()?.parse().ok()?;
        let number = fields.next()?.parse().ok()?;
        let at_micros = fields.next()?.parse().ok()?;
        let extent = match fields.next()? {
            // Older kernels write `+` for what follows the first fragment.
            "c" | "+" => Extent::Fragment,
            _ => Extent::Whole,
        };
        // Properties follow in lines of their own; the places in the text are what we go by.
        let text = rest.get(1..)?.split(|byte| *byte == b'\n').next()?;
        let level = u8::try_from(priority & 7).unwrap_or(7);
        Some(Self { number, level, at_micros, text: unescape(text), extent })
    }

    /// Its text, if its beginning can be trusted: a fragment has none, and what follows a line break in the text may be a
    /// file name that a tenant chose.
    #[must_use]
    pub fn line(&self) -> Option<&str> {
        match self.extent {
            Extent::Whole => Some(&self.text),
            Extent::Fragment => None,
        }
    }
}

/// `\xNN` is a byte; what merely looks like it stays.
fn unescape(text: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(text.len().min(TEXT_BYTES_MAX));
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        if bytes.len() >= TEXT_BYTES_MAX {
            break;
        }
        let escaped = match rest {
            [b'\\', b'x', high, low, ..] => hex(*high).zip(hex(*low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { rest.get(4..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}
