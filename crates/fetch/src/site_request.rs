//! What does one site get in a request beyond what all sites get?

use crate::error::Error;
use crate::settings::Credentials;

/// Header lines that belong to the exchange itself.
const OWN_HEADERS: [&str; 9] = [
    "Host",
    "Connection",
    "Content-Length",
    "Transfer-Encoding",
    "TE",
    "Upgrade",
    "Accept-Encoding",
    "Proxy-Authorization",
    "Keep-Alive",
];

/// What one site gets, as the user wrote it.
#[derive(Debug, Clone, Default)]
pub struct SiteExtras {
    /// In place of the usual `User-Agent`.
    pub agent: Option<String>,
    /// More header lines, by name and value; they come in place of usual ones of the same name.
    pub headers: Vec<(String, String)>,
    /// `Cookie`, such as `a=1; b=2`.
    pub cookie: Option<String>,
    /// Basic authentication.
    pub credentials: Option<Credentials>,
}

/// What one site gets, checked. The default is nothing.
#[derive(Debug, Clone, Default)]
pub struct SiteRequest {
    pub(crate) headers: Vec<(String, String)>,
}

impl SiteRequest {
    /// What most sites get.
    pub const NOTHING: SiteRequest = SiteRequest { headers: Vec::new() };

    /// Refuses whatever would change the meaning of a request.
    pub fn new(extras: &SiteExtras) -> Result<SiteRequest, Error> {
        let mut headers = Vec::new();
        for (name, value) in &extras.headers {
            headers.push((checked_name(name)?, value.clone()));
        }
        let named = [("User-Agent", extras.agent.clone()), ("Cookie", extras.cookie.clone())];
        headers.extend(named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        if let Some(credentials) = &extras.credentials {
            headers.push(("Authorization".to_owned(), basic(credentials)?));
        }
        for (name, value) in &headers {
            check_value(name, value)?;
        }
        Ok(SiteRequest { headers })
    }

    /// Whether it has a line of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    }
}

/// The value of an `Authorization` line.
pub(crate) fn basic(credentials: &Credentials) -> Result<String, Error> {
    if credentials.user.contains(':') {
        return Err(Error::BadText { what: "a user name".to_owned(), why: "it has a colon" });
    }
    let pair = format!("{}:{}", credentials.user, credentials.password);
    Ok(format!("Basic {}", base64(pair.as_bytes())))
}

/// Refuses values that would end their line.
pub(crate) fn check_value(what: &str, value: &str) -> Result<(), Error> {
    let bad = |why| Err(Error::BadText { what: what.to_owned(), why });
    if value.is_empty() {
        return bad("it is empty");
    }
    if value.bytes().any(|byte| byte != b'\t' && byte.is_ascii_control()) {
        return bad("it has control characters");
    }
    Ok(())
}

fn checked_name(name: &str) -> Result<String, Error> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(Error::BadText { what: format!("the header name {name:?}"), why: "it is no token" });
    }
    if OWN_HEADERS.iter().any(|own| own.eq_ignore_ascii_case(name)) {
        return Err(Error::OwnHeader(name.to_owned()));
    }
    Ok(name.to_owned())
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let word =
            group.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let symbol = ALPHABET[(word >> (18 - 6 * place)) as usize & 63];
            out.push(if place <= group.len() { char::from(symbol) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
        assert_eq!(base64(&[0xff, 0xef, 0xbe]), "/+++");
    }

    #[test]
    fn lines_cannot_be_smuggled_in() {
        let with = |name: &str, value: &str| {
            SiteRequest::new(&SiteExtras {
                headers: vec![(name.to_owned(), value.to_owned())],
                ..SiteExtras::default()
            })
        };
        assert!(with("X-Key", "a b").is_ok());
        for (name, value) in
            [("X-Key", "a\r\nHost: b"), ("X-Key", "a\nb"), ("X:Key", "a"), ("", "a"), ("X", "")]
        {
            assert!(matches!(with(name, value), Err(Error::BadText { .. })), "{name:?}: {value:?}");
        }
        assert!(matches!(with("hOST", "a"), Err(Error::OwnHeader(_))));
        let extras = [
            SiteExtras { agent: Some("a\r\nb".to_owned()), ..SiteExtras::default() },
            SiteExtras { cookie: Some("a=1\nb".to_owned()), ..SiteExtras::default() },
            SiteExtras {
                credentials: Some(Credentials { user: "a:b".to_owned(), password: String::new() }),
                ..SiteExtras::default()
            },
        ];
        for extras in &extras {
            assert!(matches!(SiteRequest::new(extras), Err(Error::BadText { .. })), "{extras:?}");
        }
    }
}
