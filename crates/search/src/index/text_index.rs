//! Text index of a collection, open for searching.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tantivy::{Index, IndexReader, ReloadPolicy};

use crate::error::{Context, Error, Result};
use crate::index::commit_payload::CommitPayload;
use crate::index::index_dir::IndexDir;
use crate::index::schema::{Fields, schema};
use crate::index::vocabulary::Vocabulary;
use crate::text::tokenizer::{PageTokenizer, TOKENIZER};

/// Open text index.
pub struct TextIndex {
    pub(crate) index: Index,
    pub(crate) reader: IndexReader,
    pub(crate) fields: Fields,
    positions: bool,
    dir: IndexDir,
}

impl TextIndex {
    /// Opens the last commit of the index of a collection.
    pub fn open(collection: &Path) -> Result<TextIndex> {
        let dir = IndexDir::new(collection);
        let Some((index, fields, positions)) = open_index(&dir)? else {
            return Err(Error::NotIndexed { dir: collection.to_owned() });
        };
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(TextIndex { index, reader, fields, positions, dir })
    }

    /// Whether the index has word positions, which phrases and NEAR need.
    pub fn has_positions(&self) -> bool {
        self.positions
    }

    /// Number of indexed pages.
    pub fn pages(&self) -> u64 {
        self.reader.searcher().num_docs()
    }

    /// Language codes of the indexed pages.
    pub fn languages(&self) -> Result<Vec<String>> {
        let mut languages = BTreeSet::new();
        for segment in self.reader.searcher().segment_readers() {
            let terms = segment.inverted_index(self.fields.language)?;
            let mut stream = terms.terms().stream().map_err(tantivy::TantivyError::from)?;
            while stream.advance() {
                languages.insert(String::from_utf8_lossy(stream.key()).into_owned());
            }
        }
        Ok(languages.into_iter().collect())
    }

    /// The commit of the collection that the index follows; 0 until the first run is complete.
    pub fn generation(&self) -> Result<u64> {
        Ok(self.payload()?.generation)
    }

    /// Ids of the segments on disk now. They differ between all commits, also after a rebuild.
    pub fn file_ids(&self) -> Result<Vec<String>> {
        let segments = self.index.load_metas()?.segments;
        let name = |meta: &tantivy::SegmentMeta| {
            format!("{}-{}", meta.id().uuid_string(), meta.delete_opstamp().unwrap_or_default())
        };
        Ok(segments.iter().map(name).collect())
    }

    /// Reads the vocabulary for spelling suggestions.
    pub fn vocabulary(&self) -> Result<Vocabulary> {
        match self.payload()?.words_commit {
            0 => Ok(Vocabulary::default()),
            commit => Vocabulary::read(&self.dir.words_path(commit)),
        }
    }

    fn payload(&self) -> Result<CommitPayload> {
        let payload = self.index.load_metas()?.payload;
        Ok(payload.as_deref().and_then(CommitPayload::parse).unwrap_or_default())
    }

    /// Directory of the collection.
    pub fn dir(&self) -> &Path {
        self.dir.collection()
    }
}

/// Opens the index: with its fields, and whether it has positions; `None` if there is none.
pub(crate) fn open_index(dir: &IndexDir) -> Result<Option<(Index, Fields, bool)>> {
    let path = dir.index_path();
    let meta = path.join("meta.json");
    if !meta.try_exists().context("read", &meta)? {
        return Ok(None);
    }
    let index = Index::open_in_dir(&path)?;
    check_managed_names(&index)?;
    for positions in [true, false] {
        let (expected, fields) = schema(positions);
        if index.schema() == expected {
            index.tokenizers().register(TOKENIZER, PageTokenizer::new());
            return Ok(Some((index, fields, positions)));
        }
    }
    Err(Error::Unreadable { reason: "written by another version of weir".to_owned() })
}

/// Checks the names in tantivy's list of its files. A writer deletes those that no commit needs, and the list may come from a stranger: a name must not lead
/// out of the directory of the index.
fn check_managed_names(index: &Index) -> Result<()> {
    let is_plain = |path: &PathBuf| path.file_name().is_some_and(|name| name == path.as_os_str());
    match index.directory().list_managed_files().into_iter().find(|path| !is_plain(path)) {
        None => Ok(()),
        Some(path) => {
            let reason = format!("{} is listed as one of its files", path.display());
            Err(Error::Unreadable { reason })
        }
    }
}
