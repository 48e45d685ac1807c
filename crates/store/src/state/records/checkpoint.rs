//! Checkpoint policy: decides, without I/O, when and into which segments the overlay is merged.
//!
//! Rewriting a segment costs the same for one changed record as for all. When the overlay is full, the segments with the
//! most changes are therefore rewritten first; the changes of the others are carried over into the new log.

/// Input of the decision.
#[derive(Debug, Clone)]
pub(crate) struct CheckpointInput {
    pub(crate) overlay_records: usize,
    pub(crate) max_overlay_records: usize,
    pub(crate) log_bytes: u64,
    pub(crate) record_bytes: usize,
    /// Segments with their number of records in the overlay; only needed when the overlay is full.
    pub(crate) dirty: Vec<(u32, usize)>,
}

/// Action of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CheckpointDecision {
    /// Append the changes to the log.
    Append,
    /// Rewrite these segments, in ascending order, and write the remaining changes to a new log. The list may be empty:
    /// then a log that repeats few records is only shortened.
    Checkpoint(Vec<u32>),
}

/// A checkpoint leaves at most 1/4 of a full overlay.
const REMAINING_DIVISOR: usize = 4;

/// Decides how a commit stores the changes.
pub(crate) fn decide(input: &CheckpointInput) -> CheckpointDecision {
    if input.overlay_records >= input.max_overlay_records {
        return CheckpointDecision::Checkpoint(dirtiest(input));
    }
    // A new log is at most as long as the overlay, so at least max_overlay_records / 2 records were appended since:
    // the cost of the new log is amortised over them.
    let room = input.max_overlay_records / 2 + input.overlay_records;
    if input.log_bytes > (room * input.record_bytes) as u64 {
        return CheckpointDecision::Checkpoint(Vec::new());
    }
    CheckpointDecision::Append
}

/// Method of merging changes into a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SegmentRewrite {
    /// Write the changes beside the segment, merged with the existing delta.
    Delta,
    /// Rewrite the segment.
    Full,
}

/// A delta of less than 1/8 of the records is rewritten instead of the segment. With changes all over a large collection,
/// that costs a sixth of rewriting the segments each time.
const DELTA_DIVISOR: u32 = 8;

/// Chooses the method, given the number of records in the file of the segment, in the segment now, and changed.
pub(crate) fn choose_rewrite(base_records: u32, records: u32, changes: usize) -> SegmentRewrite {
    let few = changes < (records / DELTA_DIVISOR) as usize;
    // Appended records would make a delta grow permanently.
    if base_records == records && few { SegmentRewrite::Delta } else { SegmentRewrite::Full }
}

fn dirtiest(input: &CheckpointInput) -> Vec<u32> {
    let mut dirty = input.dirty.clone();
    dirty.sort_unstable_by_key(|(segment, records)| (std::cmp::Reverse(*records), *segment));
    let mut left = input.overlay_records;
    let mut chosen = Vec::new();
    for (segment, records) in dirty {
        if left <= input.max_overlay_records / REMAINING_DIVISOR {
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

    fn input(dirty: &[(u32, usize)], log_bytes: u64) -> CheckpointInput {
        let overlay_records = dirty.iter().map(|(_, records)| records).sum();
        let (max_overlay_records, record_bytes) = (1000, 10);
        CheckpointInput {
            overlay_records,
            max_overlay_records,
            log_bytes,
            record_bytes,
            dirty: dirty.to_vec(),
        }
    }

    #[test]
    fn few_changes_are_appended() {
        assert_eq!(decide(&input(&[], 0)), CheckpointDecision::Append);
        assert_eq!(decide(&input(&[(0, 500), (7, 499)], 10_000)), CheckpointDecision::Append);
    }

    #[test]
    fn segments_with_the_most_changes_are_rewritten_first() {
        let full = input(&[(0, 100), (1, 2), (2, 800), (3, 98), (9, 5)], 0);
        assert_eq!(decide(&full), CheckpointDecision::Checkpoint(vec![2]));
        let even = input(&[(0, 250), (1, 250), (2, 250), (3, 250)], 0);
        assert_eq!(decide(&even), CheckpointDecision::Checkpoint(vec![0, 1, 2]));
    }

    #[test]
    fn few_changes_of_a_complete_segment_are_written_as_a_delta() {
        assert_eq!(choose_rewrite(1000, 1000, 124), SegmentRewrite::Delta);
        assert_eq!(choose_rewrite(1000, 1000, 125), SegmentRewrite::Full);
        assert_eq!(choose_rewrite(999, 1000, 1), SegmentRewrite::Full);
        assert_eq!(choose_rewrite(0, 1000, 1000), SegmentRewrite::Full);
    }

    #[test]
    fn a_log_with_many_repetitions_is_shortened() {
        assert_eq!(decide(&input(&[(3, 10)], 5_101)), CheckpointDecision::Checkpoint(Vec::new()));
        assert_eq!(decide(&input(&[(3, 10)], 5_100)), CheckpointDecision::Append);
    }
}
