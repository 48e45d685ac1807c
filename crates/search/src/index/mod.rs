//! Text index on disk: directory, schema, commit payload, vocabulary.

pub(crate) mod commit_payload;
pub(crate) mod exclusion;
pub(crate) mod index_dir;
pub(crate) mod schema;
pub(crate) mod text_index;
pub(crate) mod vocabulary;
