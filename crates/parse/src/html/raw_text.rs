//! Where does an element end whose content is not markup? Titles, styles and scripts run on to their own end tag.
//!
//! These functions only find the place; the content between is a plain slice of the source.

use memchr::{memchr, memchr2, memmem};

/// The offset of the `</name` that closes an element of that name, if there is one at or after `from`.
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

/// The offset of the `</script` that closes a script.
///
/// Within `<!--` ... `-->` a nested `<script` hides the next `</script`: old pages wrote scripts that write scripts.
/// These are the escaped and double escaped states of the standard.
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
            // Any number of dashes from two on, and then `>`, ends the escape.
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
            // The dashes just read may be the first of the closing ones: `<!-->`.
            from = at + 2;
        } else if state == Escape::Single && is_name(&rest[1..], b"script") {
            state = Escape::Double;
        }
    }
}

/// The offset of `]]>` at or after `from`.
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

/// Whether a whole tag name stands here, not only the start of a longer one.
fn is_name(rest: &[u8], name: &[u8]) -> bool {
    !name.is_empty()
        && rest.len() > name.len()
        && rest[..name.len()].eq_ignore_ascii_case(name)
        && matches!(rest[name.len()], b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' | b'/' | b'>')
}
