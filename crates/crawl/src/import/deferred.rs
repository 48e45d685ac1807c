//! Records of an import that wait for a later pass, in a file of the collection's scratch directory, and the lookup of the
//! bodies of revisit records.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use model::UrlRules;
use store::{Collection, PageStoreReader, RecordLocation, Result, StoredPage, VerifyLevel};
use warc::{Sha1Digest, WarcReader, WarcRecord};
use xxhash_rust::xxh3::xxh3_64;

/// Deferred records, in their order. Memory: some 20 bytes for each of their pages and digests.
pub(super) struct DeferredRecords {
    path: PathBuf,
    /// Created with the first record.
    file: Option<BufWriter<File>>,
    /// Hashes of the URLs of pages with a deferred record.
    pages: HashSet<u64>,
    /// Digests of the bodies that are needed.
    digests: HashSet<Sha1Digest>,
}

impl DeferredRecords {
    /// Creates an empty list; `pass` makes its file name unique.
    pub(super) fn create(collection_dir: &Path, pass: u8) -> DeferredRecords {
        let path = collection_dir.join("scratch").join(format!("import-{pass}.warc"));
        DeferredRecords { path, file: None, pages: HashSet::new(), digests: HashSet::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.file.is_none()
    }

    /// Whether a record of the same page is deferred.
    pub(super) fn has_page_of(&self, record: &WarcRecord, rules: &UrlRules) -> bool {
        !self.pages.is_empty() && page_hash(record, rules).is_some_and(|page| self.pages.contains(&page))
    }

    /// Appends a record.
    pub(super) fn add(&mut self, record: &WarcRecord, rules: &UrlRules) -> Result<()> {
        self.pages.extend(page_hash(record, rules));
        self.digests.extend(payload_digest(record));
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(BufWriter::new(create(&self.path).map_err(failed("create", &self.path))?)),
        };
        record.write_to(file).map_err(failed("write", &self.path))
    }

    /// Digests of the bodies that revisit records need.
    pub(super) fn take_digests(&mut self) -> HashSet<Sha1Digest> {
        std::mem::take(&mut self.digests)
    }

    /// Reads the records; `None` if there are none.
    pub(super) fn read(&mut self) -> Result<Option<WarcReader>> {
        let Some(mut file) = self.file.take() else { return Ok(None) };
        file.flush().map_err(failed("write", &self.path))?;
        Ok(Some(WarcReader::open(&self.path)?))
    }
}

impl Drop for DeferredRecords {
    fn drop(&mut self) {
        // A leftover is deleted when the collection is opened for writing.
        let _ = fs::remove_file(&self.path);
    }
}

/// Lookup of bodies in a commit.
pub(super) struct PayloadFinder {
    page_store: PageStoreReader,
    /// Records with the needed bodies.
    records: HashMap<Sha1Digest, RecordLocation>,
}

impl PayloadFinder {
    /// Finds the records with these digests, by one scan of the index.
    pub(super) fn open(collection: &Collection, digests: &HashSet<Sha1Digest>) -> Result<PayloadFinder> {
        let page_store = PageStoreReader::open(collection.dir(), collection.manifest()?)?;
        let mut records = HashMap::new();
        page_store.for_each_payload(|digest, location| {
            let digest = Sha1Digest::parse(&format!("sha1:{digest}"));
            if let Some(digest) = digest.filter(|digest| digests.contains(digest)) {
                records.entry(digest).or_insert(location);
            }
        })?;
        Ok(PayloadFinder { page_store, records })
    }

    /// Finds the page with the body of a revisit record: by its digest, or else by the URL and time that it refers to.
    pub(super) fn find(&self, revisit: &WarcRecord, rules: &UrlRules) -> Result<Option<StoredPage>> {
        let by_digest = payload_digest(revisit).and_then(|digest| self.records.get(&digest).copied());
        let location = match by_digest {
            Some(location) => Some(location),
            None => self.find_version(revisit, rules)?,
        };
        location.map(|location| self.page_store.read(&location, VerifyLevel::Checksum)).transpose()
    }

    /// Digests differ if another program computed them by another algorithm, or before the transfer coding was removed.
    fn find_version(&self, revisit: &WarcRecord, rules: &UrlRules) -> Result<Option<RecordLocation>> {
        let url = revisit.header.get("WARC-Refers-To-Target-URI").and_then(|url| rules.canonical(url).ok());
        let date_ms = revisit.header.get("WARC-Refers-To-Date").and_then(warc::parse_date);
        let (Some(url), Some(date_ms)) = (url, date_ms) else { return Ok(None) };
        let versions = self.page_store.versions(url.as_str())?;
        let same_second = |fetched_at_ms: i64| fetched_at_ms.div_euclid(1_000) == date_ms.div_euclid(1_000);
        let version =
            versions.iter().find(|version| !version.is_revisit && same_second(version.fetched_at_ms));
        Ok(version.map(|version| version.location))
    }
}

fn payload_digest(record: &WarcRecord) -> Option<Sha1Digest> {
    record.header.get("WARC-Payload-Digest").and_then(Sha1Digest::parse)
}

fn page_hash(record: &WarcRecord, rules: &UrlRules) -> Option<u64> {
    let url = rules.canonical(record.header.url()?).ok()?;
    Some(xxh3_64(url.as_str().as_bytes()))
}

fn create(path: &Path) -> io::Result<File> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    File::create(path)
}

fn failed(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> store::Error {
    let path = path.to_owned();
    move |source| store::Error::Io { operation, path, source }
}
