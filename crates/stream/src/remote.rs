//! How does somebody read the stream of another machine? Over HTTP, and after a break from the byte on where it broke.
//!
//! Not for the Web at large: it speaks to a server of `weir serve`.

mod connection;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::time::Duration;

use url::Url;

use crate::ask::Ask;
use connection::{Line, distrust};

/// So long nothing may come, before the connection counts as broken.
const SILENCE: Duration = Duration::from_secs(60);
/// So often in a row a connection may break without having brought anything.
const MOST_BREAKS: u32 = 8;
/// Before the first new attempt; twice as long before each that follows.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// No head of an answer is longer.
const HEAD_BYTES: u64 = 64 << 10;
/// Read at once.
const PIECE_BYTES: usize = 64 << 10;

/// The stream of another machine.
pub struct Remote {
    host: String,
    line: Line,
    path: String,
    token: Option<String>,
    ask: Ask,
}

/// What it takes to be let in, and to be sure who lets in.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// What the server wants to be told.
    pub token: Option<String>,
    /// Certificates of authorities that are trusted beside those of the Web, as PEM.
    pub authorities_pem: Vec<u8>,
}

/// What can go wrong with another machine.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// That is no address of a server.
    #[error("`{url}` is no server of streams: {why}")]
    Address {
        /// As given.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The server says no.
    #[error("{host} answers {status}: {sentence}")]
    Refused {
        /// Who.
        host: String,
        /// The status of HTTP.
        status: u16,
        /// Why.
        sentence: String,
    },
    /// Somebody else may be there in its place.
    #[error("{host} cannot be trusted: {why}; give the certificate of its authority (--ca-file)")]
    Untrusted {
        /// Who.
        host: String,
        /// What is wrong with its certificate.
        why: String,
    },
    /// Nobody is there.
    #[error("cannot connect to {host}: {source}; is `weir serve` running there?")]
    Unreachable {
        /// Who.
        host: String,
        /// What the system says.
        source: io::Error,
    },
    /// The connection broke too often.
    #[error("the stream of {host} broke off after {bytes} bytes: {source}")]
    Broken {
        /// Who.
        host: String,
        /// How much had come.
        bytes: u64,
        /// The last break.
        source: io::Error,
    },
    /// What came could not be written.
    #[error("cannot write to the standard output: {0}")]
    Write(#[source] io::Error),
}

impl Remote {
    /// Of a server at this URL.
    pub fn new(url: &str, access: &Access, ask: Ask) -> Result<Remote, RemoteError> {
        let wrong = |why: String| RemoteError::Address { url: url.to_owned(), why };
        let parsed = Url::parse(url).map_err(|error| wrong(error.to_string()))?;
        let name = parsed.host_str().ok_or_else(|| wrong("it names no host".to_owned()))?;
        let usual = if parsed.scheme() == "https" { 443 } else { 80 };
        let port = parsed.port().unwrap_or(usual);
        let line = match parsed.scheme() {
            "http" => Line::plain(name, port),
            "https" => Line::secure(name, port, &access.authorities_pem).map_err(wrong)?,
            _ => return Err(wrong("only http:// and https:// can be read".to_owned())),
        };
        let path = parsed.path().trim_end_matches('/').trim_end_matches("/stream");
        Ok(Remote {
            host: if port == usual { name.to_owned() } else { format!("{name}:{port}") },
            line,
            path: format!("{path}/stream"),
            token: access.token.clone(),
            ask,
        })
    }

    /// Writes everything that is asked for to `out`, whatever breaks in between; tells how many bytes that were.
    pub fn pour(&mut self, out: &mut dyn Write) -> Result<u64, RemoteError> {
        let first = self.ask.skip_bytes;
        let mut breaks = 0;
        loop {
            let before = self.ask.skip_bytes;
            match self.pour_once(out) {
                Ok(()) => return Ok(self.ask.skip_bytes - first),
                Err(Ended::Broken(source)) => {
                    if let Some(why) = distrust(&source) {
                        return Err(RemoteError::Untrusted { host: self.host.clone(), why });
                    }
                    let came = self.ask.skip_bytes > first;
                    if !came && breaks == 0 && source.kind() == io::ErrorKind::ConnectionRefused {
                        return Err(RemoteError::Unreachable { host: self.host.clone(), source });
                    }
                    breaks = if self.ask.skip_bytes > before { 1 } else { breaks + 1 };
                    if breaks > MOST_BREAKS {
                        let bytes = self.ask.skip_bytes - first;
                        return Err(RemoteError::Broken { host: self.host.clone(), bytes, source });
                    }
                    std::thread::sleep(FIRST_PAUSE * (1 << (breaks - 1)));
                }
                Err(Ended::Refused { status, sentence }) => {
                    return Err(RemoteError::Refused { host: self.host.clone(), status, sentence });
                }
                Err(Ended::Write(source)) => return Err(RemoteError::Write(source)),
            }
        }
    }

    fn pour_once(&mut self, out: &mut dyn Write) -> Result<(), Ended> {
        let mut connection = self.line.connect(SILENCE).map_err(Ended::Broken)?;
        let query = self.ask.to_query();
        let token = self.token.as_ref().map(|token| format!("Authorization: Bearer {token}\r\n"));
        let request = format!(
            "GET {}?{query} HTTP/1.1\r\nHost: {}\r\nAccept: */*\r\n{}Connection: close\r\n\r\n",
            self.path,
            self.host,
            token.unwrap_or_default()
        );
        connection.write_all(request.as_bytes()).map_err(Ended::Broken)?;
        let mut answer = BufReader::with_capacity(PIECE_BYTES, connection);
        let head = Head::read(&mut answer).map_err(Ended::Broken)?;
        if head.status != 200 {
            return Err(refused(&head, answer));
        }
        // From now on it is this commit, whatever a crawl does meanwhile.
        if let Some(generation) = head.get("weir-snapshot") {
            self.ask.snapshot = Some(generation.to_owned());
        }
        if !head.is_chunked() {
            return Err(Ended::Broken(io::Error::other("the answer does not tell where it ends")));
        }
        while let Some(length) = read_chunk_length(&mut answer).map_err(Ended::Broken)? {
            self.copy(&mut answer, length, out)?;
            read_line(&mut answer).map_err(Ended::Broken)?;
        }
        Ok(())
    }

    fn copy(&mut self, answer: &mut impl BufRead, length: u64, out: &mut dyn Write) -> Result<(), Ended> {
        let mut left = length;
        while left > 0 {
            let piece = answer.fill_buf().map_err(Ended::Broken)?;
            let taken = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            if taken == 0 {
                return Err(Ended::Broken(io::ErrorKind::UnexpectedEof.into()));
            }
            out.write_all(&piece[..taken]).map_err(Ended::Write)?;
            answer.consume(taken);
            left -= taken as u64;
            self.ask.skip_bytes += taken as u64;
        }
        Ok(())
    }
}

/// Why one connection ended before the stream did.
enum Ended {
    Broken(io::Error),
    Refused { status: u16, sentence: String },
    Write(io::Error),
}

struct Head {
    status: u16,
    lines: Vec<String>,
}

impl Head {
    fn read(answer: &mut impl BufRead) -> io::Result<Head> {
        let first = read_line(answer)?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other("that is no answer of HTTP"))?;
        let mut lines = Vec::new();
        loop {
            let line = read_line(answer)?;
            if line.is_empty() {
                return Ok(Head { status, lines });
            }
            if lines.len() >= 256 {
                return Err(io::Error::other("the head of the answer has no end"));
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

/// Busy servers are asked again; others have said why.
fn refused(head: &Head, answer: impl Read) -> Ended {
    if matches!(head.status, 429 | 500..=599) {
        return Ended::Broken(io::Error::other(format!("it answers {}", head.status)));
    }
    let mut body = String::new();
    // A sentence that breaks off is still a sentence.
    let _ = answer.take(HEAD_BYTES).read_to_string(&mut body);
    let told = serde_json::from_str::<serde_json::Value>(body.trim()).ok();
    let told = told.and_then(|told| Some(told.get("error")?.as_str()?.to_owned()));
    Ended::Refused { status: head.status, sentence: told.unwrap_or_else(|| "there is no stream".to_owned()) }
}

/// The length of the next chunk; none behind the last.
fn read_chunk_length(answer: &mut impl BufRead) -> io::Result<Option<u64>> {
    let line = read_line(answer)?;
    let digits = line.split(';').next().unwrap_or_default().trim();
    let length = u64::from_str_radix(digits, 16).map_err(|_| io::Error::other("that is no chunk"))?;
    Ok((length > 0).then_some(length))
}

/// A line without its end.
fn read_line(answer: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    answer.take(HEAD_BYTES).read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned())
}
