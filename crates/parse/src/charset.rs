//! Which characters do these bytes stand for? Decodes a body once, by the first of these that speaks: byte order
//! mark, HTTP header, declaration in the document, valid UTF-8, detection.
//!
//! Labels are those of the WHATWG Encoding Standard; one that it does not know is as good as none. Text that is
//! UTF-8 already is not copied. Nothing fails: bytes that mean nothing become U+FFFD.

mod prescan;

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{
    Encoding, ISO_2022_JP, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED,
};

/// How much text the detection looks at, counted from the first byte that is not ASCII. More rarely changes the
/// guess, and detection is the slowest step.
const DETECTION_BYTES: usize = 8 * 1024;

/// Bytes and what they stand for.
#[derive(Debug)]
pub struct Decoded<'a> {
    /// The characters; borrowed where the bytes were UTF-8.
    pub text: Cow<'a, str>,
    /// The name of the encoding, in small letters: `utf-8`, `windows-1252`.
    pub encoding: String,
    /// What the choice rests on.
    pub source: CharsetSource,
    /// Whether some bytes meant nothing in this encoding.
    pub had_errors: bool,
}

/// What the choice of an encoding rests on, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CharsetSource {
    /// A byte order mark.
    Mark,
    /// The `Content-Type` of the response.
    Header,
    /// A meta element or an XML declaration.
    Document,
    /// Nothing is declared, and the bytes are valid UTF-8.
    Utf8,
    /// Nothing is declared: a guess by the frequency of bytes.
    Detected,
}

impl CharsetSource {
    /// Its name in tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            CharsetSource::Mark => "bom",
            CharsetSource::Header => "header",
            CharsetSource::Document => "document",
            CharsetSource::Utf8 => "validation",
            CharsetSource::Detected => "detection",
        }
    }
}

/// Decodes a body. `content_type` is the value of the HTTP header; `top_level_domain` (`de`, `xn--p1ai`) helps the
/// detection where the bytes alone leave a doubt.
pub fn decode<'a>(
    bytes: &'a [u8],
    content_type: Option<&str>,
    top_level_domain: Option<&str>,
) -> Decoded<'a> {
    decode_by(bytes, content_type, top_level_domain, prescan::declared)
}

/// The same for plain text, which may speak of declarations but makes none.
pub(crate) fn decode_plain<'a>(
    bytes: &'a [u8],
    content_type: Option<&str>,
    top_level_domain: Option<&str>,
) -> Decoded<'a> {
    decode_by(bytes, content_type, top_level_domain, |_| None)
}

fn decode_by<'a>(
    bytes: &'a [u8],
    content_type: Option<&str>,
    top_level_domain: Option<&str>,
    declared: impl Fn(&[u8]) -> Option<&'static Encoding>,
) -> Decoded<'a> {
    if let Some((encoding, mark_bytes)) = Encoding::for_bom(bytes) {
        return decode_as(encoding, CharsetSource::Mark, &bytes[mark_bytes..]);
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

/// The encoding that the start of an XML document declares, by mark or by `<?xml encoding=...?>`; else UTF-8.
pub(crate) fn xml_encoding(start: &[u8]) -> (&'static Encoding, usize) {
    Encoding::for_bom(start).unwrap_or((prescan::xml_declared(start).unwrap_or(UTF_8), 0))
}

fn decode_as<'a>(encoding: &'static Encoding, source: CharsetSource, bytes: &'a [u8]) -> Decoded<'a> {
    let (text, had_errors) = encoding.decode_without_bom_handling(bytes);
    Decoded { text, encoding: encoding.name().to_ascii_lowercase(), source, had_errors }
}

/// The encoding that a label stands for. `replacement` is the standard's word for encodings that are a danger to
/// browsers; declared so, the bytes would be one U+FFFD, and a guess is of more use to a reader.
fn known(label: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_label(label).filter(|&encoding| encoding != REPLACEMENT)
}

/// The encoding that a document may declare for itself: it cannot be in UTF-16 where its ASCII was readable.
fn declarable(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16BE || encoding == UTF_16LE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    }
}

/// The `charset` in a media type, found as browsers find it: whatever stands before it.
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
        return known(label);
    }
}

