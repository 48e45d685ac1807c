//! What makes one page a better answer than another?

/// Weights of what a score is made of. A field without weight is not looked at, unless it is named.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// Words of the title.
    pub title: f32,
    /// Words of headings.
    pub headings: f32,
    /// Words of links to the page.
    pub anchor: f32,
    /// Words of the URL.
    pub url: f32,
    /// Words of the text.
    pub body: f32,
    /// What the highest PageRank adds.
    pub links: f32,
    /// How many times the mean PageRank adds half of that.
    pub links_half: f32,
}

impl Default for Ranking {
    fn default() -> Ranking {
        Ranking { title: 2.0, headings: 0.5, anchor: 1.0, url: 0.5, body: 1.0, links: 2.0, links_half: 5.0 }
    }
}
