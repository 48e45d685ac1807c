//! What is to be fetched in one go? A closed list of pages, site by site, with all that a harvester must know.
//!
//! A batch stands on its own: as a folder it can be copied to another machine, harvested there, and its harvest brought
//! back. A site is in at most one open batch, so that its clocks are kept by one harvester at a time.
//!
//! ```text
//! sites.jsonl     one site per line, with its pages
//! BATCH           written last: number, counts, XXH3 of the above, addresses and sites with their clocks; a folder without it
//!                 is not complete
//! ```

use std::io;
use std::net::IpAddr;
use std::path::Path;

use model::{PageId, SiteId};
use parse::{ROBOTS_LIMIT_BYTES, decode_content};
use serde::{Deserialize, Serialize};

use crate::closed_folder::{self, FolderError, OpenFolder};
use crate::http_head::HttpHead;
use crate::json_lines::{self, LineReader, LineWriter};
use crate::validators::Validators;

/// Pages that were chosen to be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Batch {
    /// Batches of a collection are numbered from 1.
    pub number: u64,
    /// Site by site.
    pub sites: Vec<BatchSite>,
    /// Addresses of its sites that must be left alone, whichever is there, until these times in Unix milliseconds.
    pub addresses: Vec<(IpAddr, u64)>,
    /// Sites that its own refer to, by name, that must be left alone until these times.
    pub rests: Vec<(String, u64)>,
}

/// A site, its pages in the order in which they are to be fetched, and what is known about how to ask it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchSite {
    /// Its number in the collection.
    pub site: SiteId,
    /// Scheme, host and port.
    pub name: String,
    /// Where it is, if that was asked for lately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// Until when that may be believed, in Unix seconds.
    #[serde(default)]
    pub resolve_again_s: u32,
    /// No request may be sent before this time, in Unix milliseconds.
    #[serde(default)]
    pub not_before_ms: u64,
    /// Requests in a row that failed.
    #[serde(default)]
    pub errors_in_a_row: u16,
    /// What it asked for by answering that we come too often.
    #[serde(default)]
    pub asked_wait_ms: u64,
    /// How many of its pages are known; large sites can bear more.
    #[serde(default)]
    pub pages_known: u32,
    /// Its robots.txt, if it was asked for before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub robots: Option<RobotsCopy>,
    /// Other sites that its robots.txt has led to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refers: Vec<Referral>,
    /// Whether its sitemaps should be read.
    #[serde(default)]
    pub sitemaps_due: bool,
    /// What to fetch.
    pub pages: Vec<BatchPage>,
}

impl BatchSite {
    /// Whether it is known where it is.
    pub(crate) fn is_located(&self, now_s: u32) -> bool {
        self.address.is_some() && self.resolve_again_s > now_s
    }

    /// How many names have to be resolved before it can be lent.
    pub(crate) fn unknown_names(&self, now_s: u32) -> usize {
        usize::from(!self.is_located(now_s)) + self.refers.len()
    }

    /// Where it is asked, and the others that its robots.txt has led to.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let others = self.refers.iter().filter_map(|referral| referral.address);
        self.address.into_iter().chain(others).map(|address| address.to_canonical())
    }
}

/// A site that is asked for a robots.txt on behalf of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Referral {
    /// Scheme, host and port.
    pub name: String,
    /// Where it is; nothing if it cannot be found.
    pub address: Option<IpAddr>,
}

/// A page to be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchPage {
    /// Its number in the collection.
    pub page: PageId,
    /// Its canonical URL.
    pub url: String,
    /// What names the version that is stored, if there is one.
    #[serde(default, skip_serializing_if = "Validators::is_empty")]
    pub validators: Validators,
}

/// The answer to a request for robots.txt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RobotsCopy {
    /// When it came, in Unix seconds.
    pub fetched_s: u32,
    /// The status; 0 for no answer.
    pub status: u16,
    /// The text; rules may have any bytes, so each stands as the character of its number.
    #[serde(with = "bytes_as_characters", default)]
    pub text: Vec<u8>,
}

impl RobotsCopy {
    /// What an answer means; the text is cut at what a robots.txt may have.
    pub(crate) fn of(answer: &fetch::Answer, fetched_s: u32) -> RobotsCopy {
        let encoding = HttpHead(&answer.head).joined("Content-Encoding");
        let text = match answer.status {
            200..=299 => decode_content(&answer.body, &encoding, ROBOTS_LIMIT_BYTES).bytes.into_owned(),
            _ => Vec::new(),
        };
        // A file that broke off could have said anything behind the break.
        let broken = answer.failure.is_some();
        RobotsCopy { fetched_s, status: if broken { 0 } else { answer.status }, text }
    }

