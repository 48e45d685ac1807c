//! When are changes folded into the segments, and into which? A decision without any I/O; the writer carries it out.
//!
//! Writing a segment anew costs the same whether one of its records changed or all of them. So when the overlay is
//! full, the segments with the most changes come first, and those with few wait: their changes are carried over into
//! the new log.

/// What the decision depends on.
#[derive(Debug, Clone)]
pub(super) struct Situation {
    pub(super) overlay_records: usize,
    pub(super) overlay_limit_records: usize,
    pub(super) log_bytes: u64,
    pub(super) record_bytes: usize,
    /// Segments and how many of their records are in the overlay; only needed when the overlay is full.
    pub(super) dirty: Vec<(u32, usize)>,
}

/// What a commit does with the changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    /// Append them to the log.
    Append,
    /// Write these segments anew, in ascending order, and put what remains into a new log. There may be none: a log
    /// that tells of the same few records again and again is only made short.
    Checkpoint(Vec<u32>),
}

/// A checkpoint leaves at most this part of a full overlay.
const LEFT_SHARE: usize = 4;

/// Decides.
pub(super) fn decide(situation: &Situation) -> Decision {
    if situation.overlay_records >= situation.overlay_limit_records {
        return Decision::Checkpoint(dirtiest(situation));
    }
    // A new log is at most as long as the overlay, so this much was appended since: no commit pays for long.
    let room = situation.overlay_limit_records / 2 + situation.overlay_records;
    if situation.log_bytes > (room * situation.record_bytes) as u64 {
        return Decision::Checkpoint(Vec::new());
    }
    Decision::Append
}

/// How a segment takes its changes up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    /// They are written beside the segment, with those that were there already.
    Delta,
    /// The segment is written anew.
    Base,
}

/// A delta with fewer than this part of the records is written again and again before the segment is: with changes all
/// over a large collection, that is a sixth of what writing segments each time costs.
const DELTA_SHARE: u32 = 8;

/// Chooses, by the records that the segment's file has, those that the segment has now, and those that differ.
pub(super) fn choose_fold(base_records: u32, records: u32, changes: usize) -> Fold {
    let few = changes < (records / DELTA_SHARE) as usize;
    // Appended records make a delta grow for good.
    if base_records == records && few { Fold::Delta } else { Fold::Base }
}

fn dirtiest(situation: &Situation) -> Vec<u32> {
    let mut dirty = situation.dirty.clone();
    dirty.sort_unstable_by_key(|(segment, records)| (std::cmp::Reverse(*records), *segment));
    let mut left = situation.overlay_records;
    let mut chosen = Vec::new();
    for (segment, records) in dirty {
        if left <= situation.overlay_limit_records / LEFT_SHARE {
            break;
        }
        left = left.saturating_sub(records);
        chosen.push(segment);
    }
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn situation(dirty: &[(u32, usize)], log_bytes: u64) -> Situation {
        let overlay_records = dirty.iter().map(|(_, records)| records).sum();
        let (overlay_limit_records, record_bytes) = (1000, 10);
        Situation { overlay_records, overlay_limit_records, log_bytes, record_bytes, dirty: dirty.to_vec() }
    }

    #[test]
    fn few_changes_are_appended() {
        assert_eq!(decide(&situation(&[], 0)), Decision::Append);
        assert_eq!(decide(&situation(&[(0, 500), (7, 499)], 10_000)), Decision::Append);
    }

    #[test]
    fn the_segments_with_most_changes_go_first_and_the_rest_waits() {
        let full = situation(&[(0, 100), (1, 2), (2, 800), (3, 98), (9, 5)], 0);
        assert_eq!(decide(&full), Decision::Checkpoint(vec![2]));
        let even = situation(&[(0, 250), (1, 250), (2, 250), (3, 250)], 0);
        assert_eq!(decide(&even), Decision::Checkpoint(vec![0, 1, 2]));
    }

    #[test]
    fn few_changes_of_a_complete_segment_go_beside_it() {
        assert_eq!(choose_fold(1000, 1000, 124), Fold::Delta);
        assert_eq!(choose_fold(1000, 1000, 125), Fold::Base);
        assert_eq!(choose_fold(999, 1000, 1), Fold::Base);
        assert_eq!(choose_fold(0, 1000, 1000), Fold::Base);
    }

    #[test]
    fn a_log_that_repeats_itself_is_made_short() {
        assert_eq!(decide(&situation(&[(3, 10)], 5_101)), Decision::Checkpoint(Vec::new()));
        assert_eq!(decide(&situation(&[(3, 10)], 5_100)), Decision::Append);
    }
}
