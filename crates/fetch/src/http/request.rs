//! Writer of HTTP/1.1 request heads.

use crate::error::Error;
use crate::fetch_request::FetchRequest;
use crate::mime_types::MimeTypes;
use crate::settings::FetchSettings;
use crate::site_headers::{check_value, is_secret};

/// Content encodings that the parser can decode.
const ACCEPTED_ENCODINGS: &str = "gzip, deflate, br, zstd";
/// Maximum length of an entity tag or date; longer ones are not sent.
const MAX_VALIDATOR_BYTES: usize = 1 << 10;
/// Value of a stored header in place of a secret.
pub(crate) const REDACTED: &str = "[redacted]";

/// Writes request heads.
#[derive(Debug)]
pub(crate) struct RequestWriter {
    /// Headers sent to all sites, unless a site overrides them.
    headers: Vec<(&'static str, String)>,
    accept: String,
}

/// Form of the request target (RFC 9112, section 3.2).
#[derive(Debug, Clone, Copy)]
pub(crate) enum RequestTarget<'f> {
    /// Path and query, for the server itself.
    Origin,
    /// Complete URL, for a proxy, with the `Proxy-Authorization`.
    Absolute { authorization: Option<&'f str> },
}

/// Values of headers that may be credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderValues {
    /// As they are sent.
    Sent,
    /// Replaced by [`REDACTED`], for storage; `Proxy-Authorization` is left out.
    Redacted,
}

impl RequestWriter {
    pub(crate) fn new(settings: &FetchSettings, types: &MimeTypes) -> Result<RequestWriter, Error> {
        check_value("User-Agent", &settings.user_agent)?;
        let mut headers = vec![("User-Agent", settings.user_agent.clone())];
        for (name, value) in [("From", &settings.from), ("Accept-Language", &settings.accept_language)] {
            if !value.is_empty() {
                check_value(name, value)?;
                headers.push((name, value.clone()));
            }
        }
        let accept = types.accept_header();
        check_value("Accept (the list of MIME types)", &accept)?;
        Ok(RequestWriter { headers, accept })
    }

    /// Head of a request, including its blank line.
    pub(crate) fn write(
        &self,
        request: &FetchRequest<'_>,
        form: RequestTarget<'_>,
        values: HeaderValues,
    ) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        let authority = &request.url.site()[request.url.scheme().as_str().len() + "://".len()..];
        let target = match form {
            RequestTarget::Origin => request.url.path_and_query(),
            RequestTarget::Absolute { .. } => request.url.as_str(),
        };
        for part in ["GET ", target, " HTTP/1.1\r\nHost: ", authority, "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        for (name, value) in self.headers.iter().filter(|(name, _)| !request.site_headers.has(name)) {
            write_header(&mut out, name, value);
        }
        if !request.site_headers.has("Accept") {
            write_header(&mut out, "Accept", if request.any_mime_type { "*/*" } else { &self.accept });
        }
        write_header(&mut out, "Accept-Encoding", ACCEPTED_ENCODINGS);
        for (name, value) in &request.site_headers.headers {
            let is_redacted = values == HeaderValues::Redacted && is_secret(name);
            write_header(&mut out, name, if is_redacted { REDACTED } else { value });
        }
        for (name, value) in
            [("If-None-Match", request.if_none_match), ("If-Modified-Since", request.if_modified_since)]
        {
            // Validators come from a server: a line break in one would inject a header.
            if let Some(value) =
                value.filter(|value| value.len() <= MAX_VALIDATOR_BYTES && check_value(name, value).is_ok())
            {
                write_header(&mut out, name, value);
            }
        }
        if let (RequestTarget::Absolute { authorization: Some(authorization) }, HeaderValues::Sent) =
            (form, values)
        {
            write_header(&mut out, "Proxy-Authorization", authorization);
        }
        out.extend_from_slice(b"Connection: keep-alive\r\n\r\n");
        out
    }
}

fn write_header(out: &mut Vec<u8>, name: &str, value: &str) {
    for part in [name, ": ", value, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}
