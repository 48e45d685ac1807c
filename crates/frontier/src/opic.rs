//! How important is a page, found out while crawling and for nothing?
//!
//! OPIC (Abiteboul, Preda and Cobena, "Adaptive on-line page importance computation", WWW 2003): pages have cash. When a page is
//! fetched its cash is entered in its history and goes in equal parts to the pages it links to. The more cash has come by,
//! the more important the page. Here each seed begins with 1, and what is met later with what is passed on to it; the
//! cash of a page without links leaves the game. Only proportions matter.

/// What a seed begins with.
pub const SEED_CASH: f32 = 1.0;

/// What a page has, and has had.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Purse {
    /// Received and not passed on yet.
    pub cash: f32,
    /// Passed on so far.
    pub history: f32,
}

impl Purse {
    /// The page was fetched and links to so many pages: what each of them gets.
    pub fn pass_on(&mut self, links: usize) -> f32 {
        let cash = std::mem::take(&mut self.cash);
        self.history += cash;
        if links == 0 { 0.0 } else { cash / links as f32 }
    }

    /// How important the page is, beside others.
    pub fn importance(&self) -> f32 {
        self.cash + self.history
    }
}
