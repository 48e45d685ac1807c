//! What does the index know about a record?

use serde::{Deserialize, Serialize};

use crate::page_store::PageLocation;

/// One line of an index; the names in its JSON are those that pywb and its relatives use.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct CdxjLine {
    pub(crate) key: String,
    /// 14 digits.
    pub(crate) timestamp: String,
    pub(crate) url: String,
    /// `warc/revisit` if the payload is that of another record.
    pub(crate) mime: String,
    pub(crate) status: String,
    /// Of the payload, in base 32.
    pub(crate) digest: String,
    pub(crate) location: PageLocation,
    /// Where the payload is, if elsewhere.
    pub(crate) original: Option<PageLocation>,
}

pub(crate) const REVISIT: &str = "warc/revisit";
/// Of a record without a head.
pub(crate) const NO_STATUS: &str = "-";

/// Numbers are text, as the tools expect it.
#[derive(Serialize, Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    url: std::borrow::Cow<'a, str>,
    mime: std::borrow::Cow<'a, str>,
    status: std::borrow::Cow<'a, str>,
    digest: std::borrow::Cow<'a, str>,
    length: String,
    offset: String,
    filename: String,
    #[serde(rename = "orig.length", skip_serializing_if = "Option::is_none")]
    original_length: Option<String>,
    #[serde(rename = "orig.offset", skip_serializing_if = "Option::is_none")]
    original_offset: Option<String>,
    #[serde(rename = "orig.filename", skip_serializing_if = "Option::is_none")]
    original_filename: Option<String>,
}

impl CdxjLine {
    pub(crate) fn is_revisit(&self) -> bool {
        self.mime == REVISIT
    }

    /// Whether a server said no more than that the page had not changed.
    pub(crate) fn is_not_modified(&self) -> bool {
        self.is_revisit() && self.status == NO_STATUS
    }

    /// As it stands in the file, without the line end.
    pub(crate) fn encode(&self) -> Result<String, serde_json::Error> {
        let fields = Fields {
            url: self.url.as_str().into(),
            mime: self.mime.as_str().into(),
            status: self.status.as_str().into(),
            digest: self.digest.as_str().into(),
            length: self.location.length.to_string(),
            offset: self.location.offset.to_string(),
            filename: self.location.file_name(),
            original_length: self.original.map(|original| original.length.to_string()),
            original_offset: self.original.map(|original| original.offset.to_string()),
            original_filename: self.original.map(|original| original.file_name()),
        };
        Ok(format!("{} {} {}", self.key, self.timestamp, serde_json::to_string(&fields)?))
    }

    pub(crate) fn decode(line: &str) -> Result<CdxjLine, String> {
        let mut parts = line.splitn(3, ' ');
        let (Some(key), Some(timestamp), Some(json)) = (parts.next(), parts.next(), parts.next()) else {
            return Err("a line has no three parts".to_owned());
        };
        let fields: Fields<'_> = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let location = PageLocation::parse(&fields.filename, &fields.offset, &fields.length);
        let original = match (&fields.original_filename, &fields.original_offset, &fields.original_length) {
            (Some(name), Some(offset), Some(length)) => Some(PageLocation::parse(name, offset, length)?),
            _ => None,
        };
        Ok(CdxjLine {
            key: key.to_owned(),
            timestamp: timestamp.to_owned(),
            url: fields.url.into_owned(),
            mime: fields.mime.into_owned(),
            status: fields.status.into_owned(),
            digest: fields.digest.into_owned(),
            location: location?,
            original,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_as_pywb_reads_them_and_come_back() {
        let location = PageLocation { file: 5 << 10, offset: 77, length: 1_234 };
        let mut line = CdxjLine {
            key: "com,example)/".to_owned(),
            timestamp: "20261115083000".to_owned(),
            url: "http://example.com/\"".to_owned(),
            mime: "text/html".to_owned(),
            status: "200".to_owned(),
            digest: "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ".to_owned(),
            location,
            original: None,
        };
        let text = line.encode().unwrap();
        assert_eq!(
            text,
            "com,example)/ 20261115083000 {\"url\":\"http://example.com/\\\"\",\"mime\":\"text/html\",\
             \"status\":\"200\",\"digest\":\"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\",\"length\":\"1234\",\"offset\":\"77\",\
             \"filename\":\"weir-000005.warc.gz\"}"
        );
        assert_eq!(CdxjLine::decode(&text), Ok(line.clone()));
        line.original = Some(PageLocation { file: 3 << 10 | 2, offset: 1, length: 2 });
        assert_eq!(CdxjLine::decode(&line.encode().unwrap()), Ok(line));
        assert!(CdxjLine::decode("com,example)/ 2026 nonsense").is_err());
    }
}
