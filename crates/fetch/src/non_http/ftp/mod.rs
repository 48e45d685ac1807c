//! ftp client (RFC 959) for one file or directory per connection.
//!
//! Logs in as anonymous and uses passive mode (EPSV of RFC 2428, or PASV). Data connections go to the address of the
//! control connection only. A directory becomes an HTML page with links, from MLSD (RFC 3659) or LIST. Reply codes are
//! mapped to HTTP statuses: 550 to 404, a rejected login to 403, temporary failures to 503.

mod control;
mod error;
pub(crate) mod listing;

use std::net::{IpAddr, SocketAddr};

use model::Reason;

use crate::connect::connector::Connector;
use crate::exchange_timer::ExchangeTimer;
use crate::fetch_request::FetchRequest;
use crate::http::response_reader::ReadLimits;
use crate::non_http::close_delimited::read_to_close;
use crate::non_http::close_delimited::truncate_body;
use crate::non_http::synthesized::content_type_for;
use crate::non_http::synthesized::percent_decode;
use crate::non_http::synthesized::synthesized_response;
use crate::response::Response;
use control::ControlConnection;
use error::FtpError;

/// Fetches a file or lists a directory. `from` is the password of the anonymous login, by convention an e-mail address.
pub(crate) async fn fetch(
    connector: &Connector,
    request: &FetchRequest<'_>,
    limits: ReadLimits<'_>,
    address: IpAddr,
    from: &str,
    timer: &mut ExchangeTimer<'_>,
) -> Response {
    // A line end in a path would inject a second command.
    let path = percent_decode(request.url.path_and_query());
    if path.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
        return Response::from_failure(Reason::SchemeNotAllowed);
    }
    let is_directory = path.ends_with(b"/");
    let content_type =
        if is_directory { listing::CONTENT_TYPE } else { content_type_for(request.url.path()) };
    if !limits.accepts(200, Some(content_type.as_bytes())) {
        return Response::from_failure(Reason::MimeType);
    }
    let mut session = FtpSession { connector, request, limits, address, from, timer };
    let mut response =
        session.fetch(&path, is_directory, content_type).await.unwrap_or_else(|error| match error {
            FtpError::Exchange(error) => Response::from_failure(error),
            FtpError::Reply(code) => synthesized_response(http_status(code), None, Vec::new()),
        });
    response.protocols = &["ftp"];
    response
}

/// HTTP status that corresponds to a reply code.
fn http_status(code: u16) -> u16 {
    match code {
        530 | 532 | 430 => 403,
        500..600 => 404,
        _ => 503,
    }
}

struct FtpSession<'v, 'j, 's> {
    connector: &'v Connector,
    request: &'v FetchRequest<'j>,
    limits: ReadLimits<'v>,
    address: IpAddr,
    from: &'v str,
    timer: &'v mut ExchangeTimer<'s>,
}

impl FtpSession<'_, '_, '_> {
    async fn fetch(
        &mut self,
        path: &[u8],
        is_directory: bool,
        content_type: &str,
    ) -> Result<Response, FtpError> {
        let server = SocketAddr::new(self.address, self.request.url.port());
        let stream = self.connector.connect_tcp(server, self.timer).await?;
        if self.request.is_late() {
            return Err(Reason::ConnectTimeout.into());
        }
        let mut control = ControlConnection::new(stream);
        control.login(self.from, self.timer).await?;
        if is_directory {
            return self.list(&mut control, path).await;
        }
        match self.transfer(&mut control, b"RETR", path).await {
            Ok(mut response) => {
                response.head = synthesized_response(200, Some(content_type), Vec::new()).head;
                Ok(response)
            }
            // The path may be a directory without its final slash.
            Err(FtpError::Reply(550)) => self.list(&mut control, path).await.map_err(|error| match error {
                FtpError::Reply(_) => FtpError::Reply(550),
                failed @ FtpError::Exchange(_) => failed,
            }),
            Err(error) => Err(error),
        }
    }

    async fn list(&mut self, control: &mut ControlConnection, path: &[u8]) -> Result<Response, FtpError> {
        // CWD first: servers disagree on the meaning of an argument of LIST.
        control.command(b"CWD", path, self.timer).await?.expect(&[2])?;
        let (mut response, is_mlsd) = match self.transfer(control, b"MLSD", b"").await {
            Ok(response) => (response, true),
            Err(FtpError::Reply(500..600)) => (self.transfer(control, b"LIST", b"").await?, false),
            Err(error) => return Err(error),
        };
        response.body = listing::listing_page(self.request.url, &response.body, is_mlsd);
        truncate_body(&mut response, self.limits.max_body_bytes);
        response.head = synthesized_response(200, Some(listing::CONTENT_TYPE), Vec::new()).head;
        Ok(response)
    }

    /// Sends a command whose result comes over a data connection.
    async fn transfer(
        &mut self,
        control: &mut ControlConnection,
        command: &[u8],
        argument: &[u8],
    ) -> Result<Response, FtpError> {
        let port = control.passive_port(self.timer).await?;
        self.timer.connect_started();
        let mut data =
            self.connector.connect_ftp_data(SocketAddr::new(self.address, port), self.timer).await?;
        control.command(command, argument, self.timer).await?.expect(&[1])?;
        let mut response = read_to_close(&mut data, &self.limits, self.timer).await;
        response.request = control.last_command.clone();
        drop(data);
        if response.truncation.is_none() && response.failure.is_none() {
            // The end of the data connection alone does not show that the file is complete; the reply does.
            control.finish_transfer(&mut response, self.timer).await;
        }
        if response.status == 0 {
            return Err(response.failure.unwrap_or(Reason::ConnectionClosed).into());
        }
        Ok(response)
    }
}
