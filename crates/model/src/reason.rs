//! Why was a page not fetched, or not kept? Every way a page can fail or be left out has a name, a sentence and a code.
//!
//! The code is one byte in a page's record; codes are never given to another reason, so that old collections keep
//! telling the truth.

use std::fmt;

/// Why a page was not fetched, or why a visit brought nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum Reason {
    /// Its host is not among those that this crawl accepts.
    OutOfScope = 1,
    /// Its URL matches a pattern that this crawl rejects.
    RejectedByPattern = 2,
    /// Its URL is that of a file which is counted and not fetched.
    NotAPage = 3,
    /// It lies too many links away from where its site was entered.
    TooDeep = 4,
    /// Its site has as many pages as one site may have.
    SiteFull = 5,
    /// Its registered domain has as many pages as the links from other domains earn it.
    DomainBudget = 6,
    /// The collection has as many pages or sites as it may have.
    CollectionFull = 7,
    /// Its URL looks like one of an endless number that a program makes up.
    Trap = 8,
    /// Its site is another name of a site that is crawled.
    Alias = 9,
    /// The settings leave its site out.
    SkippedSite = 10,
    /// The page or the link that leads to it asks not to follow.
    Nofollow = 11,
    /// This crawl enters sites by their front page only.
    DeepLink = 12,
    /// This crawl does not speak its protocol.
    Scheme = 13,
    /// Robots.txt forbids it.
    RobotsForbid = 20,
    /// Robots.txt of its site cannot be had, which forbids everything until it can.
    RobotsUnreachable = 21,
    /// It is the end of too many redirects in a row.
    TooManyRedirects = 22,
    /// It redirects to nothing that is a URL.
    RedirectWithoutTarget = 23,
    /// Its media type is not among those that this crawl keeps.
    MediaType = 24,
    /// Its site failed too often in a row.
    SiteGivenUp = 25,
    /// Its host name does not exist.
    NameNotFound = 40,
    /// The name servers could not tell the address of its host.
    NameServerFailed = 41,
    /// Its host lies at an address that this crawl must not ask.
    BlockedAddress = 42,
    /// No connection could be made.
    ConnectFailed = 43,
    /// No connection could be made in time.
    ConnectTimedOut = 44,
    /// Its certificate cannot be trusted.
    Certificate = 45,
    /// No common language for encryption was found.
    TlsFailed = 46,
    /// The server did not begin to answer in time.
    FirstByteTimedOut = 47,
    /// The answer did not end in time.
    TotalTimedOut = 48,
    /// The answer came too slowly.
    TooSlow = 49,
    /// The connection broke before the answer was complete.
    ConnectionLost = 50,
    /// The head of the answer is too long.
    HeadTooLong = 51,
    /// The answer is not what the protocol demands.
    BadAnswer = 52,
    /// The body of the answer breaks the rules of its transfer.
    BadBody = 53,
    /// The proxy refused or could not pass the request on.
    ProxyFailed = 54,
    /// The server answered that there is nothing for us.
    Refused = 55,
    /// The server answered that it is in trouble.
    ServerTrouble = 56,
    /// The server asked us to come back later.
    AskedToWait = 57,
    /// The server answered that the page is as it was, which nobody had asked.
    NotModifiedUnasked = 58,
}

