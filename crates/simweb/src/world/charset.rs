//! Charset of a site and its declaration.

use encoding_rs::Encoding;
use serde::Serialize;

use crate::settings::Settings;
use crate::world::language::Language;
use crate::world::random::KeyedRandom;
use crate::world::text_buffer::TextBuffer;

/// A charset and its declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charset {
    /// Label as in the Content-Type header.
    pub label: &'static str,
    /// Location of the declaration.
    pub declared: Declared,
}

/// Location in which a page declares its charset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Declared {
    /// The Content-Type header.
    Header,
    /// A meta element.
    Meta,
    /// Both.
    Both,
    /// A byte order mark.
    Bom,
    /// No declaration.
    Nowhere,
}

impl Charset {
    pub(crate) fn generate(random: KeyedRandom, language: Language, settings: &Settings) -> Charset {
        let legacy = random.child(0).chance(settings.legacy_charsets);
        let labels = legacy_labels(language);
        let label =
            if legacy { labels[random.child(1).below(labels.len() as u64) as usize] } else { "utf-8" };
        let declared = if random.child(2).chance(settings.undeclared_charsets) {
            Declared::Nowhere
        } else {
            match random.child(3).below(if legacy { 9 } else { 10 }) {
                0..4 => Declared::Both,
                4..7 => Declared::Header,
                7..9 => Declared::Meta,
                _ => Declared::Bom,
            }
        };
        // These two cannot be distinguished by detection.
        let label = match (declared, label) {
            (Declared::Nowhere, "iso-8859-15") => "windows-1252",
            _ => label,
        };
        Charset { label, declared }
    }

    pub(crate) fn in_header(self) -> bool {
        matches!(self.declared, Declared::Header | Declared::Both)
    }

    pub(crate) fn in_meta(self) -> bool {
        matches!(self.declared, Declared::Meta | Declared::Both)
    }

    /// Appends the meta element of an HTML page, if the charset is declared there.
    pub(crate) fn push_meta(self, out: &mut TextBuffer) {
        if self.in_meta() {
            out.push_str("<meta charset=\"");
            out.push_str(self.label);
            out.push_str("\">\n");
        }
    }

    /// Returns the charset for a file without meta elements: a declaration in a meta element moves to the header.
    pub(crate) fn without_meta(self) -> Charset {
        let declared = if self.in_meta() { Declared::Header } else { self.declared };
        Charset { declared, ..self }
    }

    pub(crate) fn is_utf8(self) -> bool {
        self.label == "utf-8"
    }

    /// Encodes a text; unsupported characters become numeric character references.
    pub(crate) fn encode(self, buffer: TextBuffer) -> Vec<u8> {
        match self.declared {
            Declared::Bom => [b"\xef\xbb\xbf", &buffer.into_bytes()[..]].concat(),
            _ if self.is_utf8() => buffer.into_bytes(),
            _ => match Encoding::for_label(self.label.as_bytes()) {
                Some(encoding) => encoding.encode(&buffer.into_text()).0.into_owned(),
                None => buffer.into_bytes(),
            },
        }
    }
}

fn legacy_labels(language: Language) -> &'static [&'static str] {
    match language {
        Language::English => &["windows-1252", "iso-8859-1"],
        Language::Spanish
        | Language::Portuguese
        | Language::French
        | Language::German
        | Language::Italian => &["windows-1252", "iso-8859-1", "iso-8859-15"],
        Language::Turkish => &["windows-1254", "iso-8859-9"],
        Language::Russian => &["windows-1251", "koi8-r"],
        Language::Greek => &["windows-1253", "iso-8859-7"],
        Language::Arabic => &["windows-1256"],
        Language::Japanese => &["shift_jis", "euc-jp"],
        Language::Chinese => &["gbk", "gb18030"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_is_valid_and_encodes_its_language_without_loss() {
        for language in Language::ALL {
            let words: String = (0..4096).map(|bits| language.vocabulary().word(bits).as_str()).collect();
            for label in legacy_labels(language) {
                let charset = Charset { label, declared: Declared::Header };
                let mut buffer = TextBuffer::default();
                buffer.push_str(&words);
                let bytes = charset.encode(buffer);
                let (text, _, broken) = Encoding::for_label(label.as_bytes()).unwrap().decode(&bytes);
                assert!(!broken && text == words, "{label} cannot write {language:?}");
            }
        }
    }
}
