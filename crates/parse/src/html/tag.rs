//! Start and end tags as slices of the source, decoded on demand.

use std::borrow::Cow;

use super::characters::{Characters, Rules};

/// A tag and its attributes.
#[derive(Debug, Clone, Copy)]
pub struct Tag<'t, 'a> {
    /// The name as written, in any case and possibly with NUL.
    pub raw_name: &'a str,
    /// The name as a key for fast comparison.
    pub key: NameKey,
    /// Attributes in source order, including repeated ones; [`Tag::attribute`] returns the first.
    pub attributes: &'t [Attribute<'a>],
    /// Whether the tag closes itself: `<br/>`.
    pub self_closing: bool,
    /// Whether attributes beyond the maximum were skipped.
    pub attributes_truncated: bool,
}

/// An attribute as a slice of the source.
#[derive(Debug, Clone, Copy)]
pub struct Attribute<'a> {
    /// The name as written.
    pub raw_name: &'a str,
    /// The value as written, without its quotes.
    pub raw_value: &'a str,
}

impl<'a> Tag<'_, 'a> {
    /// The name in lower case.
    pub fn name(&self) -> Cow<'a, str> {
        canonical_name(self.raw_name)
    }

    /// Returns the decoded value of the first attribute with this name, given in lower case.
    pub fn attribute(&self, name: &str) -> Option<Cow<'a, str>> {
        self.attributes.iter().find(|attribute| attribute.is(name)).map(Attribute::value)
    }
}

impl<'a> Attribute<'a> {
    /// Reports whether the attribute has this name, given in lower case.
    pub fn is(&self, name: &str) -> bool {
        self.raw_name.eq_ignore_ascii_case(name)
    }

    /// The name in lower case.
    pub fn name(&self) -> Cow<'a, str> {
        canonical_name(self.raw_name)
    }

    /// The decoded value.
    pub fn value(&self) -> Cow<'a, str> {
        Characters::new(self.raw_value, Rules::Attribute).decoded()
    }
}

fn canonical_name(raw: &str) -> Cow<'_, str> {
    if raw.bytes().any(|byte| byte == 0 || byte.is_ascii_uppercase()) {
        Cow::Owned(Characters::new(raw, Rules::Literal).decoded().to_ascii_lowercase())
    } else {
        Cow::Borrowed(raw)
    }
}

/// A name of up to ten letters and digits in lower case, packed into an integer with six bits per letter. All elements that
/// matter to a crawler fit; all other names share the key [`NameKey::OTHER`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameKey(u64);

impl NameKey {
    const MAX_LETTERS: usize = 10;
    /// Key of every name that does not fit.
    pub const OTHER: NameKey = NameKey(0);

    /// Returns the key of a name.
    pub const fn new(name: &str) -> NameKey {
        let (key, length) = NameKey::scan(name.as_bytes(), 0);
        if length == name.len() { key } else { NameKey::OTHER }
    }

    /// Reports whether the key is that of a name in the list.
    pub(super) const fn is_one_of(self, names: &[&str]) -> bool {
        let mut at = 0;
        while at < names.len() {
            if NameKey::new(names[at]).0 == self.0 {
                return true;
            }
            at += 1;
        }
        false
    }

    pub(super) const fn word(self) -> u64 {
        self.0
    }

    /// Packs letters and digits from `start` on; also returns their end.
    pub(super) const fn scan(bytes: &[u8], start: usize) -> (NameKey, usize) {
        let mut word = 0;
        let mut at = start;
        while at < bytes.len() {
            let code = LETTER_CODES[bytes[at] as usize];
            if code == 0 {
                break;
            }
            word = word << 6 | code as u64;
            at += 1;
        }
        if at - start > NameKey::MAX_LETTERS { (NameKey::OTHER, at) } else { (NameKey(word), at) }
    }
}

/// Code of a byte: 1 to 26 for letters of either case, 27 to 36 for digits, 0 for all others.
const LETTER_CODES: [u8; 256] = {
    let mut codes = [0; 256];
    let mut letter = 0;
    while letter < 26 {
        codes[(b'a' + letter) as usize] = letter + 1;
        codes[(b'A' + letter) as usize] = letter + 1;
        letter += 1;
    }
    let mut digit = 0;
    while digit < 10 {
        codes[(b'0' + digit) as usize] = digit + 27;
        digit += 1;
    }
    codes
};
