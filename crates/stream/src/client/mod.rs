//! Client for the stream of a remote server, over HTTP; after a disconnect it resumes at the byte offset reached.
//!
//! Only for `weir serve`, not a general HTTP client.

mod connection;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::time::Duration;

use url::Url;

use crate::query::stream_query::StreamQuery;
use connection::{Endpoint, certificate_error};

/// Timeout of connecting, reading and writing.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of consecutive attempts without progress.
const MAX_RECONNECTS: u32 = 8;
/// Delay before the first reconnect; doubled for each further one.
const INITIAL_BACK_OFF: Duration = Duration::from_millis(250);
/// Maximum length of a line of the response head, and of an error body.
const MAX_HEAD_BYTES: u64 = 64 << 10;
/// Size of the read buffer.
const BUFFER_BYTES: usize = 64 << 10;

/// Stream of a remote server.
pub struct RemoteStream {
    host: String,
    endpoint: Endpoint,
    path: String,
    token: Option<String>,
    query: StreamQuery,
}

/// Credentials and trusted certificates for a remote server.
#[derive(Debug, Clone, Default)]
pub struct RemoteAccess {
    /// Access token.
    pub token: Option<String>,
    /// PEM data with additional CA certificates.
    pub ca_pem: Vec<u8>,
}

/// Errors of a remote stream.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The URL is invalid.
    #[error("invalid server URL `{url}`: {cause}")]
    InvalidUrl {
        /// As given.
        url: String,
        /// Cause.
        cause: String,
    },
    /// The server rejected the request.
    #[error("{host} rejected the request: HTTP {status}: {message}")]
    Rejected {
        /// Host name and port.
        host: String,
        /// HTTP status.
        status: u16,
        /// Message of the server.
        message: String,
    },
    /// The certificate of the server is not trusted.
    #[error("TLS certificate of {host} is invalid: {cause}; add its CA certificate with --ca-file")]
    UntrustedCertificate {
        /// Host name and port.
        host: String,
        /// Cause.
        cause: String,
    },
    /// The connection was refused.
    #[error("cannot connect to {host}: {source}; check that `weir serve` is running there")]
    Unreachable {
        /// Host name and port.
        host: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The connection was lost too often.
    #[error("connection to {host} lost after {bytes} bytes: {source}")]
    ConnectionLost {
        /// Host name and port.
        host: String,
        /// Bytes received.
        bytes: u64,
        /// Last error.
        source: io::Error,
    },
    /// The output could not be written.
    #[error("cannot write to standard output: {0}")]
    Write(#[source] io::Error),
}

impl RemoteStream {
    /// Prepares a stream of the server at `url`.
    pub fn new(url: &str, access: &RemoteAccess, query: StreamQuery) -> Result<RemoteStream, RemoteError> {
        let invalid = |cause: String| RemoteError::InvalidUrl { url: url.to_owned(), cause };
        let parsed = Url::parse(url).map_err(|error| invalid(error.to_string()))?;
        let name = parsed.host_str().ok_or_else(|| invalid("missing host".to_owned()))?;
        let default_port = if parsed.scheme() == "https" { 443 } else { 80 };
        let port = parsed.port().unwrap_or(default_port);
        let endpoint = match parsed.scheme() {
            "http" => Endpoint::tcp(name, port),
            "https" => Endpoint::with_tls(name, port, &access.ca_pem).map_err(invalid)?,
            _ => return Err(invalid("expected http:// or https://".to_owned())),
        };
        let path = parsed.path().trim_end_matches('/').trim_end_matches("/stream");
        Ok(RemoteStream {
            host: if port == default_port { name.to_owned() } else { format!("{name}:{port}") },
            endpoint,
            path: format!("{path}/stream"),
            token: access.token.clone(),
            query,
        })
    }

    /// Writes the whole stream to `out` and reconnects as needed; returns the number of bytes.
    pub fn download(&mut self, out: &mut dyn Write) -> Result<u64, RemoteError> {
        let first = self.query.skip_bytes;
        let mut attempts = 0;
        loop {
            let before = self.query.skip_bytes;
            match self.download_once(out) {
                Ok(()) => return Ok(self.query.skip_bytes - first),
                Err(TransferError::Broken(source)) => {
                    if let Some(cause) = certificate_error(&source) {
                        return Err(RemoteError::UntrustedCertificate { host: self.host.clone(), cause });
                    }
                    let has_progress = self.query.skip_bytes > first;
                    if !has_progress && attempts == 0 && source.kind() == io::ErrorKind::ConnectionRefused {
                        return Err(RemoteError::Unreachable { host: self.host.clone(), source });
                    }
                    attempts = if self.query.skip_bytes > before { 1 } else { attempts + 1 };
                    if attempts > MAX_RECONNECTS {
                        let bytes = self.query.skip_bytes - first;
                        return Err(RemoteError::ConnectionLost { host: self.host.clone(), bytes, source });
                    }
                    std::thread::sleep(INITIAL_BACK_OFF * (1 << (attempts - 1)));
                }
                Err(TransferError::Rejected { status, message }) => {
                    return Err(RemoteError::Rejected { host: self.host.clone(), status, message });
                }
                Err(TransferError::Write(source)) => return Err(RemoteError::Write(source)),
            }
        }
    }

    fn download_once(&mut self, out: &mut dyn Write) -> Result<(), TransferError> {
        let mut connection = self.endpoint.connect(READ_TIMEOUT).map_err(TransferError::Broken)?;
        let query = self.query.to_query();
        let token = self.token.as_ref().map(|token| format!("Authorization: Bearer {token}\r\n"));
        let request = format!(
            "GET {}?{query} HTTP/1.1\r\nHost: {}\r\nAccept: */*\r\n{}Connection: close\r\n\r\n",
            self.path,
            self.host,
            token.unwrap_or_default()
        );
        connection.write_all(request.as_bytes()).map_err(TransferError::Broken)?;
        let mut response = BufReader::with_capacity(BUFFER_BYTES, connection);
        let head = ResponseHead::read(&mut response).map_err(TransferError::Broken)?;
        if head.status != 200 {
            return Err(rejection(&head, response));
        }
        // Pin the commit, so that a reconnect continues with the same data while a crawl commits.
        if let Some(generation) = head.get("weir-snapshot") {
            self.query.snapshot = Some(generation.to_owned());
        }
        if !head.is_chunked() {
            return Err(TransferError::Broken(io::Error::other("response without chunked transfer coding")));
        }
        while let Some(length) = read_chunk_length(&mut response).map_err(TransferError::Broken)? {
            self.copy(&mut response, length, out)?;
            read_line(&mut response).map_err(TransferError::Broken)?;
        }
        Ok(())
    }

    fn copy(
        &mut self,
        response: &mut impl BufRead,
        length: u64,
        out: &mut dyn Write,
    ) -> Result<(), TransferError> {
        let mut remaining = length;
        while remaining > 0 {
            let chunk = response.fill_buf().map_err(TransferError::Broken)?;
            let length = chunk.len().min(usize::try_from(remaining).unwrap_or(usize::MAX));
            if length == 0 {
                return Err(TransferError::Broken(io::ErrorKind::UnexpectedEof.into()));
            }
            out.write_all(&chunk[..length]).map_err(TransferError::Write)?;
            response.consume(length);
            remaining -= length as u64;
            self.query.skip_bytes += length as u64;
        }
        Ok(())
    }
}

/// Reason why a connection ended before the stream.
enum TransferError {
    Broken(io::Error),
    Rejected { status: u16, message: String },
    Write(io::Error),
}

struct ResponseHead {
    status: u16,
    lines: Vec<String>,
}

impl ResponseHead {
    fn read(response: &mut impl BufRead) -> io::Result<ResponseHead> {
        let first = read_line(response)?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other("invalid HTTP response"))?;
        let mut lines = Vec::new();
        loop {
            let line = read_line(response)?;
            if line.is_empty() {
                return Ok(ResponseHead { status, lines });
            }
            if lines.len() >= 256 {
                return Err(io::Error::other("too many response headers"));
            }
            lines.push(line);
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        let value = |line: &'_ String| {
            line.split_once(':').is_some_and(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        let line = self.lines.iter().find(|line| value(line))?;
        line.split_once(':').map(|(_, value)| value.trim())
    }

    fn is_chunked(&self) -> bool {
        self.get("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"))
    }
}

/// Error of a response that is not 200: a busy server (429, 5xx) is retried, others are final.
fn rejection(head: &ResponseHead, response: impl Read) -> TransferError {
    if matches!(head.status, 429 | 500..=599) {
        return TransferError::Broken(io::Error::other(format!("HTTP {}", head.status)));
    }
    let mut body = String::new();
    // A truncated message is still useful.
    let _ = response.take(MAX_HEAD_BYTES).read_to_string(&mut body);
    let error = serde_json::from_str::<serde_json::Value>(body.trim()).ok();
    let message = error.and_then(|error| Some(error.get("error")?.as_str()?.to_owned()));
    TransferError::Rejected {
        status: head.status,
        message: message.unwrap_or_else(|| "no stream at this URL".to_owned()),
    }
}

/// Length of the next chunk; `None` after the last one.
fn read_chunk_length(response: &mut impl BufRead) -> io::Result<Option<u64>> {
    let line = read_line(response)?;
    let digits = line.split(';').next().unwrap_or_default().trim();
    let length = u64::from_str_radix(digits, 16).map_err(|_| io::Error::other("invalid chunk length"))?;
    Ok((length > 0).then_some(length))
}

/// Reads a line, without its line break.
fn read_line(response: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    response.take(MAX_HEAD_BYTES).read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned())
}
