//! Which pages leave the index with its next commit? A bit for each, so that the index is gone through once however many they are.
//!
//! Tantivy looks at the list when it commits, and takes out what was there before the list was begun: a page that is on it and
//! was added since then stays, as it is now.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::PageId;
use tantivy::query::doc_predicate_query::{DocPredicateQuery, FunctionPredicate};
use tantivy::{DocId, IndexWriter, SegmentReader};

use crate::entry::Entry;
use crate::error::Result;

/// The pages that leave.
pub(crate) struct Deletions(Arc<Vec<AtomicU64>>);

impl Deletions {
    /// Begins a list for the next commit, of pages with ids below `known`.
    pub(crate) fn begin(writer: &IndexWriter<Entry>, known: u32) -> Result<Deletions> {
        let words = (known as usize).div_ceil(64);
        let pages = Arc::new((0..words).map(|_| AtomicU64::new(0)).collect::<Vec<AtomicU64>>());
        let list = Arc::clone(&pages);
        // Pages are looked for in the column of ids: terms for the ids would cost more than that.
        let predicate = FunctionPredicate::from(move |segment: &SegmentReader| {
            let ids = segment.fast_fields().column_first_or_default::<u64>("page_id")?;
            let list = Arc::clone(&list);
            Ok(move |doc: DocId| {
                let id = ids.get_val(doc);
                let word = list.get(id as usize / 64);
                word.is_some_and(|word| word.load(Ordering::Relaxed) >> (id % 64) & 1 == 1)
            })
        });
        writer.delete_query(Box::new(DocPredicateQuery::from(predicate)))?;
        Ok(Deletions(pages))
    }

    /// What there is of this page leaves.
    pub(crate) fn add(&self, page: PageId) {
        if let Some(word) = self.0.get(page.0 as usize / 64) {
            word.fetch_or(1 << (page.0 % 64), Ordering::Relaxed);
        }
    }
}
