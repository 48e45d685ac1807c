//! An object store of files that are already open: they may be deleted from their directories while a query runs.
//!
//! The engine reads through the object store interface; the files of the table with index N are below `N/`. This store
//! never writes.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::object_store::path::Path;
use datafusion::object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use futures::stream::{self, BoxStream, StreamExt};

use crate::table::{Table, TableFile};

/// Files by the names that the engine sees.
#[derive(Debug)]
pub(crate) struct OpenFileStore {
    files: BTreeMap<Path, (Arc<File>, ObjectMeta)>,
}

impl OpenFileStore {
    pub(crate) fn new(tables: &[Table]) -> crate::Result<OpenFileStore> {
        let mut files = BTreeMap::new();
        for (index, table) in tables.iter().enumerate() {
            for file in &table.files {
                let name = file.path.file_name().unwrap_or_default().to_string_lossy();
                let location = Path::from_iter([index.to_string().as_str(), name.as_ref()]);
                let meta = meta(&location, file).map_err(|error| crate::Error::File {
                    operation: "read",
                    path: file.path.clone(),
                    reason: error.to_string(),
                })?;
                files.insert(location, (file.file.clone(), meta));
            }
        }
        Ok(OpenFileStore { files })
    }

    fn find(&self, location: &Path) -> Result<&(Arc<File>, ObjectMeta)> {
        self.files.get(location).ok_or_else(|| Error::NotFound {
            path: location.to_string(),
            source: "not a file of a table".into(),
        })
    }

    fn below(&self, prefix: Option<&Path>) -> Vec<ObjectMeta> {
        let is_below = |location: &Path| prefix.is_none_or(|prefix| location.prefix_matches(prefix));
        self.files.values().map(|(_, meta)| meta).filter(|meta| is_below(&meta.location)).cloned().collect()
    }
}

fn meta(location: &Path, file: &TableFile) -> std::io::Result<ObjectMeta> {
    let metadata = file.file.metadata()?;
    Ok(ObjectMeta {
        location: location.clone(),
        last_modified: metadata.modified()?.into(),
        size: metadata.len(),
        e_tag: None,
        version: None,
    })
}

/// Reads on a thread that may block.
async fn read(file: Arc<File>, range: Range<u64>) -> Result<Bytes> {
    let wrong = |source| Error::Generic { store: "tables", source };
    let reading = tokio::task::spawn_blocking(move || {
        let length = usize::try_from(range.end - range.start).map_err(std::io::Error::other)?;
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, range.start)?;
        Ok::<_, std::io::Error>(bytes)
    });
    let bytes = reading.await.map_err(|error| wrong(error.into()))?;
    bytes.map(Bytes::from).map_err(|error| wrong(error.into()))
}

fn refused<T>(operation: &str) -> Result<T> {
    Err(Error::NotImplemented { operation: operation.to_owned(), implementer: "tables".to_owned() })
}

impl fmt::Display for OpenFileStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} open files", self.files.len())
    }
}

#[async_trait]
impl ObjectStore for OpenFileStore {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let (file, meta) = self.find(location)?;
        options.check_preconditions(meta)?;
        let all = 0..meta.size;
        let requested = options.range.as_ref().map(|range| range.as_range(meta.size));
        let range = requested
            .transpose()
            .map_err(|error| Error::Generic { store: "tables", source: error.into() })?;
        let range = range.unwrap_or(all);
        let payload = if options.head {
            stream::empty().boxed()
        } else {
            stream::once(read(file.clone(), range.clone())).boxed()
        };
        Ok(GetResult {
            payload: GetResultPayload::Stream(payload),
            meta: meta.clone(),
            range,
            attributes: Default::default(),
        })
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        stream::iter(self.below(prefix)).map(Ok).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        Ok(ListResult { common_prefixes: Vec::new(), objects: self.below(prefix) })
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        refused("put")
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        refused("put")
    }

    fn delete_stream(&self, _: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        stream::once(async { refused("delete") }).boxed()
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        refused("copy")
    }
}
