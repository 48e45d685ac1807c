//! OPIC cash that no page holds.
//!
//! OPIC ([`frontier::CashAccount`]): a fetch distributes the cash of a page among its link targets. Cash that it cannot
//! distribute (no links, no response, a duplicate, an unchanged page) goes into a [shared account](SharedCash); a page withdraws
//! an equal share when it is queued. So no cash is lost, and waiting pages are ordered by their own cash.

use frontier::{INITIAL_CASH, SharedCash};
use store::PageRecord;

use crate::state::crawl_state::CrawlState;

/// The account is stored in millionths, as an integer.
const MILLION: f64 = 1e6;

// The store does not depend on the frontier, so it has its own copy of the constant.
const _: () = assert!(PageRecord::INITIAL_CASH == INITIAL_CASH);

/// Adds cash to the account.
pub(crate) fn add(state: &mut CrawlState, cash: SharedCash) {
    let millionths = (cash.0 * MILLION) as u64;
    state.shared_cash_millionths = state.shared_cash_millionths.saturating_add(millionths);
}

/// Withdraws the shares of `receivers` of all `pages`; returns the share of each.
pub(crate) fn withdraw_shares(state: &mut CrawlState, receivers: usize, pages: u32) -> f32 {
    let mut account = SharedCash(state.shared_cash_millionths as f64 / MILLION);
    let share = account.withdraw(receivers, pages as usize);
    state.shared_cash_millionths = (account.0 * MILLION).round() as u64;
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cash_is_lost_and_each_page_withdraws_an_equal_share() {
        let mut state = CrawlState::default();
        assert_eq!(withdraw_shares(&mut state, 3, 10), 0.0);
        add(&mut state, SharedCash(4.0));
        add(&mut state, SharedCash(1.0));
        assert_eq!(withdraw_shares(&mut state, 4, 10), 0.5);
        assert_eq!(state.shared_cash_millionths, 3_000_000);
        assert_eq!(withdraw_shares(&mut state, 10, 10), 0.3);
        assert_eq!(state.shared_cash_millionths, 0);
    }
}