/// Reasons, their names and their sentences.
#[rustfmt::skip]
const ALL: [(Reason, &str, &str); 38] = [
    (Reason::OutOfScope, "out-of-scope", "its host is not among those that this crawl accepts"),
    (Reason::RejectedByPattern, "rejected-by-pattern", "its URL matches a pattern that this crawl rejects"),
    (Reason::NotAPage, "not-a-page", "its URL is that of a file which is counted and not fetched"),
    (Reason::TooDeep, "too-deep", "it lies too many links away from where its site was entered"),
    (Reason::SiteFull, "site-full", "its site has as many pages as one site may have"),
    (Reason::DomainBudget, "domain-budget", "its registered domain has as many pages as the links from other domains earn it"),
    (Reason::CollectionFull, "collection-full", "the collection has as many pages or sites as it may have"),
    (Reason::Trap, "trap", "its URL looks like one of an endless number that a program makes up"),
    (Reason::Alias, "alias", "its site is another name of a site that is crawled"),
    (Reason::SkippedSite, "skipped-site", "the settings leave its site out"),
    (Reason::Nofollow, "nofollow", "the page or the link that leads to it asks not to follow"),
    (Reason::DeepLink, "deep-link", "this crawl enters sites by their front page only"),
    (Reason::Scheme, "scheme", "this crawl does not speak its protocol"),
    (Reason::RobotsForbid, "robots-forbid", "robots.txt forbids it"),
    (Reason::RobotsUnreachable, "robots-unreachable", "robots.txt of its site cannot be had, which forbids everything until it can"),
    (Reason::TooManyRedirects, "too-many-redirects", "it is the end of too many redirects in a row"),
    (Reason::RedirectWithoutTarget, "redirect-without-target", "it redirects to nothing that is a URL"),
    (Reason::MediaType, "media-type", "its media type is not among those that this crawl keeps"),
    (Reason::SiteGivenUp, "site-given-up", "its site failed too often in a row"),
    (Reason::NameNotFound, "name-not-found", "its host name does not exist"),
    (Reason::NameServerFailed, "name-server-failed", "the name servers could not tell the address of its host"),
    (Reason::BlockedAddress, "blocked-address", "its host lies at an address that this crawl must not ask"),
    (Reason::ConnectFailed, "connect-failed", "no connection could be made"),
    (Reason::ConnectTimedOut, "connect-timed-out", "no connection could be made in time"),
    (Reason::Certificate, "certificate", "its certificate cannot be trusted"),
    (Reason::TlsFailed, "tls-failed", "no common language for encryption was found"),
    (Reason::FirstByteTimedOut, "first-byte-timed-out", "the server did not begin to answer in time"),
    (Reason::TotalTimedOut, "total-timed-out", "the answer did not end in time"),
    (Reason::TooSlow, "too-slow", "the answer came too slowly"),
    (Reason::ConnectionLost, "connection-lost", "the connection broke before the answer was complete"),
    (Reason::HeadTooLong, "head-too-long", "the head of the answer is too long"),
    (Reason::BadAnswer, "bad-answer", "the answer is not what the protocol demands"),
    (Reason::BadBody, "bad-body", "the body of the answer breaks the rules of its transfer"),
    (Reason::ProxyFailed, "proxy-failed", "the proxy refused or could not pass the request on"),
    (Reason::Refused, "refused", "the server answered that there is nothing for us"),
    (Reason::ServerTrouble, "server-trouble", "the server answered that it is in trouble"),
    (Reason::AskedToWait, "asked-to-wait", "the server asked us to come back later"),
    (Reason::NotModifiedUnasked, "not-modified-unasked", "the server answered that the page is as it was, which nobody had asked"),
];

impl Reason {
    /// All there are, by their codes.
    pub fn all() -> impl Iterator<Item = Reason> {
        ALL.iter().map(|(reason, ..)| *reason)
    }

    /// Its byte in a page's record; never 0, which stands for no reason.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// What a byte in a page's record stands for.
    pub fn from_code(code: u8) -> Option<Reason> {
        Reason::all().find(|reason| reason.code() == code)
    }

    /// Its name in tables and JSON.
    pub fn as_str(self) -> &'static str {
        self.row().1
    }

    fn row(self) -> &'static (Reason, &'static str, &'static str) {
        // Every variant is in the table; a test looks.
        ALL.iter().find(|(reason, ..)| *reason == self).unwrap_or(&ALL[0])
    }
}

/// As the end of a sentence: "not fetched: ...".
impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.row().2)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_and_names_are_unique_and_come_back() {
        let codes: BTreeSet<u8> = Reason::all().map(Reason::code).collect();
        let names: BTreeSet<&str> = Reason::all().map(Reason::as_str).collect();
        assert_eq!((codes.len(), names.len()), (ALL.len(), ALL.len()));
        assert!(!codes.contains(&0));
        for reason in Reason::all() {
            assert_eq!(Reason::from_code(reason.code()), Some(reason));
        }
        let known = (0..=255).filter_map(Reason::from_code).count();
        assert_eq!(known, ALL.len());
    }

    #[test]
    fn every_reason_is_documented() {
        let document = include_str!("../../../docs/crawling.md");
        for (reason, name, sentence) in ALL {
            let row = format!("| `{name}` | {}{}. |", sentence[..1].to_uppercase(), &sentence[1..]);
            assert!(document.contains(&row), "{reason:?} is not in docs/crawling.md: {row}");
        }
    }

    #[test]
    fn a_name_is_the_variants() {
        for reason in Reason::all() {
            let letters: String = reason.as_str().split('-').collect();
            assert_eq!(format!("{reason:?}").to_lowercase(), letters);
        }
    }
}
