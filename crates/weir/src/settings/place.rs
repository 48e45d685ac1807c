//! How does somebody name a place on the net in a setting? Endings of host names, sites, networks, name servers, headers.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use model::{CanonicalUrl, Scheme, UrlRules};

use super::value::{Value, quoted, words};

/// The end of host names: `.example.org` stands for that host and all below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Suffix(pub(crate) String);

impl Value for Suffix {
    const KIND: &'static str = "ending of hosts";

    fn read(written: &toml::Value) -> Result<Suffix, String> {
        let suffix = written.as_str().and_then(suffix);
        let wrong =
            || format!("{} is no ending of a host name; write one such as \".example.org\"", quoted(written));
        suffix.map(Suffix).ok_or_else(wrong)
    }

    fn write(&self) -> String {
        self.0.write()
    }
}

fn suffix(text: &str) -> Option<String> {
    host(text.trim().trim_start_matches("*.").trim_start_matches('.')).map(|host| format!(".{host}"))
}

/// A host name or address in its canonical form.
fn host(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || text.contains(['/', '?', '#', '@', '\\']) {
        return None;
    }
    // A colon is a port, unless it is an address of the sixth version.
    let is_address = text.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6());
    let text = if is_address { format!("[{text}]") } else { text.to_owned() };
    if text.contains(':') && !text.starts_with('[') {
        return None;
    }
    let url = UrlRules::default().canonical(&format!("http://{text}/")).ok()?;
    Some(url.host().to_owned())
}

/// Which sites an entry is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SiteMatch {
    /// The sites of one host.
    Host(String),
    /// The sites of all hosts with this ending.
    Suffix(String),
    /// The sites whose SURT form begins so: `org,example,` or `org,example:8080)`.
    Surt(String),
}

impl SiteMatch {
    /// The narrowest that means the site of this URL.
    pub(crate) fn of(url: &CanonicalUrl) -> SiteMatch {
        if url.port() == url.scheme().default_port() {
            return SiteMatch::Host(url.host().to_owned());
        }
        let surt = url.surt();
        SiteMatch::Surt(surt.split_inclusive(')').next().unwrap_or(&surt).to_owned())
    }
}

impl Default for SiteMatch {
    /// Every site.
    fn default() -> SiteMatch {
        SiteMatch::Surt(String::new())
    }
}

impl Value for SiteMatch {
    const KIND: &'static str = "host, ending or SURT prefix";

    fn read(written: &toml::Value) -> Result<SiteMatch, String> {
        let wrong = || {
            format!(
                "{} names no site; write a host such as \"www.example.org\", an ending such as \".example.org\", or the \
                 start of a SURT such as \"org,example,\"",
                quoted(written)
            )
        };
        let text = written.as_str().map(str::trim).filter(|text| !text.is_empty()).ok_or_else(wrong)?;
        let found = if text.contains([',', ')']) {
            let is_surt = text.is_ascii() && !text.contains("://") && !text.contains(char::is_whitespace);
            is_surt.then(|| SiteMatch::Surt(text.to_ascii_lowercase()))
        } else if text.starts_with('.') || text.starts_with("*.") {
            suffix(text).map(SiteMatch::Suffix)
        } else {
            host(text).map(SiteMatch::Host)
        };
        found.ok_or_else(wrong)
    }

    fn write(&self) -> String {
        let (SiteMatch::Host(text) | SiteMatch::Suffix(text) | SiteMatch::Surt(text)) = self;
        text.write()
    }
}

words!(
    Scheme,
    "protocol",
    Scheme::Http = "http",
    Scheme::Https = "https",
    Scheme::Ftp = "ftp",
    Scheme::Gopher = "gopher"
);

/// An address, or a network of addresses that begin alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    pub(crate) address: IpAddr,
    /// How many bits they have in common.
    pub(crate) bits: u8,
}

impl fmt::Display for Network {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.address, self.bits)
    }
}

impl Value for Network {
    const KIND: &'static str = "network";

    fn read(written: &toml::Value) -> Result<Network, String> {
        let wrong = || {
            format!(
                "{} is no network; write an address such as \"192.0.2.7\" or a network such as \"192.0.2.0/24\"",
                quoted(written)
            )
        };
        let text = written.as_str().ok_or_else(wrong)?.trim();
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
        if bits <= most { Ok(Network { address, bits }) } else { Err(wrong()) }
    }

