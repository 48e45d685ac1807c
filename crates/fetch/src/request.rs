//! What does the crawler say when it asks?

use crate::error::Error;
use crate::job::FetchJob;
use crate::media_types::MediaTypes;
use crate::settings::FetchSettings;
use crate::site_request::check_value;

/// Content encodings that the parser undoes.
const ENCODINGS: &str = "gzip, deflate, br, zstd";
/// Longer tags and dates are not worth sending.
const CONDITION_LIMIT_BYTES: usize = 1 << 10;

/// Writes heads of requests.
#[derive(Debug)]
pub(crate) struct RequestWriter {
    /// Lines that all sites get, unless they have their own.
    lines: Vec<(&'static str, String)>,
    accept: String,
}

/// What a request line asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form<'f> {
    /// The path, from the server itself.
    Origin,
    /// The whole URL, from a proxy, and who we are to it.
    Absolute { authorization: Option<&'f str> },
}

impl RequestWriter {
    pub(crate) fn new(settings: &FetchSettings, types: &MediaTypes) -> Result<RequestWriter, Error> {
        check_value("the agent", &settings.agent)?;
        let mut lines = vec![("User-Agent", settings.agent.clone())];
        for (name, value) in [("From", &settings.from), ("Accept-Language", &settings.accept_language)] {
            if !value.is_empty() {
                check_value(name, value)?;
                lines.push((name, value.clone()));
            }
        }
        let accept = types.accept();
        check_value("the media types", &accept)?;
        Ok(RequestWriter { lines, accept })
    }

    /// The head of a request, with the empty line that ends it.
    pub(crate) fn write(&self, job: &FetchJob<'_>, form: Form<'_>) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        let authority = &job.url.site()[job.url.scheme().as_str().len() + "://".len()..];
        let target = match form {
            Form::Origin => job.url.path_and_query(),
            Form::Absolute { .. } => job.url.as_str(),
        };
        for part in ["GET ", target, " HTTP/1.1\r\nHost: ", authority, "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        for (name, value) in self.lines.iter().filter(|(name, _)| !job.extra.has(name)) {
            line(&mut out, name, value);
        }
        if !job.extra.has("Accept") {
            line(&mut out, "Accept", if job.any_media_type { "*/*" } else { &self.accept });
        }
        line(&mut out, "Accept-Encoding", ENCODINGS);
        for (name, value) in &job.extra.headers {
            line(&mut out, name, value);
        }
        for (name, value) in
            [("If-None-Match", job.if_none_match), ("If-Modified-Since", job.if_modified_since)]
        {
            // They come from a server, who may have put anything in them.
            if let Some(value) =
                value.filter(|value| value.len() <= CONDITION_LIMIT_BYTES && check_value(name, value).is_ok())
            {
                line(&mut out, name, value);
            }
        }
        if let Form::Absolute { authorization: Some(authorization) } = form {
            line(&mut out, "Proxy-Authorization", authorization);
        }
        out.extend_from_slice(b"Connection: keep-alive\r\n\r\n");
        out
    }
}

fn line(out: &mut Vec<u8>, name: &str, value: &str) {
    for part in [name, ": ", value, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}
