//! What is one request, and how long and how large may its answer be?

use std::path::PathBuf;
use std::time::Duration;

use super::{HOUR, MINUTE, SECOND, texts};
use crate::settings::place::Header;
use crate::settings::section::section;
use crate::settings::value::{Size, Value, quoted};

section! {
    /// What one request is, and how long and how large its answer may be.
    "fetch", FetchSection {
        /// How long a connection may take to be made.
        connect_timeout: Duration = 30 * SECOND, within SECOND..=HOUR, wire "harvester/timeout/connection", applies at_once;
        /// How long a server may take to begin its answer.
        first_byte_timeout: Duration = 30 * SECOND, within SECOND..=HOUR, applies at_once;
        /// How long an answer may take in all.
        total_timeout: Duration = 2 * MINUTE, within SECOND..=HOUR, applies at_once;
        /// An answer that comes more slowly than this in a second is given up.
        least_speed: Size = Size(500), applies at_once;
        /// How long it may come more slowly.
        speed_grace: Duration = 15 * SECOND, within SECOND..=HOUR, applies at_once;
        /// How much of a page is fetched; what is longer is cut off and marked so.
        body: Size = Size(400_000), within Size(1_000)..=Size(1 << 30), wire "harvester/maxfilesize", applies at_once;
        /// How long the head of an answer may be.
        head: Size = Size(64 << 10), within Size(1 << 10)..=Size(1 << 20), applies at_once;
        /// Which types of documents are kept; a star stands for any subtype. Others are noted, and not read to their end.
        media_types: Vec<String> = texts(&["text/html", "application/xhtml+xml", "text/plain"]), applies at_once;
        /// Whether HTTP/2 is spoken with servers that offer it.
        http2: bool = true, applies at_once;
        /// Whether pages are fetched from servers whose certificate cannot be trusted.
        bad_certificates: bool = false, applies at_once;
        /// A file with certificates of authorities that are trusted besides those of the Web, in PEM form, relative to this
        /// file.
        roots: FilePath = FilePath::default(), applies at_once;
        /// All requests go through this proxy: "http://proxy.example.org:3128" or "socks5://127.0.0.1:9050".
        proxy: Option<String> = None, applies at_once;
        /// The languages that are asked for, as in Accept-Language; empty for none.
        languages: String = String::new(), applies at_once;
        /// Headers that every request has besides its own.
        headers: Vec<Header> = Vec::new(), applies at_once;
    }
}

/// A file; the empty name is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FilePath(pub(crate) PathBuf);

impl Value for FilePath {
    const KIND: &'static str = "file";

    fn read(written: &toml::Value) -> Result<FilePath, String> {
        let text = written.as_str();
        let wrong = || format!("{} is no name of a file; write it in quotes", quoted(written));
        text.map(|text| FilePath(PathBuf::from(text))).ok_or_else(wrong)
    }

    fn write(&self) -> String {
        self.0.display().to_string().write()
    }
}