    fn write(&self) -> String {
        self.to_string().write()
    }
}

/// A name server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NameServer(pub(crate) SocketAddr);

impl Value for NameServer {
    const KIND: &'static str = "address";

    fn read(written: &toml::Value) -> Result<NameServer, String> {
        let wrong = || {
            format!(
                "{} is no address; write one such as \"127.0.0.1\" or, with a port, \"127.0.0.1:5353\"",
                quoted(written)
            )
        };
        let text = written.as_str().ok_or_else(wrong)?.trim();
        let bare = text.parse().map(|address: IpAddr| SocketAddr::new(address, DNS_PORT));
        bare.or_else(|_| text.parse()).map(NameServer).map_err(|_| wrong())
    }

    fn write(&self) -> String {
        if self.0.port() == DNS_PORT { self.0.ip().to_string().write() } else { self.0.to_string().write() }
    }
}

const DNS_PORT: u16 = 53;

/// Names whose addresses are not asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HostMap(pub(crate) BTreeMap<String, IpAddr>);

impl Value for HostMap {
    const KIND: &'static str = "addresses by host";

    fn read(written: &toml::Value) -> Result<HostMap, String> {
        let table = written.as_table();
        let table = table.ok_or_else(|| {
            format!(
                "{} is no table; write one such as {{ \"www.example.org\" = \"192.0.2.7\" }}",
                quoted(written)
            )
        })?;
        let entry = |(name, address): (&String, &toml::Value)| {
            let host = host(name).ok_or_else(|| format!("`{name}` is no host name"))?;
            let parsed = address.as_str().and_then(|address| address.parse().ok());
            let wrong =
                || format!("{} is no address of {name}; write one such as \"192.0.2.7\"", quoted(address));
            Ok((host, parsed.ok_or_else(wrong)?))
        };
        table.iter().map(entry).collect::<Result<_, _>>().map(HostMap)
    }

    fn write(&self) -> String {
        let entries: Vec<String> =
            self.0.iter().map(|(host, address)| format!("{} = \"{address}\"", host.write())).collect();
        if entries.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", entries.join(", ")) }
    }
}

/// A line of a request's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Headers that say how the request is sent, which is not for settings to say.
const RESERVED: [&str; 8] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "user-agent",
    "from",
    "accept-encoding",
    "te",
];

impl Value for Header {
    const KIND: &'static str = "header";

    fn read(written: &toml::Value) -> Result<Header, String> {
        let wrong = || {
            format!(
                "{} is no header; write a name, a colon and a value, such as \"X-Purpose: research\"",
                quoted(written)
            )
        };
        let (name, value) = written.as_str().and_then(|text| text.split_once(':')).ok_or_else(wrong)?;
        let (name, value) = (name.trim(), value.trim());
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty()
            || !name.bytes().all(is_token)
            || value.bytes().any(|byte| !(b' '..0x7f).contains(&byte))
        {
            return Err(wrong());
        }
        if RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(name)) {
            return Err(format!("the header {name} is not set here; Weir writes it itself"));
        }
        Ok(Header { name: name.to_owned(), value: value.to_owned() })
    }

    fn write(&self) -> String {
        format!("{}: {}", self.name, self.value).write()
    }
}

/// A name and a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) password: String,
}

impl Login {
    /// Of `name:password`.
    pub(crate) fn of(text: &str) -> Option<Login> {
        let (user, password) = text.split_once(':')?;
        (!user.is_empty()).then(|| Login { user: user.to_owned(), password: password.to_owned() })
    }
}

impl Value for Login {
    const KIND: &'static str = "login";

    fn read(written: &toml::Value) -> Result<Login, String> {
        // What was written may be a password: it is not repeated.
        let wrong =
            || "this is no login; write a name, a colon and a password, such as \"guest:welcome\"".to_owned();
        written.as_str().and_then(Login::of).ok_or_else(wrong)
    }

    fn write(&self) -> String {
        format!("{}:{}", self.user, self.password).write()
    }
}
