//! Charset detection and decoding of a body.
//!
//! The charset is taken from the first of these sources: byte order mark, HTTP header, declaration in the document, valid
//! UTF-8, detection by byte frequencies. Labels are those of the WHATWG Encoding Standard; unknown labels are ignored.
//! UTF-8 text is borrowed. Decoding never fails: invalid bytes become U+FFFD.

mod prescan;

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{
    Encoding, ISO_2022_JP, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED,
};

/// Maximum number of bytes for detection, from the first byte that is not ASCII. A longer sample rarely changes the
/// result, and detection is the slowest step.
const DETECTION_BYTES: usize = 8 * 1024;

/// A decoded body.
#[derive(Debug)]
pub struct Decoded<'a> {
    /// The text; borrowed if the bytes are valid UTF-8.
    pub text: Cow<'a, str>,
    /// Name of the charset in lower case: `utf-8`, `windows-1252`.
    pub encoding: String,
    /// Source of the charset.
    pub source: CharsetSource,
    /// Whether some bytes are invalid in this charset.
    pub had_errors: bool,
}

/// Source of a charset, in the order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CharsetSource {
    /// A byte order mark.
    Bom,
    /// The `Content-Type` of the response.
    Header,
    /// A meta element or an XML declaration.
    Document,
    /// No declaration; the bytes are valid UTF-8.
    Utf8,
    /// No declaration; detected by byte frequencies.
    Detected,
}

impl CharsetSource {
    /// Name in tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            CharsetSource::Bom => "bom",
            CharsetSource::Header => "header",
            CharsetSource::Document => "document",
            CharsetSource::Utf8 => "validation",
            CharsetSource::Detected => "detection",
        }
    }
}

/// Decodes a body. `content_type` is the value of the HTTP header; `top_level_domain` (`de`, `xn--p1ai`) is a hint for
/// the detection.
pub fn decode<'a>(
    bytes: &'a [u8],
    content_type: Option<&str>,
    top_level_domain: Option<&str>,
) -> Decoded<'a> {
    decode_with(bytes, content_type, top_level_domain, prescan::declared)
}

/// Decodes plain text, in which declarations of HTML and XML have no effect.
pub(crate) fn decode_plain<'a>(
    bytes: &'a [u8],
    content_type: Option<&str>,
    top_level_domain: Option<&str>,
) -> Decoded<'a> {
    decode_with(bytes, content_type, top_level_domain, |_| None)
}

fn decode_with<'a>(
    bytes: &'a [u8],
    content_type: Option<&str>,
    top_level_domain: Option<&str>,
    declared: impl Fn(&[u8]) -> Option<&'static Encoding>,
) -> Decoded<'a> {
    if let Some((encoding, mark_bytes)) = Encoding::for_bom(bytes) {
        return decode_as(encoding, CharsetSource::Bom, &bytes[mark_bytes..]);
    }
    if let Some(encoding) = content_type.and_then(|value| charset_parameter(value.as_bytes())) {
        return decode_as(encoding, CharsetSource::Header, bytes);
    }
    if let Some(encoding) = declared(bytes) {
        return decode_as(encoding, CharsetSource::Document, bytes);
    }
    let (encoding, source) = detect(bytes, top_level_domain);
    decode_as(encoding, source, bytes)
}

/// Returns the encoding that an XML document declares by a byte order mark or by `<?xml encoding=...?>`, or UTF-8, and
/// the length of the mark.
pub(crate) fn xml_encoding(start: &[u8]) -> (&'static Encoding, usize) {
    Encoding::for_bom(start).unwrap_or((prescan::xml_declared(start).unwrap_or(UTF_8), 0))
}

fn decode_as<'a>(encoding: &'static Encoding, source: CharsetSource, bytes: &'a [u8]) -> Decoded<'a> {
    let (text, had_errors) = encoding.decode_without_bom_handling(bytes);
    Decoded { text, encoding: encoding.name().to_ascii_lowercase(), source, had_errors }
}

