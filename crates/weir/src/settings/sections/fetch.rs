//! What is one request, and how long and how large may its answer be?

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::{HOUR, MINUTE, SECOND, texts};
use crate::settings::place::{Header, Login};
use crate::settings::section::section;
use crate::settings::value::{Size, Value, quoted};

section! {
    /// What one request is, and how long and how large its answer may be.
    "fetch", FetchSection {
        /// How long a connection may take to be made.
        connect_timeout: Duration = 30 * SECOND, within SECOND..=HOUR, wire "harvester/timeout/connection";
        /// How long a server may take to begin its answer.
        first_byte_timeout: Duration = 30 * SECOND, within SECOND..=HOUR;
        /// How long an answer may take in all.
        total_timeout: Duration = 2 * MINUTE, within SECOND..=HOUR;
        /// An answer that comes more slowly than this in a second is given up.
        least_speed: Size = Size(200);
        /// How long it may come more slowly at its beginning.
        speed_grace: Duration = 20 * SECOND, within SECOND..=HOUR;
        /// How much of a page is fetched; what is longer is cut off and marked so.
        body: Size = Size(400_000), within Size(1_000)..=Size(1 << 30), wire "harvester/maxfilesize";
        /// How long the head of an answer may be.
        head: Size = Size(64 << 10), within Size(1 << 10)..=Size(1 << 20);
        /// Which types of documents are kept; a star stands for any subtype. Others are noted, and not read to their end.
        media_types: Vec<String> = texts(&["text/html", "application/xhtml+xml", "text/plain"]);
        /// Whether HTTP/2 is spoken with servers that offer it.
        http2: bool = true;
        /// Whether pages are fetched from servers whose certificate cannot be trusted.
        bad_certificates: bool = false;
        /// A file with certificates of authorities that are trusted besides those of the Web, in PEM form, relative to this
        /// file.
        roots: FilePath = FilePath::default();
        /// All requests go through this HTTP proxy: "192.0.2.1:3128", or with a login "name:password@192.0.2.1:3128".
        proxy: Option<ProxyAddress> = None;
        /// The languages that are asked for, as in Accept-Language; empty for none.
        languages: String = String::new();
        /// A connection is kept open for the next request of its site if that comes within this time.
        keep_connection: Duration = 5 * SECOND, within Duration::ZERO..=HOUR;
        /// Headers that every request has besides its own.
        headers: Vec<Header> = Vec::new();
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

/// A proxy and who we are to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProxyAddress {
    pub(crate) address: SocketAddr,
    pub(crate) login: Option<Login>,
}

impl Value for ProxyAddress {
    const KIND: &'static str = "proxy";

    fn read(written: &toml::Value) -> Result<ProxyAddress, String> {
        let wrong = || {
            format!(
                "{} is no proxy; write its address and port, such as \"192.0.2.1:3128\", or with a login \
                 \"name:password@192.0.2.1:3128\"",
                quoted(written)
            )
        };
        let text =
            written.as_str().ok_or_else(wrong)?.trim().trim_start_matches("http://").trim_end_matches('/');
        let (login, address) = match text.rsplit_once('@') {
            Some((login, address)) => (Some(Login::of(login).ok_or_else(wrong)?), address),
            None => (None, text),
        };
        Ok(ProxyAddress { address: address.parse().map_err(|_| wrong())?, login })
    }

    fn write(&self) -> String {
        let login = self
            .login
            .as_ref()
            .map_or_else(String::new, |login| format!("{}:{}@", login.user, login.password));
        format!("{login}{}", self.address).write()
    }
}
