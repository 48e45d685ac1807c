//! What is taken from a page?

use crate::settings::section::section;
use crate::settings::value::Size;
use parse::html::{KEPT_ATTRIBUTES, KEPT_TAGS};

use super::texts;

section! {
    /// What is taken from a page.
    "parse", ParseSection {
        /// How much text of a page is read; what lies beyond is left out and marked so.
        text: Size = Size(300_000), within Size(1_000)..=Size(1 << 30), wire "gatherer/maxstoredsize";
        /// How many links of a page are read.
        links: u32 = 20_000, within 1..=1_000_000;
        /// The tags that the kept form of a page has; of all others only the content stays.
        kept_tags: Vec<String> = texts(KEPT_TAGS), wire "gatherer/keep";
        /// The attributes that it has.
        kept_attributes: Vec<String> = texts(KEPT_ATTRIBUTES);
    }
}
