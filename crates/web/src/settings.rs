//! Settings of the web server.

use std::net::SocketAddr;
use std::path::PathBuf;

use harvest::CrawlSettings;
use search::Ranking;

use crate::credentials::tls::Tls;
use crate::credentials::token::Token;

/// Settings of a web server.
#[derive(Debug, Clone)]
pub struct WebSettings {
    /// Directory of the collection.
    pub dir: PathBuf,
    /// Address to listen on; port 0 picks a free port.
    pub listen: SocketAddr,
    /// Access token that clients must send; required unless listening on loopback. Without one, a token is generated at
    /// start, which is needed only for changes.
    pub token: Option<Token>,
    /// Certificate and key to serve HTTPS.
    pub tls: Option<Tls>,
    /// Host names accepted in the Host header, besides `localhost` and IP addresses. Other names are refused as protection
    /// against DNS rebinding: a page of another site could resolve its own name to this server and read the responses.
    pub allowed_hosts: Vec<String>,
    /// Settings of the crawl, by which URLs are canonicalised and explained.
    pub crawl: CrawlSettings,
    /// Weights of the search score.
    pub ranking: Ranking,
}
