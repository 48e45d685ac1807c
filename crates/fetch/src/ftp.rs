//! How is a file fetched by ftp? (RFC 959; passive mode by RFC 2428 or RFC 959, lists by RFC 3659 or as `ls` has them.)
//!
//! Always as anonymous, one connection for each file, data only from the address that was asked. A directory becomes an
//! HTML list with links. The codes of ftp become the ones of HTTP: 550 is 404, a refused login 403, trouble that may
//! pass 503.

mod control;
mod listing;

use std::net::{IpAddr, SocketAddr};

use model::Reason;

use crate::answer::Answer;
use crate::clock::Clock;
use crate::fetcher::Fetcher;
use crate::job::FetchJob;
use crate::made_up::{self, unescaped};
use crate::until_close::{limit, receive};
use control::Control;

/// Why there is no file.
enum Refusal {
    /// The exchange failed.
    Failed(Reason),
    /// The server said no, with this code.
    Code(u16),
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Refusal {
        Refusal::Failed(reason)
    }
}

/// One file, or one directory.
pub(crate) async fn fetch(
    fetcher: &Fetcher,
    job: &FetchJob<'_>,
    address: IpAddr,
    clock: &mut Clock<'_>,
) -> Answer {
    // A line end in a path would be a second command, of somebody else's making.
    let path = unescaped(job.url.path_and_query());
    if path.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
        return Answer::failed(Reason::Scheme);
    }
    let is_directory = path.ends_with(b"/");
    let content_type =
        if is_directory { listing::CONTENT_TYPE } else { made_up::content_type(job.url.path()) };
    if !fetcher.wanted(job).takes(200, Some(content_type.as_bytes())) {
        return Answer::failed(Reason::MediaType);
    }
    let mut visit = Visit { fetcher, job, address, clock };
    let mut answer =
        visit.fetch(&path, is_directory, content_type).await.unwrap_or_else(|refusal| match refusal {
            Refusal::Failed(reason) => Answer::failed(reason),
            Refusal::Code(code) => made_up::answer(status(code), None, Vec::new()),
        });
    answer.protocols = &["ftp"];
    answer
}

/// The code of HTTP that means the same.
fn status(code: u16) -> u16 {
    match code {
        530 | 532 | 430 => 403,
        500..600 => 404,
        _ => 503,
    }
}

struct Visit<'v, 'j, 's> {
    fetcher: &'v Fetcher,
    job: &'v FetchJob<'j>,
    address: IpAddr,
    clock: &'v mut Clock<'s>,
}

impl Visit<'_, '_, '_> {
    async fn fetch(
        &mut self,
        path: &[u8],
        is_directory: bool,
        content_type: &str,
    ) -> Result<Answer, Refusal> {
        let server = SocketAddr::new(self.address, self.job.url.port());
        let stream = self.fetcher.connector.tcp(server, self.clock).await?;
        let mut control = Control::new(stream);
        control.login(&self.fetcher.settings.from, self.clock).await?;
        if is_directory {
            return self.list(&mut control, path).await;
        }
        match self.transfer(&mut control, b"RETR", path).await {
            Ok(mut answer) => {
                answer.head = made_up::answer(200, Some(content_type), Vec::new()).head;
                Ok(answer)
            }
            // Perhaps it is a directory whose slash somebody forgot.
            Err(Refusal::Code(550)) => self.list(&mut control, path).await.map_err(|refusal| match refusal {
                Refusal::Code(_) => Refusal::Code(550),
                failed @ Refusal::Failed(_) => failed,
            }),
            Err(refusal) => Err(refusal),
        }
    }

    /// The directory is entered first: how a server takes a path behind `LIST` differs too much.
    async fn list(&mut self, control: &mut Control, path: &[u8]) -> Result<Answer, Refusal> {
        control.command(b"CWD", path, self.clock).await?.expect(&[2])?;
        let (mut answer, is_machine_list) = match self.transfer(control, b"MLSD", b"").await {
            Ok(answer) => (answer, true),
            Err(Refusal::Code(500..600)) => (self.transfer(control, b"LIST", b"").await?, false),
            Err(refusal) => return Err(refusal),
        };
        answer.body = listing::page(self.job.url, &answer.body, is_machine_list);
        limit(&mut answer, self.job.body_bytes);
        answer.head = made_up::answer(200, Some(listing::CONTENT_TYPE), Vec::new()).head;
        Ok(answer)
    }

    /// One command whose answer comes over a connection of its own.
    async fn transfer(
        &mut self,
        control: &mut Control,
        command: &[u8],
        argument: &[u8],
    ) -> Result<Answer, Refusal> {
        let port = control.passive_port(self.clock).await?;
        self.clock.connecting();
        let mut data = self.fetcher.connector.tcp(SocketAddr::new(self.address, port), self.clock).await?;
        control.command(command, argument, self.clock).await?.expect(&[1])?;
        let mut answer = receive(&mut data, self.job.body_bytes, self.clock).await;
        answer.request = control.last_command.clone();
        drop(data);
        if answer.cut.is_none() && answer.failure.is_none() {
            // The end of the data alone does not say that it is complete.
            control.confirm(&mut answer, self.clock).await;
        }
        if answer.status == 0 {
            return Err(Refusal::Failed(answer.failure.unwrap_or(Reason::ConnectionLost)));
        }
        Ok(answer)
    }
}