/// Returns the encoding of a label. The standard's `replacement` encoding is ignored: it would decode the whole body to one
/// U+FFFD, and detection gives a better result.
fn encoding_for_label(label: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_label(label).filter(|&encoding| encoding != REPLACEMENT)
}

/// Corrects an encoding that a document declares: if the declaration is readable as ASCII, the document is not UTF-16.
fn declarable(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16BE || encoding == UTF_16LE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    }
}

/// Returns the `charset` parameter of a MIME type, found as browsers do: anywhere in the value.
fn charset_parameter(value: &[u8]) -> Option<&'static Encoding> {
    const NAME: &[u8] = b"charset";
    let mut rest = value;
    loop {
        let at = rest.windows(NAME.len()).position(|window| window.eq_ignore_ascii_case(NAME))?;
        rest = &rest[at + NAME.len()..];
        let Some(after) = rest.trim_ascii_start().strip_prefix(b"=") else { continue };
        let after = after.trim_ascii_start();
        let label = match after.first()? {
            &quote @ (b'"' | b'\'') => {
                let quoted = &after[1..];
                &quoted[..memchr::memchr(quote, quoted)?]
            }
            _ => after.split(|&byte| byte.is_ascii_whitespace() || matches!(byte, b';' | b',')).next()?,
        };
        return encoding_for_label(label);
    }
}

/// Detects the encoding of bytes without a declaration.
fn detect(bytes: &[u8], top_level_domain: Option<&str>) -> (&'static Encoding, CharsetSource) {
    let start = Encoding::ascii_valid_up_to(bytes);
    // ISO-2022-JP consists of ASCII bytes and switches to Japanese by an escape sequence.
    let escape = memchr::memchr(0x1B, &bytes[..start]);
    if escape.is_none() && is_utf8(bytes, start) {
        return (UTF_8, CharsetSource::Utf8);
    }
    let sample_from = |at: usize| {
        let rest = &bytes[at.saturating_sub(1)..];
        &rest[..rest.len().min(DETECTION_BYTES)]
    };
    if is_mostly_utf8(sample_from(start)) {
        return (UTF_8, CharsetSource::Detected);
    }
    // An escape counts only if all bytes are ASCII.
    let sample = sample_from(escape.filter(|_| start == bytes.len()).unwrap_or(start));
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(sample, sample.len() < DETECTION_BYTES);
    // The detector panics if the label is not well-formed.
    let well_formed = |label: &&str| label.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    let label = top_level_domain.filter(well_formed).map(str::as_bytes);
    let guess = detector.guess(label, Utf8Detection::Deny);
    if guess != ISO_2022_JP && start == bytes.len() {
        return (UTF_8, CharsetSource::Utf8);
    }
    (guess, CharsetSource::Detected)
}

/// Reports whether the bytes are valid UTF-8, except for a last character that truncation has cut. If that is the only
/// character outside ASCII, it is more likely complete in another encoding.
///
/// For text outside ASCII the validation of encoding_rs takes an eighth of the time of the standard library's, which is
/// used only for the last character.
fn is_utf8(bytes: &[u8], ascii_bytes: usize) -> bool {
    let valid_bytes = Encoding::utf8_valid_up_to(bytes);
    let is_cut =
        || std::str::from_utf8(&bytes[valid_bytes..]).is_err_and(|error| error.error_len().is_none());
    valid_bytes == bytes.len() || (valid_bytes > ascii_bytes && is_cut())
}

