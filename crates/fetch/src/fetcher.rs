//! How is one page fetched? By the protocol of its URL, over a connection that was kept or a new one.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use model::{Reason, Scheme};

use crate::answer::Answer;
use crate::clock::Clock;
use crate::connect::Connector;
use crate::connection::{Connection, Transport};
use crate::error::Error;
use crate::http1;
use crate::http2::Http2;
use crate::job::FetchJob;
use crate::media_types::MediaTypes;
use crate::reception::{Reception, Wanted};
use crate::request::{Form, RequestWriter};
use crate::settings::FetchSettings;
use crate::{ftp, gopher};

/// The status by which a proxy asks who we are.
const PROXY_AUTHENTICATION_REQUIRED: u16 = 407;

/// Asks servers, one request at a time for each connection.
pub struct Fetcher {
    pub(crate) settings: Arc<FetchSettings>,
    pub(crate) connector: Connector,
    requests: RequestWriter,
    media_types: MediaTypes,
}

impl Fetcher {
    /// Works by these settings, once they are found in order.
    pub fn new(settings: Arc<FetchSettings>) -> Result<Fetcher, Error> {
        let media_types = MediaTypes::new(&settings.media_types);
        Ok(Fetcher {
            connector: Connector::new(Arc::clone(&settings))?,
            requests: RequestWriter::new(&settings, &media_types)?,
            media_types,
            settings,
        })
    }

    /// One bounded exchange. Redirects are answers like others. Nothing is tried twice, but for one case: a connection
    /// that was `kept` and turns out to be closed, before any byte of an answer, is replaced by a new one.
    ///
    /// `kept` is used only if it leads to the same site at the same address; a connection that comes back can be asked
    /// again.
    pub async fn fetch(&self, job: &FetchJob<'_>, kept: Option<Connection>) -> (Answer, Option<Connection>) {
        let address = match self.connector.address(job.url, job.address) {
            Ok(address) => address,
            Err(reason) => return (Answer::failed(reason), None),
        };
        let mut clock = Clock::start(&self.settings);
        let (mut answer, connection) = match job.url.scheme() {
            Scheme::Ftp if self.settings.proxy.is_none() => {
                (ftp::fetch(self, job, address, &mut clock).await, None)
            }
            Scheme::Gopher if self.settings.proxy.is_none() => {
                (gopher::fetch(self, job, address, &mut clock).await, None)
            }
            // A proxy is asked for anything by HTTP.
            _ => self.http(job, address, kept, &mut clock).await,
        };
        answer.address = Some(address);
        (answer.latency_ms, answer.duration_ms) = clock.times_ms();
        (answer, connection)
    }

    /// How much of the answer to this job is taken.
    pub(crate) fn wanted(&self, job: &FetchJob<'_>) -> Wanted<'_> {
        Wanted {
            head_bytes: self.settings.head_bytes,
            body_bytes: job.body_bytes,
            media_types: (!job.any_media_type).then_some(&self.media_types),
        }
    }

    async fn http(
        &self,
        job: &FetchJob<'_>,
        address: IpAddr,
        kept: Option<Connection>,
        clock: &mut Clock<'_>,
    ) -> (Answer, Option<Connection>) {
        let request = self.requests.write(job, self.form(job));
        let is_late = || job.send_before.is_some_and(|end| Instant::now() >= end);
        if let Some(mut connection) = kept.filter(|_| !is_late())
            && connection.serves(job.url.site(), address)
        {
            let (answer, can_be_kept) = self.exchange(job, &request, &mut connection, clock).await;
            if answer.failure != Some(Reason::ConnectionLost) || clock.has_received() {
                return finish(answer, request, can_be_kept.then_some(connection));
            }
            clock.connecting();
        }
        let mut connection = match self.connect(job, address, clock).await {
            Ok(connection) => connection,
            Err(reason) => return (Answer::failed(reason), None),
        };
        if is_late() {
            return (Answer::failed(Reason::ConnectTimedOut), None);
        }
        let (answer, can_be_kept) = self.exchange(job, &request, &mut connection, clock).await;
        finish(answer, request, can_be_kept.then_some(connection))
    }

    fn form(&self, job: &FetchJob<'_>) -> Form<'_> {
        match self.settings.proxy {
            Some(_) if job.url.scheme() != Scheme::Https => {
                Form::Absolute { authorization: self.connector.proxy_authorization.as_deref() }
            }
            _ => Form::Origin,
        }
    }

    async fn connect(
        &self,
        job: &FetchJob<'_>,
        address: IpAddr,
        clock: &Clock<'_>,
    ) -> Result<Connection, Reason> {
        let stream = self.connector.connect(job.url, address, clock).await?;
        let security = stream.security();
        let transport = if stream.speaks_http2() {
            let begun = clock.wait(Http2::begin(stream, self.settings.head_bytes)).await?;
            Transport::Http2(Box::new(begun.map_err(|_| Reason::ConnectFailed)?))
        } else {
            Transport::Http1(stream)
        };
        Ok(Connection { site: job.url.site().to_owned(), address, security, transport })
    }

    /// Asks over a connection. Then whether it can be asked again.
    async fn exchange(
        &self,
        job: &FetchJob<'_>,
        request: &[u8],
        connection: &mut Connection,
        clock: &mut Clock<'_>,
    ) -> (Answer, bool) {
        let wanted = self.wanted(job);
        let (mut answer, can_be_kept, is_1_1) = match &mut connection.transport {
            Transport::Http1(stream) => {
                let mut reception = Reception::new(wanted);
                http1::exchange(stream, request, &mut reception, clock).await;
                (reception.answer, reception.keeps, reception.is_1_1)
            }
            Transport::Http2(http2) => {
                let (answer, is_open) = http2.exchange(job.url.as_str(), request, &wanted, clock).await;
                (answer, is_open, true)
            }
        };
        if answer.status == PROXY_AUTHENTICATION_REQUIRED && self.settings.proxy.is_some() {
            answer = Answer::failed(Reason::ProxyFailed);
        }
        answer.protocols = connection.protocols(is_1_1);
        (answer, can_be_kept)
    }
}

fn finish(answer: Answer, request: Vec<u8>, connection: Option<Connection>) -> (Answer, Option<Connection>) {
    (Answer { request, ..answer }, connection)
}
