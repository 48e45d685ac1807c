//! Network values of settings: host suffixes, site patterns, networks, name servers, headers, credentials.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use model::{CanonicalUrl, Scheme, UrlRules};

use super::value::{Value, choices, quoted};

/// Canonical form of a rule for a host or a domain (`*.Bücher.example`, `Example.org`); `None` for other kinds of rules.
pub(crate) fn host_rule(text: &str) -> Option<String> {
    let bare = text.strip_prefix("*.").or(text.strip_prefix('.')).unwrap_or(text);
    if bare.contains(['*', '$', '/', ',', ')', '=', '&', '~', '?'])
        || !bare.contains(['.', ':']) && bare.len() == text.len()
    {
        return None;
    }
    if bare.len() < text.len() { suffix(text) } else { host(text) }
}

fn suffix(text: &str) -> Option<String> {
    host(text.trim().trim_start_matches("*.").trim_start_matches('.')).map(|host| format!(".{host}"))
}

/// Canonical form of a host name or IP address.
fn host(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || text.contains(['/', '?', '#', '@', '\\']) {
        return None;
    }
    // A colon separates a port, except in an IPv6 address.
    let is_ipv6 = text.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6());
    let text = if is_ipv6 { format!("[{text}]") } else { text.to_owned() };
    if text.contains(':') && !text.starts_with('[') {
        return None;
    }
    let url = UrlRules::default().canonical(&format!("http://{text}/")).ok()?;
    Some(url.host().to_owned())
}

/// Pattern of the sites that a `[[site]]` entry applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SiteMatch {
    /// All sites of a host.
    Host(String),
    /// All sites of the hosts with this suffix.
    Suffix(String),
    /// All sites whose SURT form has this prefix: `org,example,` or `org,example:8080)`.
    Surt(String),
}

impl SiteMatch {
    /// The narrowest pattern that matches the site of a URL.
    pub(crate) fn from_url(url: &CanonicalUrl) -> SiteMatch {
        if url.port() == url.scheme().default_port() {
            return SiteMatch::Host(url.host().to_owned());
        }
        let surt = url.surt();
        SiteMatch::Surt(surt.split_inclusive(')').next().unwrap_or(&surt).to_owned())
    }
}

impl Default for SiteMatch {
    /// Matches every site.
    fn default() -> SiteMatch {
        SiteMatch::Surt(String::new())
    }
}

impl Value for SiteMatch {
    const KIND: &'static str = "host, host suffix or SURT prefix";

    fn read(written: &toml::Value) -> Result<SiteMatch, String> {
        let invalid = || {
            format!(
                "invalid site pattern {}; examples: \"www.example.org\", \".example.org\", \"org,example,\" (SURT prefix)",
                quoted(written)
            )
        };
        let text = written.as_str().map(str::trim).filter(|text| !text.is_empty()).ok_or_else(invalid)?;
        let pattern = if text.contains([',', ')']) {
            let is_surt = text.is_ascii() && !text.contains("://") && !text.contains(char::is_whitespace);
            is_surt.then(|| SiteMatch::Surt(text.to_ascii_lowercase()))
        } else if text.starts_with('.') || text.starts_with("*.") {
            suffix(text).map(SiteMatch::Suffix)
        } else {
            host(text).map(SiteMatch::Host)
        };
        pattern.ok_or_else(invalid)
    }

    fn write(&self) -> String {
        let (SiteMatch::Host(text) | SiteMatch::Suffix(text) | SiteMatch::Surt(text)) = self;
        text.write()
    }
}

choices!(
    Scheme,
    "scheme",
    Scheme::Http = "http",
    Scheme::Https = "https",
    Scheme::Ftp = "ftp",
    Scheme::Gopher = "gopher"
);

/// IP network in CIDR notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    pub(crate) address: IpAddr,
    /// Prefix length.
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
        let invalid =
            || format!("invalid network {}; examples: \"192.0.2.7\", \"192.0.2.0/24\"", quoted(written));
        let text = written.as_str().ok_or_else(invalid)?.trim();
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| invalid())?;
        let max_bits = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(max_bits), str::parse).map_err(|_| invalid())?;
        if bits <= max_bits { Ok(Network { address, bits }) } else { Err(invalid()) }
    }

    fn write(&self) -> String {
        self.to_string().write()
    }
}

