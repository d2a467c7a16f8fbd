//! Escapes text for HTML and SVG. Crates that escape keep control characters, which XML forbids and terminals obey.

/// Escapes text for HTML and SVG, in elements and in quoted attributes. Control characters are removed.
#[must_use]
pub fn escape_html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            control if control.is_control() => {}
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::escape_html;

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(escape_html("<script>\"&'\u{1b}[2J"), "&lt;script&gt;&quot;&amp;&#39;[2J");
    }
}
