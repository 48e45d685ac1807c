//! What does an ftp server say to a command? Lines, of which the last begins with a code and a space.

use memchr::memchr;
use model::Reason;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::Refusal;
use crate::answer::{Answer, Cut};
use crate::clock::Clock;
use crate::http1::read_piece;

/// One answer to a command, with all its lines.
const REPLY_LIMIT_BYTES: usize = 64 << 10;

/// The connection that commands go over.
pub(super) struct Control {
    stream: TcpStream,
    /// What came and was not used yet.
    waiting: Vec<u8>,
    /// With its line end.
    pub(super) last_command: Vec<u8>,
}

/// The last line of an answer to a command.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) code: u16,
    pub(super) text: String,
}

impl Reply {
    /// The reply, if the first digit of its code is one of these.
    pub(super) fn expect(self, firsts: &[u16]) -> Result<Reply, Refusal> {
        if firsts.contains(&(self.code / 100)) { Ok(self) } else { Err(Refusal::Code(self.code)) }
    }
}

impl Control {
    pub(super) fn new(stream: TcpStream) -> Control {
        Control { stream, waiting: Vec::new(), last_command: Vec::new() }
    }

    /// Waits for the welcome, and logs in as who everybody is. The password says, by custom, whom to write to.
    pub(super) async fn login(&mut self, from: &str, clock: &mut Clock<'_>) -> Result<(), Refusal> {
        clock.asking();
        self.reply(clock).await?.expect(&[2])?;
        let asked = self.command(b"USER", b"anonymous", clock).await?.expect(&[2, 3])?;
        if asked.code / 100 == 3 {
            let password = if from.is_empty() { "anonymous@" } else { from };
            self.command(b"PASS", password.as_bytes(), clock).await?.expect(&[2])?;
        }
        self.command(b"TYPE", b"I", clock).await?.expect(&[2])?;
        Ok(())
    }

    /// The port where the server waits for us. Its address is not asked for: data comes from whom we talk to.
    pub(super) async fn passive_port(&mut self, clock: &mut Clock<'_>) -> Result<u16, Refusal> {
        let extended = self.command(b"EPSV", b"", clock).await?;
        if extended.code == 229 {
            return Ok(extended_port(&extended.text).ok_or(Reason::BadAnswer)?);
        }
        let passive = self.command(b"PASV", b"", clock).await?.expect(&[2])?;
        Ok(old_port(&passive.text).ok_or(Reason::BadAnswer)?)
    }

    /// Sends a command and waits for the reply.
    pub(super) async fn command(
        &mut self,
        name: &[u8],
        argument: &[u8],
        clock: &mut Clock<'_>,
    ) -> Result<Reply, Reason> {
        let space: &[u8] = if argument.is_empty() { b"" } else { b" " };
        self.last_command = [name, space, argument, b"\r\n"].concat();
        // Each command is a request of its own; the last, the one for data, is the one that is timed.
        clock.asking();
        let sent = clock.wait(self.stream.write_all(&self.last_command)).await?;
        sent.map_err(|_| Reason::ConnectionLost)?;
        self.reply(clock).await
    }

    /// Waits for the server to say whether all data was sent, and marks the answer where it was not.
    pub(super) async fn confirm(&mut self, answer: &mut Answer, clock: &mut Clock<'_>) {
        let failure = match self.reply(clock).await {
            Ok(reply) if reply.code / 100 == 2 => return,
            Ok(_) => Reason::ConnectionLost,
            Err(reason) => reason,
        };
        answer.cut = Some(Cut::Disconnect);
        answer.failure = Some(failure);
    }

    async fn reply(&mut self, clock: &mut Clock<'_>) -> Result<Reply, Reason> {
        let mut taken_bytes = 0;
        let mut code = None;
        loop {
            let line = self.line(clock).await?;
            taken_bytes += line.len() + 1;
            if taken_bytes > REPLY_LIMIT_BYTES {
                return Err(Reason::BadAnswer);
            }
            let text = String::from_utf8_lossy(&line);
            let number: Option<u16> = text.get(..3).and_then(|digits| digits.parse().ok());
            let begins = number.filter(|number| (100..600).contains(number));
            match (code, begins, text.as_bytes().get(3)) {
                // Several lines: they end with one that has the same code and a space.
                (None, Some(first), Some(b'-')) => code = Some(first),
                (None, Some(code), _) => return Ok(Reply { code, text: text.into_owned() }),
                (None, None, _) => return Err(Reason::BadAnswer),
                (Some(first), Some(last), Some(b' ') | None) if first == last => {
                    return Ok(Reply { code: last, text: text.into_owned() });
                }
                (Some(_), ..) => {}
            }
        }
    }

    async fn line(&mut self, clock: &mut Clock<'_>) -> Result<Vec<u8>, Reason> {
        loop {
            if let Some(end) = memchr(b'\n', &self.waiting) {
                let mut line: Vec<u8> = self.waiting.drain(..=end).collect();
                line.truncate(line.trim_ascii_end().len());
                return Ok(line);
            }
            if self.waiting.len() > REPLY_LIMIT_BYTES {
                return Err(Reason::BadAnswer);
            }
            let waiting = &mut self.waiting;
            match clock.wait(read_piece(&mut self.stream, |piece| waiting.extend_from_slice(piece))).await? {
                Ok(0) | Err(_) => return Err(Reason::ConnectionLost),
                Ok(_) => {}
            }
        }
    }
}

/// `229 Entering Extended Passive Mode (|||6446|)`.
fn extended_port(text: &str) -> Option<u16> {
    let inner = text.split_once('(')?.1.split_once(')')?.0;
    let mark = inner.chars().next()?;
    inner.split(mark).nth(3)?.parse().ok().filter(|port| *port != 0)
}

/// `227 Entering Passive Mode (h1,h2,h3,h4,p1,p2)`, with brackets or without.
fn old_port(text: &str) -> Option<u16> {
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
    fn ports_are_found_in_what_servers_say() {
        assert_eq!(extended_port("229 Entering Extended Passive Mode (|||6446|)"), Some(6446));
        assert_eq!(extended_port("229 ok (!!!1!)"), Some(1));
        assert_eq!(old_port("227 Entering Passive Mode (10,0,0,1,4,1)."), Some(1025));
        assert_eq!(old_port("227 Entering Passive Mode. 10,0,0,1,4,1"), Some(1025));
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
            assert_eq!((extended_port(bad), old_port(bad)), (None, None), "{bad}");
        }
    }
}