/// Name server: IP address and port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NameServer(pub(crate) SocketAddr);

impl Value for NameServer {
    const KIND: &'static str = "IP address";

    fn read(written: &toml::Value) -> Result<NameServer, String> {
        let invalid =
            || format!("invalid IP address {}; examples: \"127.0.0.1\", \"127.0.0.1:5353\"", quoted(written));
        let text = written.as_str().ok_or_else(invalid)?.trim();
        let bare = text.parse().map(|address: IpAddr| SocketAddr::new(address, DNS_PORT));
        bare.or_else(|_| text.parse()).map(NameServer).map_err(|_| invalid())
    }

    fn write(&self) -> String {
        if self.0.port() == DNS_PORT { self.0.ip().to_string().write() } else { self.0.to_string().write() }
    }
}

const DNS_PORT: u16 = 53;

/// Static addresses of hosts, which are not resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HostMap(pub(crate) BTreeMap<String, IpAddr>);

impl Value for HostMap {
    const KIND: &'static str = "table of IP addresses";

    fn read(written: &toml::Value) -> Result<HostMap, String> {
        let table = written.as_table();
        let table = table.ok_or_else(|| {
            format!("invalid table {}; example: {{ \"www.example.org\" = \"192.0.2.7\" }}", quoted(written))
        })?;
        let entry = |(name, address): (&String, &toml::Value)| {
            let host = host(name).ok_or_else(|| format!("invalid host name `{name}`"))?;
            let parsed = address.as_str().and_then(|address| address.parse().ok());
            let invalid =
                || format!("invalid IP address {} of {name}; example: \"192.0.2.7\"", quoted(address));
            Ok((host, parsed.ok_or_else(invalid)?))
        };
        table.iter().map(entry).collect::<Result<_, _>>().map(HostMap)
    }

    fn write(&self) -> String {
        let entries: Vec<String> =
            self.0.iter().map(|(host, address)| format!("{} = \"{address}\"", host.write())).collect();
        if entries.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", entries.join(", ")) }
    }
}

/// Request header field.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Headers that the HTTP client sets itself: framing, connection handling and identity.
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
        // The message does not quote the value, which may be a secret.
        let invalid = || "invalid header; example: \"X-Purpose: research\"".to_owned();
        let (name, value) = written.as_str().and_then(|text| text.split_once(':')).ok_or_else(invalid)?;
        let (name, value) = (name.trim(), value.trim());
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty()
            || !name.bytes().all(is_token)
            || value.bytes().any(|byte| !(b' '..0x7f).contains(&byte))
        {
            return Err(invalid());
        }
        if RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(name)) {
            return Err(format!("the header {name} cannot be set: Weir sets it itself"));
        }
        Ok(Header { name: name.to_owned(), value: value.to_owned() })
    }

    fn write(&self) -> String {
        format!("{}: {}", self.name, self.value).write()
    }
}

/// User name and password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct BasicAuth {
    pub(crate) user: String,
    pub(crate) password: String,
}

// Secrets must not appear in logs.
impl fmt::Debug for Header {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Header").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for BasicAuth {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("BasicAuth").field("user", &self.user).finish_non_exhaustive()
    }
}

impl BasicAuth {
    /// Parses `user:password`.
    pub(crate) fn parse(text: &str) -> Option<BasicAuth> {
        let (user, password) = text.split_once(':')?;
        (!user.is_empty()).then(|| BasicAuth { user: user.to_owned(), password: password.to_owned() })
    }
}

impl Value for BasicAuth {
    const KIND: &'static str = "user:password";

    fn read(written: &toml::Value) -> Result<BasicAuth, String> {
        // The message does not quote the value, which may be a password.
        let invalid = || "invalid credentials; example: \"user:password\"".to_owned();
        written.as_str().and_then(BasicAuth::parse).ok_or_else(invalid)
    }

    fn write(&self) -> String {
        format!("{}:{}", self.user, self.password).write()
    }
}
