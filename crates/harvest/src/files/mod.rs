//! Files that one program of a crawl hands to the next: batches, harvests and journals.

pub(crate) mod batch_dir;
pub mod checksummed_jsonl;
pub mod harvest_dir;
pub mod journal;
pub(crate) mod journal_replay;
pub mod sealed_dir;
pub mod work_dirs;
