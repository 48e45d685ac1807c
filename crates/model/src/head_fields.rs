//! Fields of HTTP heads, read leniently: heads of broken servers and of archives are often malformed.
//!
//! All readers of heads use this module, so that the HTTP client, the archive and the index agree on where a head ends and
//! which fields it has.

/// Whether this line, with or without its line feed, ends a head. A line of other white space does not: the HTTP client
/// reads on after it.
pub fn is_blank_line(line: &[u8]) -> bool {
    matches!(line, b"" | b"\r" | b"\n" | b"\r\n")
}

/// Name and value of each field of a head, in their order. Lines without a name, and lines that continue a field
/// (obs-fold), are skipped.
pub fn header_fields(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    field_lines(head).filter_map(split_field)
}

/// Values of all fields with this name, case-insensitive.
pub fn header_values<'h>(head: &'h [u8], name: &str) -> impl Iterator<Item = &'h [u8]> {
    field_lines(head).filter_map(move |line| {
        let (start, rest) = line.split_at_checked(name.len())?;
        let colon = start.eq_ignore_ascii_case(name.as_bytes()).then(|| rest.iter().position(is_colon))??;
        // Old servers put spaces before the colon.
        rest[..colon].trim_ascii().is_empty().then(|| rest[colon + 1..].trim_ascii())
    })
}

/// Splits a line into name and value; `None` for a line without a name.
pub fn split_field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(is_colon)?;
    let name = line[..colon].trim_ascii_end();
    let is_folded = matches!(line.first(), Some(b' ' | b'\t'));
    (!is_folded && !name.is_empty()).then(|| (name, line[colon + 1..].trim_ascii()))
}

/// Lines between the status line and the blank line.
fn field_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n').skip(1).take_while(|line| !is_blank_line(line))
}

fn is_colon(byte: &u8) -> bool {
    *byte == b':'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_of_white_space_does_not_end_a_head() {
        let head = b"HTTP/1.1 200 OK\r\nA: 1\r\n \r\n\t\r\n\r\r\n\x0c\r\nB : 2\r\n\r\nC: 3\r\n\r\n";
        let fields: Vec<_> = header_fields(head).collect();
        assert_eq!(fields, [(&b"A"[..], &b"1"[..]), (b"B", b"2")]);
    }

    #[test]
    fn lines_without_a_name_and_folded_lines_are_skipped() {
        let head = b"HTTP/1.1 200 OK\n: x\nbad line\nA : a:b\n A: folded\n\tA: folded\na:c";
        assert_eq!(header_fields(head).count(), 2);
        let values: Vec<_> = header_values(head, "a").collect();
        assert_eq!(values, [&b"a:b"[..], b"c"]);
    }

    proptest! {
        #[test]
        fn values_of_a_name_are_those_of_the_fields_with_this_name(lines in "([aAb:\r\t \n\0]{0,4}){0,8}") {
            let head = format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n");
            for name in ["a", "ab", "b"] {
                let fields = header_fields(head.as_bytes());
                let expected: Vec<_> = fields
                    .filter(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()))
                    .map(|(_, value)| value)
                    .collect();
                prop_assert_eq!(header_values(head.as_bytes(), name).collect::<Vec<_>>(), expected);
            }
        }
    }
}