    /// There was nobody to ask.
    pub(crate) fn none(fetched_s: u32) -> RobotsCopy {
        RobotsCopy { fetched_s, status: 0, text: Vec::new() }
    }
}

/// The last file of a batch.
#[derive(Serialize, Deserialize)]
struct Closing {
    number: u64,
    sites: u64,
    pages: u64,
    xxh3: u64,
    #[serde(default)]
    addresses: Vec<(IpAddr, u64)>,
    #[serde(default)]
    rests: Vec<(String, u64)>,
}

const SITES: &str = "sites.jsonl";
const BATCH: &str = "BATCH";

impl Batch {
    /// How many pages it has.
    pub fn pages(&self) -> usize {
        self.sites.iter().map(|site| site.pages.len()).sum()
    }

    /// Writes it as a folder, which must not exist.
    pub fn write(&self, folder: &Path) -> Result<(), FolderError> {
        let open = OpenFolder::begin(folder)?;
        let mut lines = LineWriter::new(open.file(SITES)?);
        let written = self.sites.iter().try_for_each(|site| lines.push(site)).and_then(|()| lines.finish());
        let (sites, xxh3) = written.map_err(|source| open.failed(source))?;
        let closing = Closing {
            number: self.number,
            sites,
            pages: self.pages() as u64,
            xxh3,
            addresses: self.addresses.clone(),
            rests: self.rests.clone(),
        };
        open.close(BATCH, &closing)
    }

    /// Reads a folder.
    pub fn read(folder: &Path) -> Result<Batch, FolderError> {
        closed_folder::read(folder, BATCH, |folder, closing| {
            let closing: Closing = serde_json::from_slice(closing)?;
            let path = folder.join(SITES);
            json_lines::verify(&path, closing.xxh3)?;
            let (mut lines, mut sites) = (LineReader::open(&path)?, Vec::new());
            while let Some(site) = lines.next()? {
                sites.push(site);
            }
            let counts = (closing.sites, closing.pages);
            let Closing { number, addresses, rests, .. } = closing;
            let batch = Batch { number, sites, addresses, rests };
            if (batch.sites.len() as u64, batch.pages() as u64) != counts {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "sites.jsonl is not what was written",
                ));
            }
            Ok(batch)
        })
    }
}

/// Any bytes as a string of JSON: each as the character of its number.
pub(crate) mod bytes_as_characters {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&bytes.iter().map(|byte| char::from(*byte)).collect::<String>())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let byte =
            |character| u8::try_from(character).map_err(|_| D::Error::custom("a character is no byte"));
        text.chars().map(byte).collect()
    }
}

/// A site with something in every field.
#[cfg(test)]
pub(crate) fn test_site() -> BatchSite {
    let validators = Validators { etag: Some("\"é\"".to_owned()), last_modified: None };
    let page = |page, url: &str| BatchPage {
        page: PageId(page),
        url: url.to_owned(),
        validators: if page == 9 { validators.clone() } else { Validators::default() },
    };
    BatchSite {
        site: SiteId(3),
        name: "http://a.example".to_owned(),
        address: Some(IpAddr::from([192, 0, 2, 1])),
        resolve_again_s: 4,
        not_before_ms: 5,
        errors_in_a_row: 6,
        asked_wait_ms: 10,
        pages_known: 7,
        robots: Some(RobotsCopy { fetched_s: 8, status: 200, text: (0..=255).collect() }),
        refers: Vec::new(),
        sitemaps_due: true,
        pages: vec![page(1, "http://a.example/"), page(9, "http://a.example/ü")],
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn batch() -> Batch {
        let site = test_site();
        let refers = vec![Referral { name: "http://b.example".to_owned(), address: site.address }];
        let other = BatchSite { address: None, robots: None, refers, pages: vec![], ..site.clone() };
        let addresses = vec![("2001:db8::1".parse().unwrap(), 99)];
        let rests = vec![("http://b.example".to_owned(), 98)];
        Batch { number: 12, sites: vec![site, other], addresses, rests }
    }

    #[test]
    fn a_folder_brings_the_batch_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("batch");
        batch().write(&path).unwrap();
        assert_eq!(Batch::read(&path).unwrap(), batch());
        assert!(batch().write(&path).is_err(), "it is there already");
    }

    #[test]
    fn a_changed_or_unfinished_folder_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("batch");
        batch().write(&path).unwrap();
        let sites = fs::read_to_string(path.join(SITES)).unwrap();
        fs::write(path.join(SITES), sites.replacen("192.0.2.1", "192.0.2.2", 1)).unwrap();
        let error = Batch::read(&path).unwrap_err().to_string();
        assert!(error.contains("batch") && error.contains("sites.jsonl"), "{error}");
        fs::remove_file(path.join(BATCH)).unwrap();
        assert!(Batch::read(&path).unwrap_err().to_string().contains("not complete"));
    }
}
