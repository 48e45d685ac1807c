//! Additional request headers of one site: own `User-Agent`, cookies, credentials.

use std::fmt;

use model::base64;

use crate::error::Error;
use crate::settings::BasicCredentials;

/// Headers that the HTTP client sets itself.
const RESERVED_HEADERS: [&str; 9] = [
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

/// Headers from the settings whose values are stored with requests. All others may be credentials (`Authorization`, `Cookie`,
/// `X-Api-Key`).
const PUBLIC_HEADERS: [&str; 7] =
    ["User-Agent", "From", "Accept", "Accept-Language", "Referer", "Cache-Control", "DNT"];

/// Additional headers of one site, as configured.
#[derive(Clone, Default)]
pub struct SiteRequestSettings {
    /// `User-Agent` that replaces the general one.
    pub user_agent: Option<String>,
    /// Other headers, as name and value; they replace general headers of the same name.
    pub headers: Vec<(String, String)>,
    /// `Cookie`, such as `a=1; b=2`.
    pub cookie: Option<String>,
    /// Credentials for HTTP Basic authentication.
    pub credentials: Option<BasicCredentials>,
}

/// Additional headers of one site, checked. The default has none.
#[derive(Clone, Default)]
pub struct SiteHeaders {
    pub(crate) headers: Vec<(String, String)>,
}

impl SiteHeaders {
    /// No additional headers.
    pub const NONE: SiteHeaders = SiteHeaders { headers: Vec::new() };

    /// Checks the settings: rejects reserved headers and values that would break the request.
    pub fn new(settings: &SiteRequestSettings) -> Result<SiteHeaders, Error> {
        let mut headers = Vec::new();
        for (name, value) in &settings.headers {
            headers.push((check_header_name(name)?, value.clone()));
        }
        let named = [("User-Agent", settings.user_agent.clone()), ("Cookie", settings.cookie.clone())];
        headers.extend(named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        if let Some(credentials) = &settings.credentials {
            headers.push(("Authorization".to_owned(), basic_authorization(credentials)?));
        }
        for (name, value) in &headers {
            check_value(name, value)?;
        }
        Ok(SiteHeaders { headers })
    }

    /// Whether a header may have a secret as its value.
    pub(crate) fn has_secrets(&self) -> bool {
        self.headers.iter().any(|(name, _)| is_secret(name))
    }

    /// Whether there is a header of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    }
}

// Secrets must not appear in logs: only the names of headers are shown.
impl fmt::Debug for SiteRequestSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        out.debug_struct("SiteRequestSettings")
            .field("user_agent", &self.user_agent)
            .field("headers", &names)
            .field("has_cookie", &self.cookie.is_some())
            .field("credentials", &self.credentials)
            .finish()
    }
}

impl fmt::Debug for SiteHeaders {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.headers.iter().map(|(name, _)| name)).finish()
    }
}

/// Whether the value of a header from the settings may be a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    !PUBLIC_HEADERS.iter().any(|public| public.eq_ignore_ascii_case(name))
}

/// Value of an `Authorization` header for Basic authentication (RFC 7617).
pub(crate) fn basic_authorization(credentials: &BasicCredentials) -> Result<String, Error> {
    if credentials.user.contains(':') {
        return Err(Error::InvalidValue { name: "the user name".to_owned(), problem: "it contains a colon" });
    }
    let pair = format!("{}:{}", credentials.user, credentials.password);
    Ok(format!("Basic {}", base64(pair.as_bytes())))
}

/// Checks that a header value is not empty and cannot end its line.
pub(crate) fn check_value(name: &str, value: &str) -> Result<(), Error> {
    let invalid = |problem| Err(Error::InvalidValue { name: name.to_owned(), problem });
    if value.is_empty() {
        return invalid("the value is empty");
    }
    if value.bytes().any(|byte| byte != b'\t' && byte.is_ascii_control()) {
        return invalid("the value contains control characters");
    }
    Ok(())
}

fn check_header_name(name: &str) -> Result<String, Error> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(Error::InvalidValue {
            name: format!("the header {name:?}"),
            problem: "the name is not a token of RFC 9110",
        });
    }
    if RESERVED_HEADERS.iter().any(|reserved| reserved.eq_ignore_ascii_case(name)) {
        return Err(Error::ReservedHeader(name.to_owned()));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_part_of_debug_output() {
        let settings = SiteRequestSettings {
            headers: vec![("X-Api-Key".to_owned(), "secret1".to_owned())],
            cookie: Some("a=secret2".to_owned()),
            credentials: Some(BasicCredentials { user: "a".to_owned(), password: "secret3".to_owned() }),
            ..SiteRequestSettings::default()
        };
        let text = format!("{settings:?} {:?}", SiteHeaders::new(&settings).unwrap());
        assert!(
            !text.contains("secret") && text.contains("X-Api-Key") && text.contains("Authorization"),
            "{text}"
        );
    }

    #[test]
    fn settings_cannot_inject_header_lines() {
        let with = |name: &str, value: &str| {
            SiteHeaders::new(&SiteRequestSettings {
                headers: vec![(name.to_owned(), value.to_owned())],
                ..SiteRequestSettings::default()
            })
        };
        assert!(with("X-Key", "a b").is_ok());
        for (name, value) in
            [("X-Key", "a\r\nHost: b"), ("X-Key", "a\nb"), ("X:Key", "a"), ("", "a"), ("X", "")]
        {
            assert!(matches!(with(name, value), Err(Error::InvalidValue { .. })), "{name:?}: {value:?}");
        }
        assert!(matches!(with("hOST", "a"), Err(Error::ReservedHeader(_))));
        let invalid = [
            SiteRequestSettings { user_agent: Some("a\r\nb".to_owned()), ..SiteRequestSettings::default() },
            SiteRequestSettings { cookie: Some("a=1\nb".to_owned()), ..SiteRequestSettings::default() },
            SiteRequestSettings {
                credentials: Some(BasicCredentials { user: "a:b".to_owned(), password: String::new() }),
                ..SiteRequestSettings::default()
            },
        ];
        for settings in &invalid {
            assert!(matches!(SiteHeaders::new(settings), Err(Error::InvalidValue { .. })), "{settings:?}");
        }
    }
}
