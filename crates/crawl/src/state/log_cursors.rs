//! Cursors of the logs of batches that workers hold.
//!
//! A cursor is committed together with the items of its log entry, so that each entry is ingested exactly once, whenever a
//! process crashes.

use harvest::item::log_cursor::LogCursor;
use model::SiteId;

use crate::state::crawl_state::CrawlState;

/// Sets the broker through which batches are leased; true if it was another one before.
pub(crate) fn set_transport(state: &mut CrawlState, broker_id: &str) -> bool {
    let hash = xxhash_rust::xxh3::xxh3_64(broker_id.as_bytes());
    state.transport_id.replace(hash).is_some_and(|before| before != hash)
}

/// Starts the log of a batch that is leased to workers.
pub(crate) fn start_log(state: &mut CrawlState, batch: u64) {
    state.log_cursors.insert(batch, 0);
    state.finished_sites.remove(&batch);
}

/// Sequence number of the last entry ingested; `None` if workers do not hold the batch.
pub(crate) fn committed_seq(state: &CrawlState, batch: u64) -> Option<u64> {
    state.log_cursors.get(&batch).copied()
}

/// Records that the entries up to a cursor are ingested.
pub(crate) fn record(state: &mut CrawlState, cursor: &LogCursor) {
    state.log_cursors.insert(cursor.batch, cursor.seq);
    if !cursor.finished_sites.is_empty() {
        state.finished_sites.entry(cursor.batch).or_default().extend(&cursor.finished_sites);
    }
}

/// Sites of a batch whose results are ingested.
pub(crate) fn finished_sites(state: &CrawlState, batch: u64) -> impl Iterator<Item = SiteId> {
    state.finished_sites.get(&batch).into_iter().flatten().copied()
}

/// Removes the log of a deleted batch.
pub(crate) fn remove_log(state: &mut CrawlState, batch: u64) {
    state.log_cursors.remove(&batch);
    state.finished_sites.remove(&batch);
}

/// Batches that workers hold, by id.
pub(crate) fn leased_batches(state: &CrawlState) -> impl Iterator<Item = u64> {
    state.log_cursors.keys().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_holds_the_cursor_and_the_finished_sites_of_each_log() {
        let mut state = CrawlState::default();
        start_log(&mut state, 7);
        start_log(&mut state, 12);
        for (seq, site) in [(98, SiteId(4)), (99, SiteId(3))] {
            let finished_sites = vec![site];
            record(&mut state, &LogCursor { batch: 7, seq, finished_sites, segment: None, end: None });
        }
        assert_eq!(finished_sites(&state, 7).collect::<Vec<_>>(), [SiteId(3), SiteId(4)]);
        assert_eq!(finished_sites(&state, 12).count(), 0);
        let committed = [7, 12, 1].map(|batch| committed_seq(&state, batch));
        assert_eq!(committed, [Some(99), Some(0), None]);
        assert_eq!(leased_batches(&state).collect::<Vec<_>>(), [7, 12]);
        assert!(!set_transport(&mut state, "a"), "there was none before");
        assert!(!set_transport(&mut state, "a") && set_transport(&mut state, "b"));
        remove_log(&mut state, 7);
        assert_eq!(finished_sites(&state, 7).count(), 0);
        assert_eq!(leased_batches(&state).collect::<Vec<_>>(), [12]);
    }
}
