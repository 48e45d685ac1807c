//! Full-text search: index and ranking.

use search::Ranking;

use crate::settings::section::section;
use crate::settings::value::Size;

section! {
    /// Full-text search: index and ranking.
    "search", SearchSection {
        /// Store word positions, needed for phrases and NEAR; they take three quarters of the index. A change rebuilds the
        /// index at the next `weir index`.
        positions: bool = true;
        /// Memory limit of `weir index`; more memory makes fewer and larger segments, which are searched faster.
        index_memory: Size = Size(512 << 20), within Size(64 << 20)..=Size(1 << 40);
        /// Maximum share of one core that `weir crawl --index` uses during the crawl, 0.01 to 1.
        max_cpu_share: f32 = 0.25, within 0.01..=1.0;
        /// BM25 weight of the title; 0 = searched only by `title:`.
        title_weight: f32 = Ranking::default().title, within 0.0..=100.0;
        /// BM25 weight of headings; 0 = not searched by default.
        headings_weight: f32 = Ranking::default().headings, within 0.0..=100.0;
        /// BM25 weight of anchor texts, which `weir analyze` collects; 0 = not searched by default.
        anchor_weight: f32 = Ranking::default().anchor, within 0.0..=100.0;
        /// BM25 weight of the URL; 0 = not searched by default.
        url_weight: f32 = Ranking::default().url, within 0.0..=100.0;
        /// BM25 weight of the text; 0 = not searched by default.
        body_weight: f32 = Ranking::default().body, within 0.0..=100.0;
        /// Maximum contribution w of PageRank to a score: w·S/(S+k), S = PageRank / mean. A rare word in the text
        /// contributes 5 to 15.
        pagerank_weight: f32 = Ranking::default().pagerank, within 0.0..=100.0;
        /// k in w·S/(S+k): value of S at which PageRank contributes half of its maximum, w/2.
        pagerank_half: f32 = Ranking::default().pagerank_half, within 0.01..=1e6;
    }
}
