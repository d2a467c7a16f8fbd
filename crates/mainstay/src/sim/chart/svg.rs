//! The few shapes a picture is made of, and how they look. All text is escaped here.

use mainstay_text::escape_html;

/// How an area is filled. The letters on it are dark or light, whichever can be read.
#[derive(Clone, Copy)]
pub(super) enum Fill {
    Blue,
    Orange,
    VermilionHatched,
    SkyDotted,
    PurpleStriped,
    Dark,
    Light,
}

/// How text looks.
#[derive(Clone, Copy)]
pub(super) enum Style {
    Title,
    Heading,
    Figure,
    Plain,
    Quiet,
}

/// A picture as it grows.
pub(super) struct Svg {
    head: String,
    body: String,
}

const INK: &str = "#1a1a1a";

const PATTERNS: &str = r##"<defs>
<pattern id="hatched" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="8" height="8" fill="#D55E00"/><rect width="2" height="8" fill="#ffffff" fill-opacity="0.75"/></pattern>
<pattern id="dotted" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" fill="#56B4E9"/><circle cx="4" cy="4" r="1.5" fill="#1a1a1a" fill-opacity="0.7"/></pattern>
<pattern id="striped" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" fill="#CC79A7"/><rect width="6" height="1.5" fill="#1a1a1a" fill-opacity="0.6"/></pattern>
</defs>
"##;

impl Svg {
    pub(super) fn new(title: &str, description: &str) -> Self {
        let head =
            format!("<title>{}</title>\n<desc>{}</desc>\n{PATTERNS}", escape_html(title), escape_html(description));
        Self { head, body: String::new() }
    }

    pub(super) fn text(&mut self, x: i64, y: i64, style: Style, text: &str) {
        self.anchored(x, y, style, "start", text);
    }

    /// Text that ends at `x`.
    pub(super) fn text_to(&mut self, x: i64, y: i64, style: Style, text: &str) {
        self.anchored(x, y, style, "end", text);
    }

    fn anchored(&mut self, x: i64, y: i64, style: Style, anchor: &str, text: &str) {
        let look = match style {
            Style::Title => r##"font-size="28" font-weight="600" fill="#1a1a1a""##,
            Style::Heading => r##"font-size="16" font-weight="600" fill="#1a1a1a""##,
            Style::Figure => r##"font-size="20" font-weight="600" fill="#1a1a1a""##,
            Style::Plain => r##"font-size="16" fill="#1a1a1a""##,
            Style::Quiet => r##"font-size="16" fill="#595959""##,
        };
        let text = escape_html(text);
        self.body.push_str(&format!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" {look}>{text}</text>\n"));
    }

    /// An area with a white edge, so that neighbours stay apart without colour.
    pub(super) fn bar(&mut self, x: i64, y: i64, width: i64, height: i64, fill: Fill) {
        if width <= 0 {
            return;
        }
        let fill = fill.paint();
        self.body.push_str(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\" stroke=\"#ffffff\" stroke-width=\"1.5\"/>\n"
        ));
    }

    /// A figure in the middle of an area, where there is room for it.
    pub(super) fn label_within(&mut self, x: i64, y: i64, width: i64, height: i64, fill: Fill, text: &str) {
        let needed = 10 * i64::try_from(text.chars().count()).unwrap_or(i64::MAX / 10) + 12;
        if width < needed {
            return;
        }
        let (middle, base, text) = (x + width / 2, y + height / 2 + 6, escape_html(text));
        let (paint, ink) = (fill.ground(), fill.ink());
        let (left, box_y) = (middle - needed / 2, base - 17);
        self.body.push_str(&format!(
            "<rect x=\"{left}\" y=\"{box_y}\" width=\"{needed}\" height=\"23\" fill=\"{paint}\"/>\n\
             <text x=\"{middle}\" y=\"{base}\" text-anchor=\"middle\" font-size=\"16\" fill=\"{ink}\">{text}</text>\n"
        ));
    }

    /// A whisker below a bar.
    pub(super) fn whisker(&mut self, low: i64, high: i64, y: i64) {
        self.line(low, y, high, y, INK, 2);
        for end in [low, high] {
            self.line(end, y - 6, end, y + 6, INK, 2);
        }
    }

    /// A whisker on a bar: dark, with a light edge that lifts it off the dark one.
    pub(super) fn whisker_across(&mut self, low: i64, high: i64, y: i64) {
        self.line(low, y, high, y, "#ffffff", 5);
        for end in [low, high] {
            self.line(end, y - 7, end, y + 7, "#ffffff", 5);
        }
        self.whisker(low, high, y);
    }

    /// A quiet line across.
    pub(super) fn rule(&mut self, from: i64, to: i64, y: i64) {
        self.line(from, y, to, y, "#d0d0d0", 1);
    }

    fn line(&mut self, x1: i64, y1: i64, x2: i64, y2: i64, colour: &str, width: u8) {
        self.body.push_str(&format!(
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{colour}\" stroke-width=\"{width}\"/>\n"
        ));
    }

    pub(super) fn finish(self, width: i64, height: i64) -> String {
        let Self { head, body } = self;
        let font = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\" font-family=\"{font}\" style=\"font-variant-numeric: tabular-nums\">\n{head}\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n{body}</svg>\n"
        )
    }
}

impl Fill {
    const fn paint(self) -> &'static str {
        match self {
            Self::Blue | Self::Orange | Self::Dark | Self::Light => self.ground(),
            Self::VermilionHatched => "url(#hatched)",
            Self::SkyDotted => "url(#dotted)",
            Self::PurpleStriped => "url(#striped)",
        }
    }

    const fn ground(self) -> &'static str {
        match self {
            Self::Blue => "#0072B2",
            Self::Orange => "#E69F00",
            Self::VermilionHatched => "#D55E00",
            Self::SkyDotted => "#56B4E9",
            Self::PurpleStriped => "#CC79A7",
            Self::Dark => "#595959",
            Self::Light => "#b3b3b3",
        }
    }

    const fn ink(self) -> &'static str {
        match self {
            Self::Blue | Self::Dark => "#ffffff",
            Self::Light | Self::Orange | Self::VermilionHatched | Self::SkyDotted | Self::PurpleStriped => "#000000",
        }
    }
}
