//! Header lines of ARC, the predecessor of WARC: `URL IP-address Archive-date Content-type Archive-length`.
//!
//! The first record, `filedesc://`, names the fields in its second line; version 2 has more of them. A record is converted to a
//! WARC header.

use crate::header::WarcHeader;

/// Number of digits of a date.
const DATE_DIGITS: usize = 14;
/// Number of fields of version 1.
pub(crate) const MIN_FIELDS: usize = 5;
/// Maximum number of fields; version 2 has ten.
const MAX_FIELDS: usize = 16;

/// Parses the header line of a record with this number of fields; the type of the record is not known yet. URLs may contain
/// spaces, so that the other fields are split off from the end.
pub(crate) fn parse_line(line: &str, fields: usize) -> Result<WarcHeader, String> {
    let mut parts: Vec<&str> = line.trim_end().rsplitn(fields, ' ').collect();
    parts.reverse();
    let &[url, address, date, mime_type, .., length] = &parts[..] else {
        return Err("expected the header line of an ARC record".to_owned());
    };
    let digits: String = date.chars().take(DATE_DIGITS).collect();
    let is_date = digits.len() == DATE_DIGITS && date.bytes().all(|byte| byte.is_ascii_digit());
    if !is_date || !url.contains(':') {
        return Err("expected the header line of an ARC record".to_owned());
    }
    let length: u64 = length.parse().map_err(|_| "invalid length of an ARC record".to_owned())?;
    let mut header = WarcHeader::default();
    header.push("WARC-Target-URI", url);
    header.push("WARC-Date", digits);
    header.push("WARC-IP-Address", address);
    header.push("Content-Type", mime_type);
    header.push("Content-Length", length.to_string());
    Ok(header)
}

/// Whether a line may be the header line of a record.
pub(crate) fn is_header_line(line: &[u8], fields: usize) -> bool {
    str::from_utf8(line).is_ok_and(|line| parse_line(line, fields).is_ok())
}

/// Number of fields, by the block of the first record.
pub(crate) fn count_fields(block: &[u8]) -> usize {
    let names = block.split(|byte| *byte == b'\n').nth(1).unwrap_or_default();
    names.split(|byte| *byte == b' ').count().clamp(MIN_FIELDS, MAX_FIELDS)
}

/// Type of a record, by its URL and block.
pub(crate) fn warc_type(url: &str, block: &[u8]) -> &'static str {
    if url.starts_with("filedesc://") {
        "warcinfo"
    } else if block.starts_with(b"HTTP/") {
        "response"
    } else {
        "resource"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_lines_of_both_versions_are_parsed() {
        let line = "http://a.test/x y 192.0.2.7 20140216050221 text/html 1591\n";
        let header = parse_line(line, 5).unwrap();
        assert_eq!((header.url(), header.content_length()), (Some("http://a.test/x y"), Some(1591)));
        assert_eq!(header.date_ms(), Some(1_392_526_941_000));
        let line = "http://a.test/ 192.0.2.7 20140216050221 text/html 200 - - 0 a.arc 12";
        assert_eq!(parse_line(line, 10).unwrap().content_length(), Some(12));
        for wrong in [
            "",
            "a b",
            "http://a.test/ 1.2.3.4 2014 text/html 5",
            "http://a.test/ 1.2.3.4 20140216050221 x -1",
        ] {
            assert!(parse_line(wrong, 5).is_err(), "{wrong}");
        }
        let names = b"1 0 x\nURL IP-address Archive-date Content-type Result-code Checksum Location Offset Filename Archive-length\n";
        assert_eq!((count_fields(names), count_fields(b"")), (10, 5));
    }
}
