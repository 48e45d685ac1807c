//! Directory of a batch: written by the manager, read by a harvester.
//!
//! ```text
//! sites.jsonl     one site per line, with its pages
//! BATCH           written last: id, counts, XXH3 of the above, cooldowns; a directory without it is incomplete
//! ```

use std::io;
use std::net::IpAddr;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files::checksummed_jsonl::{ChecksummedJsonlReader, ChecksummedJsonlWriter};
use crate::files::sealed_dir::{SealedDirError, SealedDirWriter};
use crate::files::{checksummed_jsonl, sealed_dir};
use crate::item::batch::Batch;

/// Content of the seal file.
#[derive(Serialize, Deserialize)]
struct BatchSeal {
    id: u64,
    sites: u64,
    pages: u64,
    xxh3: u64,
    #[serde(default)]
    address_cooldowns: Vec<(IpAddr, u64)>,
    #[serde(default)]
    host_cooldowns: Vec<(String, u64)>,
}

const SITES: &str = "sites.jsonl";
const BATCH: &str = "BATCH";

impl Batch {
    /// Writes the batch to a directory, which must not exist.
    pub fn write(&self, dir: &Path) -> Result<(), SealedDirError> {
        let writer = SealedDirWriter::create(dir)?;
        let mut lines = ChecksummedJsonlWriter::new(writer.create_file(SITES)?);
        let written = self.sites.iter().try_for_each(|site| lines.push(site)).and_then(|()| lines.finish());
        let (sites, xxh3) = written.map_err(|source| writer.write_error(source))?;
        let seal = BatchSeal {
            id: self.id,
            sites,
            pages: self.pages() as u64,
            xxh3,
            address_cooldowns: self.address_cooldowns.clone(),
            host_cooldowns: self.host_cooldowns.clone(),
        };
        writer.seal(BATCH, &seal)
    }

    /// Reads the directory of a batch.
    pub fn read(dir: &Path) -> Result<Batch, SealedDirError> {
        sealed_dir::read(dir, BATCH, |dir, seal| {
            let seal: BatchSeal = serde_json::from_slice(seal)?;
            let path = dir.join(SITES);
            checksummed_jsonl::verify(&path, seal.xxh3)?;
            let (mut lines, mut sites) = (ChecksummedJsonlReader::open(&path)?, Vec::new());
            while let Some(site) = lines.read_next()? {
                sites.push(site);
            }
            let counts = (seal.sites, seal.pages);
            let BatchSeal { id, address_cooldowns, host_cooldowns, .. } = seal;
            let batch = Batch { id, sites, address_cooldowns, host_cooldowns };
            if (batch.sites.len() as u64, batch.pages() as u64) != counts {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "sites.jsonl has another number of sites or pages than BATCH",
                ));
            }
            Ok(batch)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::item::batch::{BatchSite, RobotsRedirect, test_site};

    fn batch() -> Batch {
        let site = test_site();
        let robots_redirects =
            vec![RobotsRedirect { name: "http://b.example".to_owned(), address: site.address }];
        let other =
            BatchSite { address: None, robots: None, robots_redirects, pages: vec![], ..site.clone() };
        let address_cooldowns = vec![("2001:db8::1".parse().unwrap(), 99)];
        let host_cooldowns = vec![("http://b.example".to_owned(), 98)];
        Batch { id: 12, sites: vec![site, other], address_cooldowns, host_cooldowns }
    }

    #[test]
    fn a_batch_is_read_back_as_written() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("batch");
        batch().write(&path).unwrap();
        assert_eq!(Batch::read(&path).unwrap(), batch());
        assert!(batch().write(&path).is_err(), "the directory exists");
    }

    #[test]
    fn a_corrupt_or_incomplete_directory_is_rejected_by_name() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("batch");
        batch().write(&path).unwrap();
        let sites = fs::read_to_string(path.join(SITES)).unwrap();
        fs::write(path.join(SITES), sites.replacen("192.0.2.1", "192.0.2.2", 1)).unwrap();
        let error = Batch::read(&path).unwrap_err().to_string();
        assert!(error.contains("batch") && error.contains("sites.jsonl"), "{error}");
        fs::remove_file(path.join(BATCH)).unwrap();
        assert!(Batch::read(&path).unwrap_err().to_string().contains("incomplete"));
    }
}
