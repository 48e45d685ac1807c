//! Weights of the ranking.

/// Weights of the parts of a score. A field with weight 0 is searched only if the query names it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// Title.
    pub title: f32,
    /// Headings.
    pub headings: f32,
    /// Anchor texts of inlinks.
    pub anchor: f32,
    /// URL.
    pub url: f32,
    /// Text.
    pub body: f32,
    /// Maximum contribution w of PageRank: w·S/(S+k), S = PageRank / mean.
    pub pagerank: f32,
    /// k: the multiple of the mean PageRank that contributes w/2.
    pub pagerank_half: f32,
}

impl Default for Ranking {
    fn default() -> Ranking {
        Ranking {
            title: 1.2,
            headings: 0.5,
            anchor: 1.0,
            url: 0.5,
            body: 1.0,
            pagerank: 2.0,
            pagerank_half: 5.0,
        }
    }
}
