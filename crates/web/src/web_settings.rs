//! What may be chosen about the server?

use std::net::SocketAddr;
use std::path::PathBuf;

use crawl::CrawlSettings;
use search::Ranking;

use crate::tls::Tls;
use crate::token::Token;

/// The settings of a server.
#[derive(Debug, Clone)]
pub struct WebSettings {
    /// The collection.
    pub folder: PathBuf,
    /// Where to listen; port 0 takes one that is free.
    pub listen: SocketAddr,
    /// What everybody must know who asks for anything; needed unless only this machine can ask. Without one, a token is made up at
    /// the start for those who change something.
    pub token: Option<Token>,
    /// Whether it is asked over TLS.
    pub tls: Option<Tls>,
    /// Names, besides addresses and `localhost`, under which the server may be asked. Others are refused: a page of the Web
    /// could let its own name lead here and read the answers.
    pub names: Vec<String>,
    /// By which URLs are understood and judged.
    pub rules: CrawlSettings,
    /// What makes one page a better answer than another.
    pub ranking: Ranking,
}
