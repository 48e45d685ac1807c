//! File names for URLs: `host/path`, as close to the URL as is safe on every file system.
//!
//! Characters that some file system forbids become `%XX`. Names that may collide (upper and lower case), that are reserved
//! (`con`, a leading or trailing dot) or that are too long get a tilde and a hash of the original, so that two URLs never share
//! a file. A name never leads out of the output directory.

use xxhash_rust::xxh3::xxh3_64;

/// Maximum length of a path component; file systems allow 255 bytes.
const MAX_COMPONENT_BYTES: usize = 180;
/// Maximum length of a path; systems allow 4,096 bytes, including the output directory.
const MAX_PATH_BYTES: usize = 1_000;

/// Device names of Windows, reserved with any extension.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];

/// Relative path for a URL, with forward slashes; `extension` is that of the content type.
pub(super) fn file_name(url: &str, extension: Option<&str>) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let (dirs, last) = path.rsplit_once('/').unwrap_or(("", path));
    let mut name = part(host);
    for dir in dirs.split('/').filter(|_| !dirs.is_empty()) {
        name.push('/');
        name.push_str(&part(dir));
    }
    let file = match (last, query) {
        ("", None) => format!("index.{}", extension.unwrap_or("html")),
        (last, None) => with_extension(part(last), extension),
        (last, Some(query)) => with_extension(part(&format!("{last}?{query}")), extension),
    };
    if name.len() + file.len() >= MAX_PATH_BYTES {
        return with_hash(&format!("{}/long", part(host)), url, extension);
    }
    format!("{name}/{file}")
}

/// Alternative path for the same page, if the first is in use; each `attempt` has another one.
pub(super) fn alternative_name(name: &str, url: &str, attempt: u32) -> String {
    let text = format!("{attempt} {url}");
    match name.rsplit_once('.').filter(|(_, extension)| is_extension(extension)) {
        Some((stem, extension)) => with_hash(stem, &text, Some(extension)),
        None => with_hash(name, &text, None),
    }
}

/// Alternative path directly below the host, if the directory of the page cannot be created.
pub(super) fn flat_name(name: &str, url: &str, attempt: u32) -> String {
    let host = name.split('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension).filter(|name| is_extension(name));
    with_hash(&format!("{host}/long"), &format!("{attempt} {url}"), extension)
}

fn with_hash(stem: &str, text: &str, extension: Option<&str>) -> String {
    let dot = if extension.is_some() { "." } else { "" };
    format!("{stem}~{:012x}{dot}{}", xxh3_64(text.as_bytes()) >> 16, extension.unwrap_or_default())
}

/// Encodes a path component.
fn part(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for (index, byte) in text.bytes().enumerate() {
        let plain = byte.is_ascii_alphanumeric() || b"-_,;=+@!$'()[]~%&".contains(&byte);
        let inner_dot = byte == b'.' && index > 0 && index + 1 < text.len();
        if plain || inner_dot {
            safe.push(char::from(byte));
        } else {
            safe.push_str(&format!("%{byte:02X}"));
        }
    }
    let stem = safe.split('.').next().unwrap_or_default();
    // `com1` has a digit, `con` has none.
    let device = DEVICES.contains(&stem.trim_end_matches(|char: char| char.is_ascii_digit()));
    let escapes = safe.contains('%');
    let ambiguous = text.bytes().any(|byte| byte.is_ascii_uppercase()) || escapes && text.contains('%');
    if !(safe.is_empty() || device || ambiguous || safe.len() > MAX_COMPONENT_BYTES) {
        return safe;
    }
    let (stem, extension) = match safe.rsplit_once('.').filter(|(_, extension)| is_extension(extension)) {
        Some((stem, extension)) => (stem, Some(extension)),
        None => (safe.as_str(), None),
    };
    // The name is ASCII, so every byte is a character boundary.
    with_hash(&stem[..stem.len().min(MAX_COMPONENT_BYTES)], text, extension)
}

/// Appends the extension, unless the name has one.
fn with_extension(name: String, extension: Option<&str>) -> String {
    let has_one = name.rsplit_once('.').is_some_and(|(_, extension)| is_extension(extension));
    match extension {
        Some(extension) if !has_one => format!("{name}.{extension}"),
        _ => name,
    }
}

fn is_extension(text: &str) -> bool {
    (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_close_to_urls() {
        let html = |url| file_name(url, Some("html"));
        assert_eq!(html("https://example.com/"), "example.com/index.html");
        assert_eq!(html("http://example.com:8080/a/b"), "example.com%3A8080/a/b.html");
        assert_eq!(html("http://a.test/docs/"), "a.test/docs/index.html");
        assert_eq!(html("http://a.test/docs/x.php?id=1&b"), "a.test/docs/x.php%3Fid=1&b.html");
        assert_eq!(file_name("http://a.test/x.pdf", Some("pdf")), "a.test/x.pdf");
        assert_eq!(file_name("http://a.test/blob", None), "a.test/blob");
    }

    #[test]
    fn names_that_collide_on_other_systems_differ() {
        let of = |url| file_name(url, Some("html")).to_ascii_lowercase();
        assert_ne!(of("http://a.test/Readme.html"), of("http://a.test/readme.html"));
        assert_ne!(of("http://a.test/CON"), of("http://a.test/con"));
        assert!(!of("http://a.test/con").ends_with("/con.html"));
        assert!(!of("http://a.test/com1.txt").ends_with("/com1.txt"));
        let first = of("http://a.test/a%3Fb");
        assert_ne!(first, of("http://a.test/a?b"), "{first}");
    }

    proptest! {
        #[test]
        fn no_name_leaves_the_directory_or_is_too_long(path in "([/.?%A-Za-z0-9~: -]|[^ -~]){0,1500}") {
            let name = file_name(&format!("http://a.test/{path}"), Some("html"));
            prop_assert!(name.len() <= MAX_PATH_BYTES, "{}", name.len());
            prop_assert!(name.starts_with("a.test/"), "{name}");
            for part in name.split('/') {
                prop_assert!(!part.is_empty() && part.len() < 255, "{part}");
                prop_assert!(!part.starts_with('.') && !part.ends_with(['.', ' ']), "{part}");
                prop_assert!(!part.contains(['\\', ':', '*', '?', '"', '<', '>', '|', '\0']), "{part}");
            }
        }
    }
}
