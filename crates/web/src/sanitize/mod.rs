//! Untrusted content made safe to display: HTML of stored pages, and single lines of text.

pub(crate) mod display_text;
pub(crate) mod sanitizer;
pub(crate) mod stored_page;
