//! How is it kept that a server had nothing new? As a revisit record that refers to the version it spoke of, and has no
//! block of its own: the page at that time was that version, head and body.

use super::{Appended, Background, PageStore, parse_record};
use crate::cdxj::{CdxjLine, NO_STATUS, REVISIT};
use crate::error::{Error, Result};
use crate::page_store::PageLocation;
use crate::warc::{Digest, Prepared, RevisitProfile, gunzip};

impl PageStore {
    /// Stores that a server answered that a page has not changed since the version at `version`. Nothing is stored if that
    /// cannot be read, or may be about to vanish: then there is nothing to refer to.
    pub fn append_not_modified(
        &mut self,
        prepared: Prepared,
        version: PageLocation,
    ) -> Result<Option<Appended>> {
        if matches!(self.background, Background::Compaction { before } if version.file < before) {
            return Ok(None);
        }
        let found = match self.read_original(version) {
            // Damage is for `check` to report; the visit itself is in the table of fetches.
            Err(Error::Damaged { .. }) => None,
            outcome => outcome?,
        };
        let Some((original, record)) = found else { return Ok(None) };
        let digest = record.header.get("WARC-Payload-Digest").and_then(Digest::parse);
        let Some(digest) = digest else { return Ok(None) };
        let Prepared { members, response_bytes, fetched_at_ms, line, .. } = prepared;
        let path = self.folder.join("pages");
        let own = parse_record(gunzip(&members[..response_bytes], &path, 0)?, &path, 0)?;
        let mut revisit = self.preparer.revisit(&own, &record, RevisitProfile::ServerNotModified)?;
        let length = revisit.len() as u32;
        revisit.extend_from_slice(&members[response_bytes..]);
        let (file, offset) = self.append_members(&revisit, fetched_at_ms)?;
        let location = PageLocation { file, offset, length };
        let (mime, status, digest) = (REVISIT.to_owned(), NO_STATUS.to_owned(), digest.base32());
        self.lines.push(CdxjLine { mime, status, digest, location, original: Some(original), ..line });
        Ok(Some(Appended { location, original: Some(original) }))
    }
}
