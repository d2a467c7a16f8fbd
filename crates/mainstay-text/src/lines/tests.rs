use super::*;

fn read(text: &[u8], bytes_max: usize, buffer: usize) -> Vec<Option<String>> {
    let mut lines = Lines::new(io::BufReader::with_capacity(buffer, text), bytes_max);
    let mut all = Vec::new();
    while let Some(line) = lines.next_line().unwrap() {
        all.push(match line {
            Line::Whole(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            Line::TooLong => None,
        });
    }
    assert_eq!(lines.bytes(), u64::try_from(text.len()).unwrap());
    all
}

#[test]
fn a_line_beyond_the_bound_is_passed_over_and_the_next_is_read() {
    for buffer in [1, 3, 64] {
        let all = read(b"ab\n\nabcdef\r\ngh\r\nlast", 4, buffer);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(all, [some("ab"), some(""), None, some("gh"), some("last")], "buffer of {buffer}");
    }
    assert_eq!(read(b"", 4, 8), []);
}

#[test]
fn json_lines_that_are_cut_too_long_or_of_another_shape_do_not_stop_the_rest() {
    let text = "{\"a\":\"x\"}\r\n\n{\"b\":1}\n[\"12345678901234\"]\n{\"a\":\"y\"}\n{\"a\":\"z";
    let mut lines = Lines::new(text.as_bytes(), 12);
    let mut all = Vec::new();
    while let Some(line) = lines.next_json::<std::collections::BTreeMap<String, &str>>().unwrap() {
        all.push(match line {
            JsonLine::Value(fields) => fields["a"].to_owned(),
            JsonLine::Invalid => "invalid".to_owned(),
            JsonLine::TooLong => "too long".to_owned(),
        });
    }
    assert_eq!(all, ["x", "invalid", "too long", "y", "invalid"]);
}
