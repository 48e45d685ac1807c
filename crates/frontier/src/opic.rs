//! How important is a page, found out while crawling and for nothing?
//!
//! OPIC (Abiteboul, Preda and Cobena, "Adaptive on-line page importance computation", WWW 2003): pages have cash. When a page is
//! fetched its cash is entered in its history and goes in equal parts to the pages it links to. The more cash has come by,
//! the more important the page. Every page begins with the same; what a page without links cannot pass on belongs to all
//! ([`CommonCash`]). Only proportions matter. Where purses lie, and when pages take their part, is for others to say.

/// What a page begins with.
pub const FIRST_CASH: f32 = 1.0;

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
        let cash = self.spend();
        if links == 0 { 0.0 } else { cash / links as f32 }
    }

    /// The page was fetched, and it is not known yet where it links to: what all of them get together.
    pub fn spend(&mut self) -> f32 {
        let cash = std::mem::take(&mut self.cash);
        self.history += cash;
        cash
    }

    /// How important the page is, beside others.
    pub fn importance(&self) -> f32 {
        self.cash + self.history
    }
}

/// What nobody could pass on. It stands for a page that all others link to and that links to all, and is shared out lazily: who
/// comes to it takes an equal part, and nobody has to write to all pages.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CommonCash(pub f64);

impl CommonCash {
    /// Adds what a page could not pass on.
    pub fn add(&mut self, cash: f32) {
        self.0 += f64::from(cash.max(0.0));
    }

    /// Takes the equal parts of so many of all pages out; tells the part of each.
    pub fn take(&mut self, takers: usize, pages: usize) -> f32 {
        let part = self.0 / pages.max(1) as f64;
        self.0 = (self.0 - part * takers as f64).max(0.0);
        part as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::Seeded;

    #[test]
    fn cash_goes_in_equal_parts_and_none_is_made() {
        let mut purse = Purse { cash: 0.75, history: 0.25 };
        assert_eq!(purse.importance(), 1.0);
        assert_eq!(purse.pass_on(3), 0.25);
        assert_eq!(purse, Purse { cash: 0.0, history: 1.0 });
        // Nothing to pass on, and nobody to pass it on to.
        assert_eq!(purse.pass_on(3), 0.0);
        purse.cash = 1.0;
        assert_eq!(purse.pass_on(0), 0.0);
        assert_eq!(purse.importance(), 2.0);
    }

    #[test]
    fn nobody_takes_more_than_an_equal_part_of_what_is_common() {
        let mut common = CommonCash::default();
        assert_eq!(common.take(3, 10), 0.0);
        common.add(4.0);
        common.add(1.0);
        assert_eq!((common.take(4, 10), common), (0.5, CommonCash(3.0)));
        assert_eq!((common.take(10, 10), common.0 < 1e-9), (0.3, true));
    }

    #[test]
    fn importance_is_that_of_a_random_walk_in_whatever_order_pages_are_fetched() {
        // Links in both directions: a random walk is at a page in proportion to its links.
        let links: [&[usize]; 5] = [&[1, 2, 3, 4], &[0, 2], &[0, 1, 3], &[0, 2], &[0]];
        let random = &mut Seeded(6);
        let mut purses = [Purse { cash: FIRST_CASH, history: 0.0 }; 5];
        for _ in 0..200_000 {
            let page = random.below(5);
            let share = purses[page].pass_on(links[page].len());
            links[page].iter().for_each(|target| purses[*target].cash += share);
        }
        let sum: f32 = purses.iter().map(Purse::importance).sum();
        for (purse, links) in purses.iter().zip(links) {
            let expected = links.len() as f32 / 12.0;
            let found = purse.importance() / sum;
            assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
        }
    }
}
