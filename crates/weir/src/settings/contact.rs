//! May a crawl start without saying whom to turn to? Only if all it asks is this machine.

use std::net::IpAddr;
use std::path::Path;

use model::CanonicalUrl;

use super::Settings;
use crate::failure::WrongUse;

impl Settings {
    /// Requires a way to reach whoever runs the crawl, unless every seed is on this machine.
    /// `file` is where it is written.
    pub(crate) fn require_contact(&self, seeds: &[CanonicalUrl], file: &Path) -> Result<(), WrongUse> {
        let file = file.display();
        if !self.crawl.contact.is_empty() {
            let wrong = |what| WrongUse(format!("{file}: crawl.contact: {what}"));
            return checked_contact(&self.crawl.contact).map(drop).map_err(wrong);
        }
        let Some(seed) = seeds.iter().find(|seed| !self.is_local(seed.host())) else { return Ok(()) };
        Err(WrongUse(format!(
            "whoever runs {} must be able to reach you: write your web page or mail address into {file}, in section \
             [crawl], such as contact = \"https://example.org/crawl\", or give --contact",
            seed.host()
        )))
    }

    /// Whether a host is this machine, as far as can be told without asking: its address, `localhost`, a name with an
    /// address in the settings, or a name below `test`, which exists nowhere but with a name server of this machine.
    fn is_local(&self, host: &str) -> bool {
        let servers = &self.dns.servers;
        let own_servers = !servers.is_empty() && servers.iter().all(|server| server.0.ip().is_loopback());
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>().ok();
        match address.or_else(|| self.dns.hosts.0.get(host).copied()) {
            Some(address) => address.to_canonical().is_loopback(),
            None => {
                let below = |name: &str| {
                    host == name || host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'))
                };
                below("localhost") || (below("test") && own_servers)
            }
        }
    }
}

/// A web page or a mail address, or a sentence about what to write.
pub(crate) fn checked_contact(text: &str) -> Result<String, String> {
    if is_contact(text) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "`{text}` is neither the URL of a web page nor a mail address; write one such as \"https://example.org/crawl\" or \
         \"crawl@example.org\""
    ))
}

fn is_contact(text: &str) -> bool {
    let is_page = || {
        let url = model::UrlRules::default().canonical(text);
        url.is_ok_and(|url| matches!(url.scheme(), model::Scheme::Http | model::Scheme::Https))
    };
    let is_mail = |(user, host): (&str, &str)| {
        !user.is_empty()
            && host.contains('.')
            && !text.contains(|c: char| c.is_whitespace() || "<>()/".contains(c))
    };
    let mail = text.strip_prefix("mailto:").unwrap_or(text);
    is_page() || mail.split_once('@').is_some_and(is_mail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(settings: &str, seeds: &[&str]) -> Result<(), String> {
        let rules = model::UrlRules::default();
        let seeds: Vec<CanonicalUrl> = seeds.iter().map(|seed| rules.canonical(seed).unwrap()).collect();
        Settings::parse(settings)
            .unwrap()
            .require_contact(&seeds, Path::new("web/weir.toml"))
            .map_err(|wrong| wrong.0)
    }

    #[test]
    fn this_machine_needs_no_contact() {
        let local =
            ["http://127.1.2.3:80/", "http://[::1]/", "http://localhost:8080/", "http://a.localhost/"];
        assert_eq!(verdict("", &local), Ok(()));
        assert_eq!(verdict("", &[]), Ok(()));
        assert_eq!(verdict("[dns]\nhosts = { 'a.example' = '127.0.0.9' }", &["http://a.example/"]), Ok(()));
        assert_eq!(verdict("[dns]\nservers = ['127.0.0.1:8053']", &["http://a.test/"]), Ok(()));
    }

    #[test]
    fn others_do() {
        let far = ["http://example.org/", "http://192.0.2.1/", "http://a.test/", "http://notlocalhost/"];
        for seed in far {
            let sentence = verdict("", &["http://127.0.0.1/", seed]).unwrap_err();
            assert!(sentence.contains("contact = \"https://example.org/crawl\""), "{sentence}");
            assert!(sentence.contains("into web/weir.toml"), "{sentence}");
            assert_eq!(verdict("[crawl]\ncontact = 'https://example.org/'", &[seed]), Ok(()));
            assert_eq!(verdict("[crawl]\ncontact = 'me@example.org'", &[seed]), Ok(()));
        }
        let servers = "[dns]\nservers = ['127.0.0.1', '192.0.2.53']";
        assert!(verdict(servers, &["http://a.test/"]).is_err(), "a name server elsewhere may know any name");
        assert!(verdict("[dns]\nservers = ['127.0.0.1']", &["http://example.org/"]).is_err());
        for contact in ["me", "ftp://example.org/", "me@home", "@example.org", "me @example.org"] {
            let sentence =
                verdict(&format!("[crawl]\ncontact = '{contact}'"), &["http://localhost/"]).unwrap_err();
            assert!(sentence.contains("neither"), "{sentence}");
        }
    }
}
