//! Set of the pages to delete with the next commit: one bit per page, applied in a single scan of the index.
//!
//! Tantivy evaluates the delete query at commit, but only for documents added before the query. A page in the set that was added
//! again afterwards keeps its new version.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::PageId;
use tantivy::query::doc_predicate_query::{DocPredicateQuery, FunctionPredicate};
use tantivy::{DocId, IndexWriter, SegmentReader};

use crate::error::Result;
use crate::indexing::index_document::IndexDocument;

/// Pages to delete.
pub(crate) struct Deletions(Arc<Vec<AtomicU64>>);

impl Deletions {
    /// Starts the set for the next commit, for page ids below `known`.
    pub(crate) fn begin(writer: &IndexWriter<IndexDocument>, known: u32) -> Result<Deletions> {
        let words = (known as usize).div_ceil(64);
        let pages = Arc::new((0..words).map(|_| AtomicU64::new(0)).collect::<Vec<AtomicU64>>());
        let list = Arc::clone(&pages);
        // The predicate scans the fast field of ids: indexing the ids as terms would cost more.
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

    /// Adds a page.
    pub(crate) fn add(&self, page: PageId) {
        if let Some(word) = self.0.get(page.0 as usize / 64) {
            word.fetch_or(1 << (page.0 % 64), Ordering::Relaxed);
        }
    }
}