/// What undeclared bytes are.
fn detect(bytes: &[u8], top_level_domain: Option<&str>) -> (&'static Encoding, CharsetSource) {
    let start = Encoding::ascii_valid_up_to(bytes);
    // ISO-2022-JP is all ASCII, and switches to Japanese by an escape.
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
    // An escape counts only where nothing else than ASCII follows.
    let sample = sample_from(escape.filter(|_| start == bytes.len()).unwrap_or(start));
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(sample, sample.len() < DETECTION_BYTES);
    // The detector panics at anything but a well-formed label.
    let well_formed = |label: &&str| label.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    let label = top_level_domain.filter(well_formed).map(str::as_bytes);
    let guess = detector.guess(label, Utf8Detection::Deny);
    if guess != ISO_2022_JP && start == bytes.len() {
        return (UTF_8, CharsetSource::Utf8);
    }
    (guess, CharsetSource::Detected)
}

/// Valid, but for a character that the end of a truncated body cuts; a first and only one that is cut is more likely
/// whole in another encoding. The check of encoding_rs takes an eighth of the time of the standard library's where
/// the text is not ASCII; that one only looks at the cut.
fn is_utf8(bytes: &[u8], ascii_bytes: usize) -> bool {
    let valid_bytes = Encoding::utf8_valid_up_to(bytes);
    let cut = || std::str::from_utf8(&bytes[valid_bytes..]).is_err_and(|error| error.error_len().is_none());
    valid_bytes == bytes.len() || (valid_bytes > ascii_bytes && cut())
}

/// UTF-8 with a few broken bytes, as pages put together from several sources are. Text in other encodings hardly
/// ever forms the sequences of UTF-8, so ten right ones for one wrong settle it.
fn is_mostly_utf8(sample: &[u8]) -> bool {
    let (mut right, mut wrong) = (0, 0);
    for chunk in sample.utf8_chunks() {
        right += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        wrong += usize::from(!chunk.invalid().is_empty());
    }
    right > 0 && right >= 10 * wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(bytes: &[u8], content_type: Option<&str>) -> (String, CharsetSource, String) {
        let decoded = decode(bytes, content_type, None);
        (decoded.encoding, decoded.source, decoded.text.into_owned())
    }

    #[test]
    fn a_mark_beats_the_header_and_the_header_beats_the_document() {
        let meta = b"<meta charset=iso-8859-2>\xE9";
        assert_eq!(answer(b"\xEF\xBB\xBFx", Some("text/html; charset=koi8-r")).1, CharsetSource::Mark);
        assert_eq!(answer(b"\xFF\xFEx\0", None), ("utf-16le".into(), CharsetSource::Mark, "x".into()));
        assert_eq!(answer(meta, Some("text/html; charset=koi8-r")).0, "koi8-r");
        assert_eq!(answer(meta, Some("text/html; charset=bogus")).0, "iso-8859-2");
        assert_eq!(answer(meta, Some("text/html")).1, CharsetSource::Document);
    }

    #[test]
    fn the_header_is_read_however_it_is_written() {
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
    fn undeclared_text_is_utf_8_where_it_can_be() {
        assert_eq!(answer(b"plain", None), ("utf-8".into(), CharsetSource::Utf8, "plain".into()));
        assert_eq!(answer("h\u{e9}".as_bytes(), None).1, CharsetSource::Utf8);
        assert!(matches!(decode("h\u{e9}".as_bytes(), None, None).text, Cow::Borrowed(_)));
        // Cut in the middle of a character.
        assert_eq!(answer(&"\u{e9}\u{20AC}".as_bytes()[..4], None).1, CharsetSource::Utf8);
        assert_eq!(answer(b"caf\xE9", None).2, "caf\u{e9}");
        assert_eq!(answer(b"", None).0, "utf-8");
        assert_eq!(answer(b"a \x1B[1m b", None).0, "utf-8");
    }

    #[test]
    fn one_broken_byte_does_not_spoil_a_page_in_utf_8() {
        let page = [&"\u{e9}t\u{e9} ".repeat(20).into_bytes()[..], b"\xFF", "\u{e0}".as_bytes()].concat();
        let decoded = decode(&page, None, None);
        assert_eq!((decoded.encoding.as_str(), decoded.had_errors), ("utf-8", true));
    }

    #[test]
    fn undeclared_text_in_old_encodings_is_guessed() {
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