/// Reports whether the sample is UTF-8 with a few invalid bytes, as in pages assembled from several sources. Text in other
/// encodings rarely forms valid UTF-8 sequences, so ten valid ones for each invalid one are sufficient.
fn is_mostly_utf8(sample: &[u8]) -> bool {
    let (mut valid, mut invalid) = (0, 0);
    for chunk in sample.utf8_chunks() {
        valid += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        invalid += usize::from(!chunk.invalid().is_empty());
    }
    valid > 0 && valid >= 10 * invalid
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(bytes: &[u8], content_type: Option<&str>) -> (String, CharsetSource, String) {
        let decoded = decode(bytes, content_type, None);
        (decoded.encoding, decoded.source, decoded.text.into_owned())
    }

    #[test]
    fn a_byte_order_mark_precedes_the_header_and_the_header_precedes_the_document() {
        let meta = b"<meta charset=iso-8859-2>\xE9";
        assert_eq!(detected(b"\xEF\xBB\xBFx", Some("text/html; charset=koi8-r")).1, CharsetSource::Bom);
        assert_eq!(detected(b"\xFF\xFEx\0", None), ("utf-16le".into(), CharsetSource::Bom, "x".into()));
        assert_eq!(detected(meta, Some("text/html; charset=koi8-r")).0, "koi8-r");
        assert_eq!(detected(meta, Some("text/html; charset=bogus")).0, "iso-8859-2");
        assert_eq!(detected(meta, Some("text/html")).1, CharsetSource::Document);
    }

    #[test]
    fn all_variants_of_the_header_are_parsed() {
        for value in [
            "text/html; charset=EUC-JP",
            "charset = 'euc-jp'",
            "text/html;charset=\"euc-jp\";x=y",
            "TEXT/HTML; CHARSET=euc-jp, text/html",
            "charset; charset=euc-jp",
            "x; charsetcharset=euc-jp",
        ] {
            assert_eq!(charset_parameter(value.as_bytes()).map(Encoding::name), Some("EUC-JP"), "{value}");
        }
        for value in ["", "text/html", "charset=", "charset", "charset=\"euc-jp", "charset=hz-gb-2312"] {
            assert_eq!(charset_parameter(value.as_bytes()), None, "{value}");
        }
    }

    #[test]
    fn undeclared_text_is_utf_8_if_it_is_valid() {
        assert_eq!(detected(b"plain", None), ("utf-8".into(), CharsetSource::Utf8, "plain".into()));
        assert_eq!(detected("h\u{e9}".as_bytes(), None).1, CharsetSource::Utf8);
        assert!(matches!(decode("h\u{e9}".as_bytes(), None, None).text, Cow::Borrowed(_)));
        // Truncated within a character.
        assert_eq!(detected(&"\u{e9}\u{20AC}".as_bytes()[..4], None).1, CharsetSource::Utf8);
        assert_eq!(detected(b"caf\xE9", None).2, "caf\u{e9}");
        assert_eq!(detected(b"", None).0, "utf-8");
        assert_eq!(detected(b"a \x1B[1m b", None).0, "utf-8");
    }

    #[test]
    fn one_invalid_byte_does_not_change_the_charset_of_a_utf_8_page() {
        let page = [&"\u{e9}t\u{e9} ".repeat(20).into_bytes()[..], b"\xFF", "\u{e0}".as_bytes()].concat();
        let decoded = decode(&page, None, None);
        assert_eq!((decoded.encoding.as_str(), decoded.had_errors), ("utf-8", true));
    }

    #[test]
    fn undeclared_text_in_legacy_charsets_is_detected() {
        let russian = "Съешь же ещё этих мягких французских булок, да выпей чаю. ".repeat(5);
        for encoding in [encoding_rs::WINDOWS_1251, encoding_rs::KOI8_U] {
            let bytes = [b"<p>".repeat(9_000), encoding.encode(&russian).0.into_owned()].concat();
            let decoded = decode(&bytes, None, Some("ru"));
            assert_eq!(decoded.encoding, encoding.name().to_ascii_lowercase());
            assert!(decoded.text.ends_with(&russian) && decoded.source == CharsetSource::Detected);
        }
        let japanese = "これは日本語の文章です。文字コードを判別します。".repeat(5);
        for encoding in [encoding_rs::SHIFT_JIS, encoding_rs::EUC_JP, encoding_rs::ISO_2022_JP] {
            assert_eq!(decode(&encoding.encode(&japanese).0, None, None).text, japanese);
        }
    }
}
