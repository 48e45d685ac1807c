//! Content of a text index, read with tantivy only.

use std::collections::BTreeMap;
use std::path::Path;

use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, Index, TERMINATED};

/// Page ids and term positions, by field and term.
pub type Terms = BTreeMap<(String, String), BTreeMap<u32, Vec<u32>>>;

/// Reads all terms of the text index of a collection.
///
/// # Panics
/// If the index cannot be read, or contains a page twice.
pub fn terms(collection: &Path) -> Terms {
    let index = Index::open_in_dir(collection.join("text/index")).unwrap();
    let searcher = index.reader().unwrap().searcher();
    let schema = index.schema();
    let mut terms = Terms::new();
    for segment in searcher.segment_readers() {
        let pages = segment.fast_fields().u64("page_id").unwrap();
        for (field, entry) in
            schema.fields().filter(|(_, entry)| entry.is_indexed() && entry.name() != "site_id")
        {
            let inverted = segment.inverted_index(field).unwrap();
            let mut stream = inverted.terms().stream().unwrap();
            while let Some((term, info)) = stream.next() {
                let term = String::from_utf8(term.to_vec()).unwrap();
                let option = IndexRecordOption::WithFreqsAndPositions;
                let mut postings = inverted.read_postings_from_terminfo(info, option).unwrap();
                let mut positions = Vec::new();
                while postings.doc() != TERMINATED {
                    if segment.alive_bitset().is_none_or(|alive| alive.is_alive(postings.doc())) {
                        postings.positions(&mut positions);
                        let page = pages.first(postings.doc()).unwrap() as u32;
                        let key = (entry.name().to_owned(), term.clone());
                        let previous = terms.entry(key).or_default().insert(page, positions.clone());
                        assert!(previous.is_none(), "page {page} is in the index twice");
                    }
                    postings.advance();
                }
            }
        }
    }
    terms
}
