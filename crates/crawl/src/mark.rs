//! How far has the collection taken in what workers tell of a batch? Up to an entry of its log; the commit that holds what the
//! entry tells notes its number, so that nothing is taken in twice or left out, whoever dies when.

use std::collections::BTreeMap;

/// The number of an entry, and what is over with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) batch: u64,
    pub(crate) number: u64,
    /// What lies in the depot and is not needed any more once it is committed.
    pub(crate) segment: Option<String>,
    pub(crate) end: Option<LogEnd>,
}

/// How a log ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogEnd {
    /// Nobody ever took the batch.
    Untouched,
    /// Somebody had it. Of a site that was not told of, nobody knows when it was last asked.
    Taken,
}

/// Begins the notes of batches that workers have.
const LOG: &str = "log ";

/// By which carrier batches are with workers: the hash of its name.
const CARRIER: &str = "carrier";

/// From the next commit on, batches go by the carrier of this name; tells whether those before went by another.
pub(crate) fn change_carrier(notes: &mut BTreeMap<String, u64>, name: &str) -> bool {
    let hash = xxhash_rust::xxh3::xxh3_64(name.as_bytes());
    notes.insert(CARRIER.to_owned(), hash).is_some_and(|before| before != hash)
}

/// A batch goes to workers: its log is empty.
pub(crate) fn begin(notes: &mut BTreeMap<String, u64>, batch: u64) {
    notes.insert(format!("{LOG}{batch}"), 0);
}

/// The last entry that was taken in; nothing if the batch is not with workers.
pub(crate) fn taken(notes: &BTreeMap<String, u64>, batch: u64) -> Option<u64> {
    notes.get(&format!("{LOG}{batch}")).copied()
}

impl Mark {
    /// Holds from the next commit on.
    pub(crate) fn note(&self, notes: &mut BTreeMap<String, u64>) {
        notes.insert(format!("{LOG}{}", self.batch), self.number);
    }
}

/// Nothing is left of a batch.
pub(crate) fn forget(notes: &mut BTreeMap<String, u64>, batch: u64) {
    notes.remove(&format!("{LOG}{batch}"));
}

/// All batches that are with workers by these notes.
pub(crate) fn all(notes: &BTreeMap<String, u64>) -> impl Iterator<Item = u64> {
    notes
        .range(LOG.to_owned()..)
        .map_while(|(name, _)| name.strip_prefix(LOG))
        .filter_map(|number| number.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_tell_how_far_each_log_was_taken_in() {
        let mut notes = BTreeMap::from([("day".to_owned(), 3), ("zebra".to_owned(), 4)]);
        begin(&mut notes, 7);
        begin(&mut notes, 12);
        Mark { batch: 7, number: 99, segment: None, end: None }.note(&mut notes);
        assert_eq!((taken(&notes, 7), taken(&notes, 12), taken(&notes, 1)), (Some(99), Some(0), None));
        assert_eq!(all(&notes).collect::<Vec<_>>(), [12, 7]);
        assert!(!change_carrier(&mut notes, "a"), "nobody knows of another");
        assert!(!change_carrier(&mut notes, "a") && change_carrier(&mut notes, "b"));
        forget(&mut notes, 7);
        assert_eq!(all(&notes).collect::<Vec<_>>(), [12]);
    }
}
