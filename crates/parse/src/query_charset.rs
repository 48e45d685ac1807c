//! Queries of links on pages in a legacy charset.
//!
//! By the URL standard the characters of a query are encoded in the charset of the page; all other parts of a URL are
//! UTF-8.

use std::borrow::Cow;
use std::fmt::Write;

use encoding_rs::{Encoding, UTF_8};

/// Escapes the characters of a query in the charset of the page, if that differs from UTF-8.
pub(crate) fn escape_query<'r>(reference: &'r str, charset: &str) -> Cow<'r, str> {
    if reference.is_ascii() {
        return Cow::Borrowed(reference);
    }
    let encoding = Encoding::for_label(charset.as_bytes()).map_or(UTF_8, Encoding::output_encoding);
    let Some((before, query)) = reference.split_once('?').filter(|_| encoding != UTF_8) else {
        return Cow::Borrowed(reference);
    };
    let (query, fragment) = query.find('#').map_or((query, ""), |at| query.split_at(at));
    let mut out = format!("{before}?");
    for &byte in encoding.encode(query).0.iter() {
        if byte.is_ascii() {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out.push_str(fragment);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_query_is_in_the_charset_of_the_page() {
        assert_eq!(escape_query("/日?q=日#日", "shift_jis"), "/日?q=%93%FA#日");
        assert_eq!(escape_query("/?q=é", "windows-1252"), "/?q=%E9");
        assert_eq!(escape_query("/?q=日", "windows-1252"), "/?q=&#26085;", "as in a form submission");
        for same in ["utf-8", "utf-16le", "", "unknown"] {
            assert_eq!(escape_query("/?q=é", same), "/?q=é", "{same}");
        }
        assert_eq!(escape_query("/é", "windows-1252"), "/é");
    }
}
