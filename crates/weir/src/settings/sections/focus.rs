//! What is the crawl after?

use crate::settings::section::section;

section! {
    /// What the crawl is after. Pages and links are judged by it as they come; `crawl.strategy = "focused"`, or a weight for
    /// `relevance`, lets the best come first.
    "focus", FocusSection {
        /// Words that good pages have.
        query: String = String::new();
        /// Pages that are good: names of files relative to the collection, or URLs that were fetched. Their frequent words
        /// count as much as those of the query.
        examples: Vec<String> = Vec::new();
    }
}
