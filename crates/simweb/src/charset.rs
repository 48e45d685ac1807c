//! In which encoding is a site written, and how does it say so?

use encoding_rs::Encoding;
use serde::Serialize;

use crate::draw::Draw;
use crate::language::Language;
use crate::settings::Settings;
use crate::sheet::Sheet;

/// An encoding and the way it is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charset {
    /// The label as a server writes it.
    pub label: &'static str,
    /// Where the label stands.
    pub declared: Declared,
}

/// Where a page says which encoding it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Declared {
    /// In the Content-Type header.
    Header,
    /// In a meta element.
    Meta,
    /// In both.
    Both,
    /// By a byte order mark.
    Bom,
    /// Nowhere.
    Nowhere,
}

impl Charset {
    pub(crate) fn drawn(draw: Draw, language: Language, settings: &Settings) -> Charset {
        let legacy = draw.of(0).chance(settings.legacy_encodings);
        let labels = legacy_labels(language);
        let label = if legacy { labels[draw.of(1).below(labels.len() as u64) as usize] } else { "utf-8" };
        let declared = if draw.of(2).chance(settings.undeclared_encodings) {
            Declared::Nowhere
        } else {
            match draw.of(3).below(if legacy { 9 } else { 10 }) {
                0..4 => Declared::Both,
                4..7 => Declared::Header,
                7..9 => Declared::Meta,
                _ => Declared::Bom,
            }
        };
        // Nobody could tell these two apart without being told.
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

    /// Appends the meta element in the head of an HTML page, if the site has it there.
    pub(crate) fn push_meta(self, out: &mut Sheet) {
        if self.in_meta() {
            out.push_str("<meta charset=\"");
            out.push_str(self.label);
            out.push_str("\">\n");
        }
    }

    /// The same in a file that has no place for a meta element: what would stand there stands in the header.
    pub(crate) fn without_meta(self) -> Charset {
        let declared = if self.in_meta() { Declared::Header } else { self.declared };
        Charset { declared, ..self }
    }

    pub(crate) fn is_utf8(self) -> bool {
        self.label == "utf-8"
    }

    /// The bytes of a text in this encoding; letters it lacks become numeric character references.
    pub(crate) fn encode(self, sheet: Sheet) -> Vec<u8> {
        match self.declared {
            Declared::Bom => [b"\xef\xbb\xbf", &sheet.into_bytes()[..]].concat(),
            _ if self.is_utf8() => sheet.into_bytes(),
            _ => match Encoding::for_label(self.label.as_bytes()) {
                Some(encoding) => encoding.encode(&sheet.into_text()).0.into_owned(),
                None => sheet.into_bytes(),
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
    fn every_label_is_known_and_writes_its_language_without_loss() {
        for language in Language::ALL {
            let words: String = (0..4096).map(|bits| language.vocabulary().word(bits).as_str()).collect();
            for label in legacy_labels(language) {
                let charset = Charset { label, declared: Declared::Header };
                let mut sheet = Sheet::default();
                sheet.push_str(&words);
                let bytes = charset.encode(sheet);
                let (text, _, broken) = Encoding::for_label(label.as_bytes()).unwrap().decode(&bytes);
                assert!(!broken && text == words, "{label} cannot write {language:?}");
            }
        }
    }
}
