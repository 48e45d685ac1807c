//! Topic of a focused crawl.

use crate::settings::section::section;

section! {
    /// Topic of a focused crawl. Pages and links are scored by it; `crawl.strategy = "focused"`, or a weight for
    /// `relevance`, fetches the most relevant first.
    "focus", FocusSection {
        /// Words that describe the topic, such as "whales dolphins".
        query: String = String::new();
        /// Example pages: files relative to weir.toml, or fetched URLs. Their frequent words are added to the query.
        example_pages: Vec<String> = Vec::new();
    }
}
