//! How does an answer look that did not come by HTTP?
//!
//! As if it had: `HTTP/1.0 200 OK` (or 403, 404, 503), a `Content-Type`, and a list of things as an HTML page with
//! links. So everything behind the fetcher, from the archive to the parser, has one form of answer to deal with; what
//! was really spoken stands in [`Answer::protocols`].

use crate::answer::Answer;

/// An answer with this status.
pub(crate) fn answer(status: u16, content_type: Option<&str>, body: Vec<u8>) -> Answer {
    let reason = match status {
        200 => "OK",
        403 => "Forbidden",
        404 => "Not Found",
        _ => "Service Unavailable",
    };
    let mut head = format!("HTTP/1.0 {status} {reason}\r\n");
    if let Some(content_type) = content_type {
        head.extend(["Content-Type: ", content_type, "\r\n"]);
    }
    head.push_str("\r\n");
    Answer { status, head: head.into_bytes(), body, ..Answer::default() }
}

/// What the name of a file promises. Files without an extension are texts to read, most often.
pub(crate) fn content_type(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension.to_ascii_lowercase().as_str() {
        "html" | "htm" | "shtml" => "text/html",
        "xhtml" => "application/xhtml+xml",
        "xml" => "application/xml",
        "pdf" => "application/pdf",
        "" | "txt" | "text" | "md" => "text/plain",
        _ => "application/octet-stream",
    }
}

/// A page that lists things.
#[derive(Debug)]
pub(crate) struct ListPage {
    html: String,
}

impl ListPage {
    pub(crate) fn new(title: &str) -> ListPage {
        let mut page = ListPage { html: "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>".to_owned() };
        page.text(title);
        page.html.push_str("</title>\n<ul>\n");
        page
    }

    /// A line that leads to `href`.
    pub(crate) fn link(&mut self, href: &str, label: &str) {
        self.html.push_str("<li><a href=\"");
        self.text(href);
        self.html.push_str("\">");
        self.text(label);
        self.html.push_str("</a>\n");
    }

    /// A line that leads nowhere.
    pub(crate) fn line(&mut self, label: &str) {
        self.html.push_str("<li>");
        self.text(label);
        self.html.push('\n');
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.html.push_str("</ul>\n");
        self.html.into_bytes()
    }

    fn text(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '&' => self.html.push_str("&amp;"),
                '<' => self.html.push_str("&lt;"),
                '>' => self.html.push_str("&gt;"),
                '"' => self.html.push_str("&quot;"),
                control if control.is_control() => self.html.push(' '),
                other => self.html.push(other),
            }
        }
    }
}

/// The bytes that an escaped path stands for.
pub(crate) fn unescaped(path: &str) -> Vec<u8> {
    let bytes = path.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| bytes[at] == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

/// Bytes as they stand in the path of a URL; slashes stay.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len()), |mut out, &byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_in_a_list_is_markup() {
        let mut page = ListPage::new("a<b");
        page.link("/x\"onclick=", "<script>\n&");
        page.line("\"");
        let html = String::from_utf8(page.finish()).unwrap();
        assert!(html.contains("<title>a&lt;b</title>"));
        assert!(html.contains("<li><a href=\"/x&quot;onclick=\">&lt;script&gt; &amp;</a>\n<li>&quot;\n"));
    }

    proptest! {
        #[test]
        fn escapes_come_back(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            prop_assert_eq!(unescaped(&escaped(&bytes)), bytes);
        }

        #[test]
        fn any_path_is_unescaped(path in "[%0-9a-fA-Fé]{0,12}") {
            prop_assert!(unescaped(&path).len() <= path.len());
        }
    }
}
