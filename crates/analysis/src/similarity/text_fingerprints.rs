//! Fingerprints of texts: the digest and the minhash of the newest document of each page that has content.

use store::{DocumentRows, NewestRows, PageColumn, PageStage, Snapshot, TableReader};

use crate::error::Result;

/// Fingerprints by page; 0 for a page without text, or with a text too short to be compared.
#[derive(Debug, Default)]
pub(crate) struct TextFingerprints {
    pub(crate) digests: Vec<u64>,
    pub(crate) minhashes: Vec<u64>,
}

impl TextFingerprints {
    /// Reads the fingerprints of the first `pages` pages of a snapshot. Takes 20 bytes per page.
    pub(crate) fn read(snapshot: &Snapshot, pages: u32) -> Result<TextFingerprints> {
        let pages = pages as usize;
        let mut texts = TextFingerprints { digests: vec![0; pages], minhashes: vec![0; pages] };
        let mut newest = NewestRows::new(pages);
        let columns = ["page_id", "fetch_time", "main_text_hash", "minhash"];
        let documents = TableReader::<DocumentRows>::open_committed(snapshot.dir(), &snapshot.manifest)?;
        documents.with_columns(&columns).for_each_row(|row| {
            let page = row.page_id as usize;
            if newest.accept(row.page_id, row.fetch_time) {
                let minhash = row.minhash.filter(|_| row.main_text_hash != 0);
                texts.minhashes[page] = minhash.map_or(0, i64::cast_unsigned);
                texts.digests[page] = minhash.map_or(0, |_| row.main_text_hash.cast_unsigned());
            }
        })?;
        for page in pages_without_content(snapshot)?.into_iter().filter(|page| *page < pages) {
            (texts.digests[page], texts.minhashes[page]) = (0, 0);
        }
        Ok(texts)
    }

    /// Number of pages with a comparable text.
    pub(crate) fn count(&self) -> u64 {
        self.digests.iter().filter(|digest| **digest != 0).count() as u64
    }
}

/// Pages that were never fetched, or whose last fetch failed.
fn pages_without_content(snapshot: &Snapshot) -> Result<Vec<usize>> {
    let parts = snapshot.page_state.scan(
        &[PageColumn::StageAndFlags],
        |pages_without_content: &mut Vec<usize>, row| {
            if !matches!(row.stage, PageStage::Fetched | PageStage::Queued) {
                pages_without_content.push(row.page.index());
            }
        },
    )?;
    Ok(parts.concat())
}
