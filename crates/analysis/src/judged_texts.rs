//! By what can the texts of pages be compared? The digest and the fingerprint of the newest document of each page that is there.

use store::{Column, DocumentRows, Snapshot, Stage, TableReader};

use crate::error::Result;

/// Of each page; 0 for one without a text, or with one too short to be judged.
#[derive(Debug, Default)]
pub(crate) struct JudgedTexts {
    pub(crate) digests: Vec<u64>,
    pub(crate) minhashes: Vec<u64>,
}

impl JudgedTexts {
    /// Those of the first pages of a snapshot, so many. Takes 20 bytes a page.
    pub(crate) fn read(snapshot: &Snapshot, pages: u32) -> Result<JudgedTexts> {
        let pages = pages as usize;
        let mut texts = JudgedTexts { digests: vec![0; pages], minhashes: vec![0; pages] };
        let mut times_s = vec![0; pages];
        let columns = ["page_id", "fetch_time", "text_digest", "minhash"];
        let documents = TableReader::<DocumentRows>::committed(snapshot.folder(), &snapshot.manifest)?;
        documents.with_columns(&columns).for_each_row(|row| {
            let (page, time_s) =
                (row.page_id as usize, (row.fetch_time / 1000).clamp(0, u32::MAX.into()) as u32);
            if page < pages && time_s >= times_s[page] {
                times_s[page] = time_s;
                let minhash = row.minhash.filter(|_| row.text_digest != 0);
                texts.minhashes[page] = minhash.map_or(0, i64::cast_unsigned);
                texts.digests[page] = minhash.map_or(0, |_| row.text_digest.cast_unsigned());
            }
        })?;
        for page in gone(snapshot)?.into_iter().filter(|page| *page < pages) {
            (texts.digests[page], texts.minhashes[page]) = (0, 0);
        }
        Ok(texts)
    }

    /// How many pages have a text that can be judged.
    pub(crate) fn count(&self) -> u64 {
        self.digests.iter().filter(|digest| **digest != 0).count() as u64
    }
}

/// Pages of which the last visit brought nothing, or that there was no visit of.
fn gone(snapshot: &Snapshot) -> Result<Vec<usize>> {
    let parts = snapshot.pages.scan(&[Column::Marks], |gone: &mut Vec<usize>, row| {
        if !matches!(row.stage, Stage::Fetched | Stage::Queued) {
            gone.push(row.page.index());
        }
    })?;
    Ok(parts.concat())
}
