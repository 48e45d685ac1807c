//! Entry of the index: a capture and the location of its record in the page store.

use warc::{CdxjEntry, CdxjLocation};

use crate::pages::location::RecordLocation;

/// One line of the index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct IndexEntry {
    pub(crate) cdxj: CdxjEntry,
    pub(crate) location: RecordLocation,
    /// Location of the payload if it is in another record.
    pub(crate) original_location: Option<RecordLocation>,
}

impl IndexEntry {
    /// Encodes the line without its line end.
    pub(crate) fn encode(&self) -> Result<String, serde_json::Error> {
        let original = self.original_location.map(to_cdxj);
        self.cdxj.encode(&to_cdxj(self.location), original.as_ref())
    }

    /// Decodes a line without its line end.
    pub(crate) fn decode(line: &str) -> Result<IndexEntry, String> {
        let (cdxj, location, original) = CdxjEntry::decode(line)?;
        let original_location = original.map(from_cdxj).transpose()?;
        Ok(IndexEntry { cdxj, location: from_cdxj(location)?, original_location })
    }
}

fn to_cdxj(location: RecordLocation) -> CdxjLocation<'static> {
    let RecordLocation { offset, length, .. } = location;
    CdxjLocation { filename: location.file_name().into(), offset, length }
}

fn from_cdxj(location: CdxjLocation<'_>) -> Result<RecordLocation, String> {
    let CdxjLocation { filename, offset, length } = location;
    RecordLocation::parse(&filename, offset, length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_encoded_and_decoded() {
        let location = RecordLocation { file: 5 << 10, offset: 77, length: 1_234 };
        let cdxj = CdxjEntry {
            key: "com,example)/".to_owned(),
            timestamp: "2026".to_owned(),
            ..CdxjEntry::default()
        };
        let mut entry = IndexEntry { cdxj, location, original_location: None };
        assert_eq!(IndexEntry::decode(&entry.encode().unwrap()), Ok(entry.clone()));
        entry.original_location = Some(RecordLocation { file: 3 << 10 | 2, offset: 1, length: 2 });
        assert_eq!(IndexEntry::decode(&entry.encode().unwrap()), Ok(entry.clone()));
        let other = entry.encode().unwrap().replace("weir-000005", "other-5");
        assert!(IndexEntry::decode(&other).is_err());
    }
}
