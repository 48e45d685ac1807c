//! Parser of ftp directory listings: MLSD, and LIST in the styles of Unix and DOS.

use model::CanonicalUrl;

use crate::non_http::synthesized::ListingPage;
use crate::non_http::synthesized::percent_encode_path;

/// Type of the page made from a listing.
pub(crate) const CONTENT_TYPE: &str = "text/html; charset=utf-8";

/// Converts a listing to an HTML page with links; lines in an unknown format are skipped.
pub(crate) fn listing_page(url: &CanonicalUrl, list: &[u8], is_mlsd: bool) -> Vec<u8> {
    let mut page = ListingPage::new(url.as_str());
    let directory = format!("{}/", url.path().trim_end_matches('/'));
    for line in list.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)) {
        let entry = if is_mlsd {
            parse_mlsd_entry(line)
        } else {
            parse_unix_entry(line).or_else(|| parse_dos_entry(line))
        };
        let Some((name, is_directory)) = entry else { continue };
        if name.is_empty() || matches!(name, b"." | b"..") || name.contains(&b'/') {
            continue;
        }
        let slash = if is_directory { "/" } else { "" };
        page.add_link(
            &format!("{directory}{}{slash}", percent_encode_path(name)),
            &(String::from_utf8_lossy(name) + slash),
        );
    }
    page.finish()
}

/// Parses a line of MLSD, `type=file;size=12; name`: the name, and whether it is a directory.
fn parse_mlsd_entry(line: &[u8]) -> Option<(&[u8], bool)> {
    let space = line.iter().position(|byte| *byte == b' ')?;
    let facts = line[..space].to_ascii_lowercase();
    let mut facts = facts.split(|byte| *byte == b';');
    let kind = facts.find_map(|fact| fact.strip_prefix(b"type="))?;
    match kind {
        b"cdir" | b"pdir" => None,
        kind => Some((&line[space + 1..], kind == b"dir")),
    }
}

/// Parses `drwxr-xr-x 2 ftp ftp 4096 Jan 1 2020 name`, the format of `ls -l`.
fn parse_unix_entry(line: &[u8]) -> Option<(&[u8], bool)> {
    /// Number of fields before the name.
    const FIELDS: usize = 8;
    let kind = *line.first().filter(|kind| b"-dl".contains(kind))?;
    let mut rest = line;
    for _ in 0..FIELDS {
        let space = rest.iter().position(u8::is_ascii_whitespace)?;
        rest = rest[space..].trim_ascii_start();
    }
    let arrow = rest.windows(4).position(|window| window == b" -> ").filter(|_| kind == b'l');
    Some((&rest[..arrow.unwrap_or(rest.len())], kind == b'd'))
}

/// Parses `01-31-20 10:00AM <DIR> name`.
fn parse_dos_entry(line: &[u8]) -> Option<(&[u8], bool)> {
    line.first().filter(|byte| byte.is_ascii_digit())?;
    let mut rest = line;
    let mut size: &[u8] = b"";
    for _ in 0..3 {
        let space = rest.iter().position(u8::is_ascii_whitespace)?;
        size = &rest[..space];
        rest = rest[space..].trim_ascii_start();
    }
    let is_directory = size.eq_ignore_ascii_case(b"<DIR>");
    (is_directory || size.iter().all(u8::is_ascii_digit)).then_some((rest, is_directory))
}

#[cfg(test)]
mod tests {
    use model::UrlRules;
    use proptest::prelude::*;

    use super::*;

    fn links(list: &str, is_mlsd: bool) -> Vec<String> {
        let url = UrlRules::default().canonical("ftp://a.org/pub").unwrap();
        let html = String::from_utf8(listing_page(&url, list.as_bytes(), is_mlsd)).unwrap();
        html.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
    }

    #[test]
    fn names_are_found_in_listings_of_all_formats() {
        let unix = "total 3\r\ndrwxr-xr-x   2 ftp ftp  4096 Jan  1  2020 sub dir\r\n-rw-r--r-- 1 0 0 12 Feb 3 10:00 a&b.txt\r\n\
                    lrwxrwxrwx 1 0 0 1 Feb 3 10:00 now -> a.txt\r\ndrwxr-xr-x 2 0 0 1 Feb 3 10:00 ..\r\n";
        assert_eq!(links(unix, false), ["/pub/sub%20dir/", "/pub/a%26b.txt", "/pub/now"]);
        let dos = "01-31-20  10:00AM       <DIR>          sub\r\n01-31-20  10:00AM   12 my file.txt\r\n";
        assert_eq!(links(dos, false), ["/pub/sub/", "/pub/my%20file.txt"]);
        let machine = "type=cdir; .\r\nType=dir;modify=2020; sub\r\nsize=3;type=file; a b\r\nrubbish\r\n";
        assert_eq!(links(machine, true), ["/pub/sub/", "/pub/a%20b"]);
    }

    proptest! {
        #[test]
        fn every_listing_can_be_parsed(list in "[-dl0-9 a<>DIR\r\n;=type]{0,60}", is_mlsd: bool) {
            links(&list, is_mlsd);
        }
    }
}
