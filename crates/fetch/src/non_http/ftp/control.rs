//! Control connection of ftp: commands and replies (RFC 959, section 4.2).

use memchr::memchr;
use model::{Reason, Truncation};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::error::FtpError;
use crate::exchange_timer::ExchangeTimer;
use crate::http::http1::read_chunk;
use crate::response::Response;

/// Maximum size of a reply, with all its lines.
const MAX_REPLY_BYTES: usize = 64 << 10;

/// Connection for commands and replies.
pub(crate) struct ControlConnection {
    stream: TcpStream,
    /// Received bytes that are not parsed yet.
    buffered: Vec<u8>,
    /// Last command sent, with its line end.
    pub(crate) last_command: Vec<u8>,
}

/// Last line of a reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) code: u16,
    pub(crate) text: String,
}

impl Reply {
    /// Returns the reply if the first digit of its code is one of these.
    pub(crate) fn expect(self, classes: &[u16]) -> Result<Reply, FtpError> {
        if classes.contains(&(self.code / 100)) { Ok(self) } else { Err(FtpError::Reply(self.code)) }
    }
}

impl ControlConnection {
    pub(crate) fn new(stream: TcpStream) -> ControlConnection {
        ControlConnection { stream, buffered: Vec::new(), last_command: Vec::new() }
    }

    /// Waits for the greeting and logs in as anonymous. By convention the password is an e-mail address (RFC 1635).
    pub(crate) async fn login(&mut self, from: &str, timer: &mut ExchangeTimer<'_>) -> Result<(), FtpError> {
        timer.request_started();
        self.read_reply(timer).await?.expect(&[2])?;
        let reply = self.command(b"USER", b"anonymous", timer).await?.expect(&[2, 3])?;
        if reply.code / 100 == 3 {
            let password = if from.is_empty() { "anonymous@" } else { from };
            self.command(b"PASS", password.as_bytes(), timer).await?.expect(&[2])?;
        }
        self.command(b"TYPE", b"I", timer).await?.expect(&[2])?;
        Ok(())
    }

    /// Enters passive mode and returns the port of the server. The address in the reply is ignored: it could point to any
    /// host (FTP bounce attack).
    pub(crate) async fn passive_port(&mut self, timer: &mut ExchangeTimer<'_>) -> Result<u16, FtpError> {
        let extended = self.command(b"EPSV", b"", timer).await?;
        if extended.code == 229 {
            return Ok(epsv_port(&extended.text).ok_or(Reason::InvalidResponse)?);
        }
        let passive = self.command(b"PASV", b"", timer).await?.expect(&[2])?;
        Ok(pasv_port(&passive.text).ok_or(Reason::InvalidResponse)?)
    }

    /// Sends a command and reads the reply.
    pub(crate) async fn command(
        &mut self,
        name: &[u8],
        argument: &[u8],
        timer: &mut ExchangeTimer<'_>,
    ) -> Result<Reply, Reason> {
        let space: &[u8] = if argument.is_empty() { b"" } else { b" " };
        self.last_command = [name, space, argument, b"\r\n"].concat();
        // Restarts the timer: the latency of the response is that of the last command, the one for data.
        timer.request_started();
        let sent = timer.with_timeout(self.stream.write_all(&self.last_command)).await?;
        sent.map_err(|_| Reason::ConnectionClosed)?;
        self.read_reply(timer).await
    }

    /// Reads the reply that ends a transfer, and marks the response as truncated unless the reply confirms it.
    pub(crate) async fn finish_transfer(&mut self, response: &mut Response, timer: &mut ExchangeTimer<'_>) {
        let failure = match self.read_reply(timer).await {
            Ok(reply) if reply.code / 100 == 2 => return,
            Ok(_) => Reason::ConnectionClosed,
            Err(reason) => reason,
        };
        response.truncation = Some(Truncation::Disconnect);
        response.failure = Some(failure);
    }

    async fn read_reply(&mut self, timer: &mut ExchangeTimer<'_>) -> Result<Reply, Reason> {
        let mut reply_bytes = 0;
        let mut code = None;
        loop {
            let line = self.read_line(timer).await?;
            reply_bytes += line.len() + 1;
            if reply_bytes > MAX_REPLY_BYTES {
                return Err(Reason::InvalidResponse);
            }
            let text = String::from_utf8_lossy(&line);
            let number: Option<u16> = text.get(..3).and_then(|digits| digits.parse().ok());
            let line_code = number.filter(|number| (100..600).contains(number));
            match (code, line_code, text.as_bytes().get(3)) {
                // A reply of several lines ends with a line that has the same code and a space.
                (None, Some(first), Some(b'-')) => code = Some(first),
                (None, Some(code), _) => return Ok(Reply { code, text: text.into_owned() }),
                (None, None, _) => return Err(Reason::InvalidResponse),
                (Some(first), Some(last), Some(b' ') | None) if first == last => {
                    return Ok(Reply { code: last, text: text.into_owned() });
                }
                (Some(_), ..) => {}
            }
        }
    }

    async fn read_line(&mut self, timer: &mut ExchangeTimer<'_>) -> Result<Vec<u8>, Reason> {
        loop {
            if let Some(end) = memchr(b'\n', &self.buffered) {
                let mut line: Vec<u8> = self.buffered.drain(..=end).collect();
                line.truncate(line.trim_ascii_end().len());
                return Ok(line);
            }
            if self.buffered.len() > MAX_REPLY_BYTES {
                return Err(Reason::InvalidResponse);
            }
            let buffered = &mut self.buffered;
            match timer
                .with_timeout(read_chunk(&mut self.stream, |chunk| buffered.extend_from_slice(chunk)))
                .await?
            {
                Ok(0) | Err(_) => return Err(Reason::ConnectionClosed),
                Ok(_) => {}
            }
        }
    }
}

/// Parses `229 Entering Extended Passive Mode (|||6446|)`.
fn epsv_port(text: &str) -> Option<u16> {
    let inner = text.split_once('(')?.1.split_once(')')?.0;
    // RFC 2428 allows any delimiter.
    let delimiter = inner.chars().next()?;
    inner.split(delimiter).nth(3)?.parse().ok().filter(|port| *port != 0)
}

/// Parses `227 Entering Passive Mode (h1,h2,h3,h4,p1,p2)`, with brackets or without.
fn pasv_port(text: &str) -> Option<u16> {
    let numbers = text.get(4..)?.trim_start_matches(|c: char| !c.is_ascii_digit());
    let numbers = numbers.split(|c: char| !c.is_ascii_digit() && c != ',').next()?;
    let mut parts = numbers.split(',').skip(4).map(str::parse::<u8>);
    let (high, low) = (parts.next()?.ok()?, parts.next()?.ok()?);
    Some(u16::from_be_bytes([high, low])).filter(|port| *port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_parsed_from_replies() {
        assert_eq!(epsv_port("229 Entering Extended Passive Mode (|||6446|)"), Some(6446));
        assert_eq!(epsv_port("229 ok (!!!1!)"), Some(1));
        assert_eq!(pasv_port("227 Entering Passive Mode (10,0,0,1,4,1)."), Some(1025));
        assert_eq!(pasv_port("227 Entering Passive Mode. 10,0,0,1,4,1"), Some(1025));
        for bad in [
            "229 (|||0|)",
            "229 (|||70000|)",
            "229",
            "229 ()",
            "229 (é",
            "227 (1,2,3,4,256,1)",
            "227 (1,2)",
            "227",
        ] {
            assert_eq!((epsv_port(bad), pasv_port(bad)), (None, None), "{bad}");
        }
    }
}
