//! Parsing of pages.

use crate::settings::section::section;
use crate::settings::value::{Size, Value, quoted};
use parse::LinkKind;
use parse::html::{SIMPLIFIED_ATTRIBUTES, SIMPLIFIED_TAGS};

use super::strings;

section! {
    /// Parsing of pages.
    "parse", ParseSection {
        /// Maximum text size per page; longer text is truncated and marked.
        max_text_size: Size = Size(300_000), within Size(1_000)..=Size(1 << 30), wire "gatherer/maxstoredsize";
        /// Maximum number of links per page.
        max_links: u32 = 20_000, within 1..=1_000_000;
        /// Elements whose links are followed; those of other elements are recorded. "link", "canonical" and "alternate" are
        /// `<link>` by its relation, "text" is a URL in plain text, "feed" an entry of a feed.
        link_elements: Vec<LinkElement> = LinkElement::all(), wire "gatherer/link";
        /// Tags retained in the simplified HTML; of other elements only the content is retained.
        simplified_tags: Vec<String> = strings(SIMPLIFIED_TAGS), wire "gatherer/keep";
        /// Attributes retained in the simplified HTML.
        simplified_attributes: Vec<String> = strings(SIMPLIFIED_ATTRIBUTES);
    }
}

/// Element whose links lead to pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinkElement(pub(crate) LinkKind);

impl LinkElement {
    /// All elements, except for redirects, which are followed in any case.
    fn all() -> Vec<LinkElement> {
        let kinds = (0..=u8::MAX).filter_map(LinkKind::from_code);
        kinds.filter(|kind| kind.leads_to_page() && *kind != LinkKind::Redirect).map(LinkElement).collect()
    }
}

impl Value for LinkElement {
    const KIND: &'static str = "element";

    fn read(written: &toml::Value) -> Result<LinkElement, String> {
        let all = LinkElement::all();
        let found = all.iter().find(|element| Some(element.0.as_str()) == written.as_str());
        found.copied().ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|element| element.0.as_str()).collect();
            format!("invalid element {}; known: {}", quoted(written), known.join(", "))
        })
    }

    fn write(&self) -> String {
        self.0.as_str().to_owned().write()
    }
}
