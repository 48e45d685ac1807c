//! How are pages found by their text?

use search::Ranking;

use crate::settings::section::section;
use crate::settings::value::Size;

section! {
    /// How pages are found by their text.
    "search", SearchSection {
        /// Whether the index knows where words stand: phrases and distances need it, and three quarters of the index are for it. Changed, the next `weir index` builds anew.
        positions: bool = true;
        /// What indexing takes of memory; more makes fewer, larger pieces, which are searched faster.
        memory: Size = Size(512 << 20), within Size(64 << 20)..=Size(1 << 40);
        /// The share of the time that `weir crawl --index` may spend on indexing, on one core, until the crawl is over.
        share_of_crawl: f32 = 0.25, within 0.01..=1.0;
        /// How much a word counts in the title of a page; 0: it is not looked for there, unless by `title:`.
        title: f32 = Ranking::default().title, within 0.0..=100.0;
        /// The same in headings.
        headings: f32 = Ranking::default().headings, within 0.0..=100.0;
        /// The same in the words of links to the page, which `weir analyze` gathers.
        anchor: f32 = Ranking::default().anchor, within 0.0..=100.0;
        /// The same in the URL.
        url: f32 = Ranking::default().url, within 0.0..=100.0;
        /// The same in the text.
        body: f32 = Ranking::default().body, within 0.0..=100.0;
        /// How much links count: what the highest PageRank adds to a score. A rare word in the text adds some 5 to 15.
        links: f32 = Ranking::default().links, within 0.0..=100.0;
        /// How many times the mean PageRank adds half of that.
        links_half: f32 = Ranking::default().links_half, within 0.01..=1e6;
    }
}
