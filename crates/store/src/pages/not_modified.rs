//! Storage of 304 responses (Not Modified): a revisit record with an empty block that refers to the confirmed version.

use super::reader::parse_record;
use super::{AppendResult, Background, PageStore};
use crate::error::{Error, Result};
use crate::pages::RecordLocation;
use crate::pages::index::IndexEntry;
use warc::{CdxjEntry, EncodedRecord, MIME_REVISIT, NO_STATUS, RevisitProfile, Sha1Digest, gunzip};

impl PageStore {
    /// Stores a 304 response to a request of the page stored at `version`. Stores nothing if that record cannot be read or
    /// may be dropped by a compaction.
    pub fn append_not_modified(
        &mut self,
        mut encoded: EncodedRecord,
        version: RecordLocation,
    ) -> Result<Option<AppendResult>> {
        if matches!(self.background, Background::Compaction { before } if version.file < before) {
            return Ok(None);
        }
        let found = match self.read_original(version) {
            // `weir check` reports the corruption; the fetch itself is in the table `fetches`.
            Err(Error::Corrupt { .. }) => None,
            outcome => outcome?,
        };
        let Some((original, record)) = found else { return Ok(None) };
        let digest = record.header.get("WARC-Payload-Digest").and_then(Sha1Digest::parse);
        let Some(digest) = digest else { return Ok(None) };
        let path = self.dir.join("pages");
        let response = parse_record(gunzip(encoded.response(), &path, 0)?, &path, 0)?;
        let revisit = self.encoder.revisit(&response, &record, RevisitProfile::ServerNotModified)?;
        encoded.replace_response(&revisit);
        let (file, offset) = self.append_members(encoded.members(), encoded.fetched_at_ms())?;
        let location = RecordLocation { file, offset, length: revisit.len() as u32 };
        let (mime, status, digest) = (MIME_REVISIT.to_owned(), NO_STATUS.to_owned(), digest.base32());
        let cdxj = CdxjEntry { mime, status, digest, ..encoded.cdxj };
        self.entries.push(IndexEntry { cdxj, location, original_location: Some(original) });
        Ok(Some(AppendResult { location, duplicate_of: Some(original) }))
    }
}
