//! Cursors of the logs of batches that workers hold.
//!
//! A cursor is committed together with the items of its log entry, so that each entry is ingested exactly once, whenever a
//! process crashes.

use harvest::item::log_cursor::LogCursor;

use crate::state::crawl_state::CrawlState;

/// Sets the broker through which batches are leased; true if it was another one before.
pub(crate) fn set_transport(state: &mut CrawlState, broker_id: &str) -> bool {
    let hash = xxhash_rust::xxh3::xxh3_64(broker_id.as_bytes());
    state.transport_id.replace(hash).is_some_and(|before| before != hash)
}

/// Starts the log of a batch that is leased to workers.
pub(crate) fn start_log(state: &mut CrawlState, batch: u64) {
    state.log_cursors.insert(batch, 0);
}

/// Sequence number of the last entry ingested; `None` if workers do not hold the batch.
pub(crate) fn committed_seq(state: &CrawlState, batch: u64) -> Option<u64> {
    state.log_cursors.get(&batch).copied()
}

/// Records that the entries up to a cursor are ingested.
pub(crate) fn record(state: &mut CrawlState, cursor: &LogCursor) {
    state.log_cursors.insert(cursor.batch, cursor.seq);
}

/// Removes the log of a deleted batch.
pub(crate) fn remove_log(state: &mut CrawlState, batch: u64) {
    state.log_cursors.remove(&batch);
}

/// Batches that workers hold, by id.
pub(crate) fn leased_batches(state: &CrawlState) -> impl Iterator<Item = u64> {
    state.log_cursors.keys().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_holds_the_cursor_of_each_log() {
        let mut state = CrawlState::default();
        start_log(&mut state, 7);
        start_log(&mut state, 12);
        record(&mut state, &LogCursor { batch: 7, seq: 99, segment: None, end: None });
        let committed = [7, 12, 1].map(|batch| committed_seq(&state, batch));
        assert_eq!(committed, [Some(99), Some(0), None]);
        assert_eq!(leased_batches(&state).collect::<Vec<_>>(), [7, 12]);
        assert!(!set_transport(&mut state, "a"), "there was none before");
        assert!(!set_transport(&mut state, "a") && set_transport(&mut state, "b"));
        remove_log(&mut state, 7);
        assert_eq!(leased_batches(&state).collect::<Vec<_>>(), [12]);
    }
}
