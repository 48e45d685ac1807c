//! Contact of the operator, required unless all seeds are on this machine.

use std::net::IpAddr;
use std::path::Path;

use model::CanonicalUrl;

use super::Settings;
use crate::exit::UsageError;

impl Settings {
    /// Checks that a contact is set, unless every seed is on this machine. `file` is the settings file.
    pub(crate) fn require_contact(&self, seeds: &[CanonicalUrl], file: &Path) -> Result<(), UsageError> {
        let file = file.display();
        if !self.crawl.contact.is_empty() {
            let invalid = |message| UsageError(format!("{file}: crawl.contact: {message}"));
            return checked_contact(&self.crawl.contact).map(drop).map_err(invalid);
        }
        let Some(seed) = seeds.iter().find(|seed| !self.is_local(seed.host())) else { return Ok(()) };
        Err(UsageError(format!(
            "crawl.contact is required to fetch from {}: set a contact URL or e-mail address in {file}, section [crawl], \
             such as contact = \"https://example.org/crawl\", or use --contact",
            seed.host()
        )))
    }

    /// Whether a host is this machine, without a DNS query: a loopback address, `localhost`, a name with a loopback
    /// address in `dns.hosts`, or a name below `test`, a reserved domain that only a local name server resolves.
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

/// Checks a contact. The error is a message for the user.
pub(crate) fn checked_contact(text: &str) -> Result<String, String> {
    if is_contact(text) {
        return Ok(text.to_owned());
    }
    Err(format!("invalid contact `{text}`; examples: \"https://example.org/crawl\", \"crawl@example.org\""))
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
    fn seeds_on_this_machine_need_no_contact() {
        let local =
            ["http://127.1.2.3:80/", "http://[::1]/", "http://localhost:8080/", "http://a.localhost/"];
        assert_eq!(verdict("", &local), Ok(()));
        assert_eq!(verdict("", &[]), Ok(()));
        assert_eq!(verdict("[dns]\nhosts = { 'a.example' = '127.0.0.9' }", &["http://a.example/"]), Ok(()));
        assert_eq!(verdict("[dns]\nservers = ['127.0.0.1:8053']", &["http://a.test/"]), Ok(()));
    }

    #[test]
    fn seeds_on_other_machines_need_a_contact() {
        let far = ["http://example.org/", "http://192.0.2.1/", "http://a.test/", "http://notlocalhost/"];
        for seed in far {
            let message = verdict("", &["http://127.0.0.1/", seed]).unwrap_err();
            assert!(message.contains("contact = \"https://example.org/crawl\""), "{message}");
            assert!(message.contains("in web/weir.toml"), "{message}");
            assert_eq!(verdict("[crawl]\ncontact = 'https://example.org/'", &[seed]), Ok(()));
            assert_eq!(verdict("[crawl]\ncontact = 'me@example.org'", &[seed]), Ok(()));
        }
        let servers = "[dns]\nservers = ['127.0.0.1', '192.0.2.53']";
        assert!(verdict(servers, &["http://a.test/"]).is_err(), "a remote name server may resolve any name");
        assert!(verdict("[dns]\nservers = ['127.0.0.1']", &["http://example.org/"]).is_err());
        for contact in ["me", "ftp://example.org/", "me@home", "@example.org", "me @example.org"] {
            let message =
                verdict(&format!("[crawl]\ncontact = '{contact}'"), &["http://localhost/"]).unwrap_err();
            assert!(message.contains("invalid contact"), "{message}");
        }
    }
}
