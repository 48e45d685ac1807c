//! One line of a CDXJ index: a capture and the location of its record.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// Capture as described by one line of an index, without the location of its record.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CdxjEntry {
    /// Sort key, see [`cdxj_key`](crate::cdxj_key).
    pub key: String,
    /// Time of the capture: 14 digits.
    pub timestamp: String,
    /// URL of the capture.
    pub url: String,
    /// MIME type without parameters; [`MIME_REVISIT`] if the payload is in another record.
    pub mime: String,
    /// HTTP status as text; [`NO_STATUS`] without a head.
    pub status: String,
    /// SHA-1 of the payload, in base 32.
    pub digest: String,
}

/// Location of a record in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CdxjLocation<'a> {
    /// Name of the WARC file.
    pub filename: Cow<'a, str>,
    /// Start of the record's gzip member.
    pub offset: u64,
    /// Compressed size of the member.
    pub length: u32,
}

/// Value of [`CdxjEntry::mime`] for revisit records.
pub const MIME_REVISIT: &str = "warc/revisit";
/// Value of [`CdxjEntry::status`] for records without an HTTP head.
pub const NO_STATUS: &str = "-";

/// JSON of a line. The names are those of pywb; numbers are strings, as its parser expects them.
#[derive(Serialize, Deserialize)]
struct CdxjJson<'a> {
    #[serde(borrow)]
    url: Cow<'a, str>,
    #[serde(borrow)]
    mime: Cow<'a, str>,
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(borrow)]
    digest: Cow<'a, str>,
    #[serde(borrow)]
    length: Cow<'a, str>,
    #[serde(borrow)]
    offset: Cow<'a, str>,
    #[serde(borrow)]
    filename: Cow<'a, str>,
    #[serde(borrow, rename = "orig.length", skip_serializing_if = "Option::is_none")]
    original_length: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "orig.offset", skip_serializing_if = "Option::is_none")]
    original_offset: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "orig.filename", skip_serializing_if = "Option::is_none")]
    original_filename: Option<Cow<'a, str>>,
}

/// A decoded line: the capture, its location, and the location of the payload if it is in another record.
pub type DecodedLine<'a> = (CdxjEntry, CdxjLocation<'a>, Option<CdxjLocation<'a>>);

impl CdxjEntry {
    /// Whether the payload is in another record.
    pub fn is_revisit(&self) -> bool {
        self.mime == MIME_REVISIT
    }

    /// Whether the record stands for a 304 response (Not Modified).
    pub fn is_not_modified(&self) -> bool {
        self.is_revisit() && self.status == NO_STATUS
    }

    /// Whether the response was successful: status 2xx.
    pub fn is_success(&self) -> bool {
        self.status.len() == 3 && self.status.starts_with('2')
    }

    /// Encodes the line without its line end. `original` is the location of the payload if it is in another record.
    pub fn encode(
        &self,
        location: &CdxjLocation<'_>,
        original: Option<&CdxjLocation<'_>>,
    ) -> Result<String, serde_json::Error> {
        let json = CdxjJson {
            url: self.url.as_str().into(),
            mime: self.mime.as_str().into(),
            status: self.status.as_str().into(),
            digest: self.digest.as_str().into(),
            length: location.length.to_string().into(),
            offset: location.offset.to_string().into(),
            filename: location.filename.as_ref().into(),
            original_length: original.map(|original| original.length.to_string().into()),
            original_offset: original.map(|original| original.offset.to_string().into()),
            original_filename: original.map(|original| original.filename.as_ref().into()),
        };
        Ok(format!("{} {} {}", self.key, self.timestamp, serde_json::to_string(&json)?))
    }

    /// Decodes a line without its line end.
    pub fn decode(line: &str) -> Result<DecodedLine<'_>, String> {
        let mut parts = line.splitn(3, ' ');
        let (Some(key), Some(timestamp), Some(json)) = (parts.next(), parts.next(), parts.next()) else {
            return Err("the line does not have three parts".to_owned());
        };
        let json: CdxjJson<'_> = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let location = CdxjLocation::parse(json.filename, &json.offset, &json.length)?;
        let original = match (json.original_filename, &json.original_offset, &json.original_length) {
            (Some(name), Some(offset), Some(length)) => Some(CdxjLocation::parse(name, offset, length)?),
            _ => None,
        };
        let entry = CdxjEntry {
            key: key.to_owned(),
            timestamp: timestamp.to_owned(),
            url: json.url.into_owned(),
            mime: json.mime.into_owned(),
            status: json.status.into_owned(),
            digest: json.digest.into_owned(),
        };
        Ok((entry, location, original))
    }
}

impl<'a> CdxjLocation<'a> {
    fn parse(filename: Cow<'a, str>, offset: &str, length: &str) -> Result<CdxjLocation<'a>, String> {
        match (offset.parse(), length.parse()) {
            (Ok(offset), Ok(length)) => Ok(CdxjLocation { filename, offset, length }),
            _ => Err(format!("invalid offset `{offset}` or length `{length}`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_encoded_for_pywb_and_decoded_again() {
        let location = CdxjLocation { filename: "weir-000005.warc.gz".into(), offset: 77, length: 1_234 };
        let entry = CdxjEntry {
            key: "com,example)/".to_owned(),
            timestamp: "20261115083000".to_owned(),
            url: "http://example.com/\"".to_owned(),
            mime: "text/html".to_owned(),
            status: "200".to_owned(),
            digest: "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ".to_owned(),
        };
        let text = entry.encode(&location, None).unwrap();
        assert_eq!(
            text,
            "com,example)/ 20261115083000 {\"url\":\"http://example.com/\\\"\",\"mime\":\"text/html\",\
             \"status\":\"200\",\"digest\":\"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\",\"length\":\"1234\",\"offset\":\"77\",\
             \"filename\":\"weir-000005.warc.gz\"}"
        );
        assert_eq!(CdxjEntry::decode(&text), Ok((entry.clone(), location.clone(), None)));
        let original = CdxjLocation { filename: "weir-000003-r2.warc.gz".into(), offset: 1, length: 2 };
        let text = entry.encode(&location, Some(&original)).unwrap();
        assert_eq!(CdxjEntry::decode(&text), Ok((entry, location, Some(original))));
        assert!(CdxjEntry::decode("com,example)/ 2026 nonsense").is_err());
    }
}
