//! OPIC: on-line estimate of page importance, computed during the crawl.
//!
//! Abiteboul, Preda and Cobena, "Adaptive on-line page importance computation", WWW 2003. Every page has cash. When a page is
//! fetched, its cash is added to its history and distributed in equal parts to the pages it links to; importance is the cash
//! that has passed through a page. Every page starts with the same amount. A page without links pays into [`SharedCash`],
//! which belongs to all pages. Only proportions matter. The caller stores the accounts and chooses when pages withdraw.

/// Cash of a new page.
pub const INITIAL_CASH: f32 = 1.0;

/// Cash of a page, now and in the past.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CashAccount {
    /// Received and not distributed yet.
    pub cash: f32,
    /// Distributed so far.
    pub history: f32,
}

impl CashAccount {
    /// Spends the cash of a fetched page with this number of links; returns the share of each target.
    pub fn distribute(&mut self, links: usize) -> f32 {
        let cash = self.spend();
        if links == 0 { 0.0 } else { cash / links as f32 }
    }

    /// Spends the cash of a fetched page whose links are not known yet; returns the total for all targets.
    pub fn spend(&mut self) -> f32 {
        let cash = std::mem::take(&mut self.cash);
        self.history += cash;
        cash
    }

    /// Importance of the page, relative to others.
    pub fn importance(&self) -> f32 {
        self.cash + self.history
    }
}

/// Cash of pages without links: the virtual page of OPIC, which links to all pages and is linked from all. It is paid out
/// lazily, when a page withdraws its share, so that no operation has to update all pages.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SharedCash(pub f64);

impl SharedCash {
    /// Adds the cash of a page without links.
    pub fn add(&mut self, cash: f32) {
        self.0 += f64::from(cash.max(0.0));
    }

    /// Withdraws the shares of `withdrawals` out of `pages` pages; returns the share of each.
    pub fn withdraw(&mut self, withdrawals: usize, pages: usize) -> f32 {
        let part = self.0 / pages.max(1) as f64;
        self.0 = (self.0 - part * withdrawals as f64).max(0.0);
        part as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_rng::TestRng;

    #[test]
    fn cash_is_distributed_in_equal_parts_and_conserved() {
        let mut account = CashAccount { cash: 0.75, history: 0.25 };
        assert_eq!(account.importance(), 1.0);
        assert_eq!(account.distribute(3), 0.25);
        assert_eq!(account, CashAccount { cash: 0.0, history: 1.0 });
        // No cash, then no targets.
        assert_eq!(account.distribute(3), 0.0);
        account.cash = 1.0;
        assert_eq!(account.distribute(0), 0.0);
        assert_eq!(account.importance(), 2.0);
    }

    #[test]
    fn each_page_withdraws_an_equal_share() {
        let mut shared = SharedCash::default();
        assert_eq!(shared.withdraw(3, 10), 0.0);
        shared.add(4.0);
        shared.add(1.0);
        assert_eq!((shared.withdraw(4, 10), shared), (0.5, SharedCash(3.0)));
        assert_eq!((shared.withdraw(10, 10), shared.0 < 1e-9), (0.3, true));
    }

    #[test]
    fn importance_is_that_of_a_random_walk_for_any_fetch_order() {
        // In an undirected graph a random walk visits a page in proportion to its links.
        let links: [&[usize]; 5] = [&[1, 2, 3, 4], &[0, 2], &[0, 1, 3], &[0, 2], &[0]];
        let random = &mut TestRng(6);
        let mut accounts = [CashAccount { cash: INITIAL_CASH, history: 0.0 }; 5];
        for _ in 0..200_000 {
            let page = random.below(5);
            let share = accounts[page].distribute(links[page].len());
            links[page].iter().for_each(|target| accounts[*target].cash += share);
        }
        let sum: f32 = accounts.iter().map(CashAccount::importance).sum();
        for (account, links) in accounts.iter().zip(links) {
            let expected = links.len() as f32 / 12.0;
            let found = account.importance() / sum;
            assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
        }
    }
}
