//! The index of a collection's text, as a search opens it: `DIR/text/`.

use std::collections::BTreeSet;
use std::path::Path;

use tantivy::{Index, IndexReader, ReloadPolicy};

use crate::error::{Context, Error, Result};
use crate::note::Note;
use crate::schema::{Fields, schema};
use crate::text_folder::TextFolder;
use crate::tokenizer::{PageTokenizer, TOKENIZER};
use crate::vocabulary::Vocabulary;

/// An index that is there.
pub struct TextIndex {
    pub(crate) index: Index,
    pub(crate) reader: IndexReader,
    pub(crate) fields: Fields,
    positions: bool,
    folder: TextFolder,
}

impl TextIndex {
    /// Opens the index of a collection, as of its last commit.
    pub fn open(folder: &Path) -> Result<TextIndex> {
        let text = TextFolder::of(folder);
        let Some((index, fields, positions)) = open_index(&text)? else {
            return Err(Error::NotIndexed { folder: folder.to_owned() });
        };
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(TextIndex { index, reader, fields, positions, folder: text })
    }

    /// Whether it knows where words stand: phrases and distances need it.
    pub fn has_positions(&self) -> bool {
        self.positions
    }

    /// How many pages can be found.
    pub fn pages(&self) -> u64 {
        self.reader.searcher().num_docs()
    }

    /// The codes of the languages that pages are in.
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

    /// The commit of the collection that it follows; 0 while the first run is not through.
    pub fn generation(&self) -> Result<u64> {
        Ok(self.note()?.generation)
    }

    /// What tells the commit of the index that lies on the disk now from every other one, also of an index that was made anew.
    pub fn edition(&self) -> Result<Vec<String>> {
        let segments = self.index.load_metas()?.segments;
        let name = |meta: &tantivy::SegmentMeta| {
            format!("{}-{}", meta.id().uuid_string(), meta.delete_opstamp().unwrap_or_default())
        };
        Ok(segments.iter().map(name).collect())
    }

    /// Words as pages write them, to correct queries by.
    pub fn vocabulary(&self) -> Result<Vocabulary> {
        match self.note()?.words {
            0 => Ok(Vocabulary::default()),
            commit => Vocabulary::read(&self.folder.words(commit)),
        }
    }

    fn note(&self) -> Result<Note> {
        let payload = self.index.load_metas()?.payload;
        Ok(payload.as_deref().and_then(Note::parse).unwrap_or_default())
    }

    /// The collection's folder.
    pub fn folder(&self) -> &Path {
        self.folder.collection()
    }
}

/// The index with its fields, and whether it has positions; `None` if there is none.
pub(crate) fn open_index(folder: &TextFolder) -> Result<Option<(Index, Fields, bool)>> {
    let path = folder.index();
    let meta = path.join("meta.json");
    if !meta.try_exists().context("read", &meta)? {
        return Ok(None);
    }
    let index = Index::open_in_dir(&path)?;
    for positions in [true, false] {
        let (wanted, fields) = schema(positions);
        if index.schema() == wanted {
            index.tokenizers().register(TOKENIZER, PageTokenizer::new());
            return Ok(Some((index, fields, positions)));
        }
    }
    Err(Error::Unreadable { what: "another version of weir made it".to_owned() })
}
