//! Server-side technology of a page, by its URL alone.

/// Technologies by file extension, as in the national studies of the Web.
#[rustfmt::skip]
const PROGRAMS: &[(&str, &[&str])] = &[
    ("php", &["php", "php3", "php4", "php5", "php7", "php8", "phtml"]),
    ("asp", &["asp"]),
    ("aspx", &["aspx", "ashx", "asmx", "axd", "cshtml", "svc"]),
    ("jsp", &["jsp", "jspx", "jspa", "jsf", "jhtml", "faces", "do", "action", "seam"]),
    ("cgi", &["cgi", "fcgi"]),
    ("perl", &["pl"]),
    ("coldfusion", &["cfm", "cfml", "cfc"]),
    ("domino", &["nsf"]),
    ("isapi", &["dll"]),
];
/// Directory of programs without an extension.
const PROGRAM_DIR: &str = "cgi-bin";

/// Technology that a path shows, in its last segment that shows one; none for most pages.
pub(crate) fn technology(path: &str) -> Option<&'static str> {
    path.rsplit('/').find_map(of_segment)
}

fn of_segment(segment: &str) -> Option<&'static str> {
    if segment == PROGRAM_DIR {
        return Some("cgi");
    }
    // Old programs append the session id after a semicolon.
    let name = segment.split(';').next().unwrap_or_default();
    let (_, extension) = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty())?;
    let is_of = |names: &&[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(extension));
    PROGRAMS.iter().find(|(_, extensions)| is_of(extensions)).map(|(program, _)| *program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn technologies_are_recognised_by_extension() {
        for (path, expected) in [
            ("/a/index.PHP", Some("php")),
            ("/index.php/news/7", Some("php")),
            ("/a.jsp;jsessionid=5.php", Some("jsp")),
            ("/cgi-bin/search", Some("cgi")),
            ("/cgi-bin/search.pl", Some("perl")),
            ("/a.html", None),
            ("/.php", None),
            ("/", None),
            ("", None),
        ] {
            assert_eq!(technology(path), expected, "{path}");
        }
    }
}
