//! How does the index follow the collection? It reads the pages of a snapshot that are new or have changed.

use model::PageId;
use parse::Document;
use parse::html::Options;
use store::{PageFlags, Snapshot, Stage};
use tantivy::{Index, IndexWriter};

use crate::entry::EntryReader;
use crate::error::{Error, Result};
use crate::schema::schema;
use crate::text_index::FOLDER;
use crate::tokenizer::{PageTokenizer, TOKENIZER};

/// How the index is made.
#[derive(Debug, Clone)]
pub struct IndexSettings {
    /// Whether the places of words are kept, for phrases and distances.
    pub positions: bool,
    /// What indexing may take of memory.
    pub memory_bytes: usize,
    /// On so many cores.
    pub threads: usize,
    /// The crawler's product token, in lower case: `noindex` may be said to it alone.
    pub agent: String,
}

/// How far indexing has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Indexed {
    /// Pages read.
    pub pages: u64,
    /// Pages to read in all.
    pub of_pages: u64,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct IndexSummary {
    /// Pages that were not in the index before.
    pub added: u64,
}

/// Brings the index up to date with a snapshot.
pub fn index(
    snapshot: &Snapshot,
    settings: &IndexSettings,
    told: &mut dyn FnMut(Indexed),
) -> Result<IndexSummary> {
    let folder = snapshot.folder().join(FOLDER);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|source| Error::Io {
            operation: "remove",
            path: folder.clone(),
            source,
        })?;
    }
    std::fs::create_dir_all(&folder).map_err(|source| Error::Io {
        operation: "create",
        path: folder.clone(),
        source,
    })?;
    let (schema, fields) = schema(settings.positions);
    let index = Index::create_in_dir(&folder, schema)?;
    index.tokenizers().register(TOKENIZER, PageTokenizer::new());
    let mut writer: IndexWriter = index.writer_with_num_threads(settings.threads, settings.memory_bytes)?;
    let mut reader = EntryReader {
        snapshot,
        fields,
        options: Options { agent: settings.agent.clone(), ..Options::default() },
        document: Document::default(),
    };
    let pages = snapshot.pages.pages();
    let mut summary = IndexSummary::default();
    for page in 0..pages {
        let Some(record) = snapshot.pages.get(PageId(page))? else { continue };
        let is_there =
            matches!(record.stage, Stage::Fetched | Stage::Queued) && (200..300).contains(&record.status);
        if !is_there || record.flags.has(PageFlags::DUPLICATE) {
            continue;
        }
        if let Ok((entry, _)) = reader.read(PageId(page), &record, "")? {
            writer.add_document(entry)?;
            summary.added += 1;
        }
        told(Indexed { pages: page.into(), of_pages: pages.into() });
    }
    writer.commit()?;
    Ok(summary)
}
