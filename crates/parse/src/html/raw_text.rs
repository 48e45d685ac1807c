//! End of elements whose content is not markup: titles, styles and scripts extend to their own end tag.
//!
//! The functions only find the position; the content is a slice of the source.

use memchr::{memchr, memchr2, memmem};

/// Returns the offset of the `</name` that closes an element, at or after `from`.
pub(super) fn end_tag(bytes: &[u8], mut from: usize, name: &[u8]) -> Option<usize> {
    while let Some(offset) = memchr(b'<', &bytes[from..]) {
        let at = from + offset;
        if is_end_tag(&bytes[at..], name) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

/// Returns the offset of the `</script` that closes a script.
///
/// Within `<!--` ... `-->` a nested `<script` hides the next `</script`: the escaped and double escaped states of the
/// standard, for scripts that write scripts.
pub(super) fn script_end_tag(bytes: &[u8], mut from: usize, name: &[u8]) -> Option<usize> {
    let mut state = Escape::None;
    loop {
        let at = from
            + match state {
                Escape::None => memchr(b'<', &bytes[from..])?,
                _ => memchr2(b'<', b'-', &bytes[from..])?,
            };
        let rest = &bytes[at..];
        from = at + 1;
        if rest[0] == b'-' {
            // Two or more dashes and `>` end the escaped state.
            if rest.starts_with(b"-->") {
                state = Escape::None;
            }
        } else if is_end_tag(rest, name) {
            if state != Escape::Double {
                return Some(at);
            }
            state = Escape::Single;
        } else if state == Escape::None && rest.starts_with(b"<!--") {
            state = Escape::Single;
            // The dashes of `<!--` may also be part of `-->`: `<!-->`.
            from = at + 2;
        } else if state == Escape::Single && is_name(&rest[1..], b"script") {
            state = Escape::Double;
        }
    }
}

/// Returns the offset of `]]>` at or after `from`.
pub(super) fn cdata_end(bytes: &[u8], from: usize) -> Option<usize> {
    memmem::find(&bytes[from..], b"]]>").map(|offset| from + offset)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    Single,
    Double,
}

fn is_end_tag(rest: &[u8], name: &[u8]) -> bool {
    rest.get(1) == Some(&b'/') && is_name(&rest[2..], name)
}

/// Reports whether `rest` starts with this tag name and not with a longer one.
fn is_name(rest: &[u8], name: &[u8]) -> bool {
    !name.is_empty()
        && rest.len() > name.len()
        && rest[..name.len()].eq_ignore_ascii_case(name)
        && matches!(rest[name.len()], b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' | b'/' | b'>')
}
