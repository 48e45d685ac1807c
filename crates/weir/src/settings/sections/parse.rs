//! Parsing of pages.

use crate::settings::section::section;
use crate::settings::value::Size;
use parse::html::{SIMPLIFIED_ATTRIBUTES, SIMPLIFIED_TAGS};

use super::strings;

section! {
    /// Parsing of pages.
    "parse", ParseSection {
        /// Maximum text size per page; longer text is truncated and marked.
        max_text_size: Size = Size(300_000), within Size(1_000)..=Size(1 << 30), wire "gatherer/maxstoredsize";
        /// Maximum number of links per page.
        max_links: u32 = 20_000, within 1..=1_000_000;
        /// Tags retained in the simplified HTML; of other elements only the content is retained.
        simplified_tags: Vec<String> = strings(SIMPLIFIED_TAGS), wire "gatherer/keep";
        /// Attributes retained in the simplified HTML.
        simplified_attributes: Vec<String> = strings(SIMPLIFIED_ATTRIBUTES);
    }
}
