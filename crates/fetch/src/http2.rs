//! How does an answer come over HTTP/2? One stream at a time, and the head is written down as HTTP/1.1 would have it, so
//! that whoever reads it later needs to know one form only.
//!
//! Nothing runs in the background: the connection moves while somebody waits for an answer over it, and what a server
//! sends in between waits in its socket.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::RecvStream;
use h2::client::{Builder, Connection, SendRequest};
use http::{Method, Request, Response};
use model::Reason;

use crate::answer::{Answer, Cut};
use crate::clock::Clock;
use crate::reception::Wanted;
use crate::stream::Stream;

/// What a server may send ahead of us, of one answer and of all.
const WINDOW_BYTES: u32 = 512 << 10;
/// Of what the library counts as the list of headers, beyond twice their text.
const LIST_SURPLUS_BYTES: usize = 8 << 10;
/// Lines that HTTP/2 says in other ways, or not at all.
const NOT_IN_HTTP2: [&str; 2] = ["host", "connection"];

/// A connection over which HTTP/2 is spoken.
#[derive(Debug)]
pub(crate) struct Http2 {
    sender: SendRequest<Bytes>,
    connection: Connection<Stream, Bytes>,
}

impl Http2 {
    pub(crate) async fn begin(stream: Stream, head_bytes: usize) -> Result<Http2, h2::Error> {
        // The library counts more for each line than we do, and calls a list that is too long an error like others; so it
        // gets the wider limit.
        let list_bytes = head_bytes.saturating_mul(2).saturating_add(LIST_SURPLUS_BYTES);
        let (sender, connection) = Builder::new()
            .enable_push(false)
            .max_concurrent_streams(1)
            .initial_window_size(WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES)
            .max_header_list_size(u32::try_from(list_bytes).unwrap_or(u32::MAX))
            .handshake(stream)
            .await?;
        Ok(Http2 { sender, connection })
    }

    /// Whether the server has not said good-bye.
    pub(crate) fn is_open(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        Pin::new(&mut self.connection).poll(&mut context).is_pending()
            && matches!(self.sender.poll_ready(&mut context), Poll::Ready(Ok(())))
    }

    /// Sends `head`, a request as HTTP/1.1 has it, and receives the answer. Then whether it can be asked again.
    pub(crate) async fn exchange(
        &mut self,
        url: &str,
        head: &[u8],
        wanted: &Wanted<'_>,
        clock: &mut Clock<'_>,
    ) -> (Answer, bool) {
        let Some(request) = request(url, head) else { return (Answer::failed(Reason::BadAnswer), true) };
        clock.asking();
        let response = match clock.wait(self.ask(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return (Answer::failed(reason(&error)), false),
            Err(reason) => return (Answer::failed(reason), false),
        };
        let mut answer =
            Answer { status: response.status().as_u16(), head: written(&response), ..Answer::default() };
        clock.received(answer.head.len());
        if answer.head.len() > wanted.head_bytes {
            return (Answer::failed(Reason::HeadTooLong), false);
        }
        let content_type = response.headers().get("content-type").map(http::HeaderValue::as_bytes);
        if !wanted.takes(answer.status, content_type) {
            answer.failure = Some(Reason::MediaType);
            return (answer, false);
        }
        self.receive_body(response.into_body(), wanted, clock, &mut answer).await;
        let is_whole = answer.cut.is_none();
        (answer, is_whole)
    }

    async fn ask(&mut self, request: Request<()>) -> Result<Response<RecvStream>, h2::Error> {
        let Http2 { sender, connection } = self;
        drive(connection, poll_fn(|context| sender.poll_ready(context))).await?;
        let (response, _) = sender.send_request(request, true)?;
        drive(connection, response).await
    }

    async fn receive_body(
        &mut self,
        mut stream: RecvStream,
        wanted: &Wanted<'_>,
        clock: &mut Clock<'_>,
        answer: &mut Answer,
    ) {
        let limit_bytes = wanted.body_limit_bytes(answer.status);
        loop {
            let next = drive_data(&mut self.connection, &mut stream);
            let piece = match clock.wait(next).await {
                Ok(None) => return,
                Ok(Some(Ok(piece))) => piece,
                Ok(Some(Err(_))) => return cut(answer, Cut::Disconnect, Some(Reason::ConnectionLost)),
                Err(reason) => return cut(answer, Cut::Time, Some(reason)),
            };
            clock.received(piece.len());
            let length = piece.len().min(limit_bytes - answer.body.len());
            answer.body.extend_from_slice(&piece[..length]);
            if length < piece.len() {
                return cut(answer, Cut::Length, None);
            }
            if stream.flow_control().release_capacity(piece.len()).is_err() {
                return cut(answer, Cut::Disconnect, Some(Reason::BadBody));
            }
        }
    }
}

fn cut(answer: &mut Answer, cut: Cut, failure: Option<Reason>) {
    answer.cut = Some(cut);
    answer.failure = failure;
}

/// Waits for `what`, and keeps the connection moving meanwhile.
async fn drive<T>(
    connection: &mut Connection<Stream, Bytes>,
    what: impl Future<Output = Result<T, h2::Error>>,
) -> Result<T, h2::Error> {
    let mut what = pin!(what);
    poll_fn(|context| {
        if let Poll::Ready(value) = what.as_mut().poll(context) {
            return Poll::Ready(value);
        }
        match Pin::new(&mut *connection).poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            // The end of the connection may be the end of what is waited for; if not, there is none.
            Poll::Ready(Ok(())) => match what.as_mut().poll(context) {
                Poll::Pending => Poll::Ready(Err(h2::Reason::NO_ERROR.into())),
                ended => ended,
            },
        }
    })
    .await
}

/// The next piece of a body.
async fn drive_data(
    connection: &mut Connection<Stream, Bytes>,
    stream: &mut RecvStream,
) -> Option<Result<Bytes, h2::Error>> {
    let next = poll_fn(|context| stream.poll_data(context).map(Option::transpose));
    drive(connection, next).await.transpose()
}

/// The request of HTTP/2 that says the same.
fn request(url: &str, head: &[u8]) -> Option<Request<()>> {
    let mut builder = Request::builder().method(Method::GET).uri(url);
    for line in head.split(|byte| *byte == b'\n').skip(1) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if !NOT_IN_HTTP2.iter().any(|other| name.eq_ignore_ascii_case(other.as_bytes())) {
            builder = builder.header(name, value);
        }
    }
    builder.body(()).ok()
}

/// The head as HTTP/1.1 would have it.
fn written<T>(response: &Response<T>) -> Vec<u8> {
    let status = response.status();
    let mut head =
        format!("HTTP/1.1 {} {}\r\n", status.as_str(), status.canonical_reason().unwrap_or_default())
            .into_bytes();
    for (name, value) in response.headers() {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            head.extend_from_slice(part);
        }
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// Why there is no answer.
fn reason(error: &h2::Error) -> Reason {
    if error.is_io() || error.is_remote() || error.reason() == Some(h2::Reason::NO_ERROR) {
        Reason::ConnectionLost
    } else {
        Reason::BadAnswer
    }
}

#[cfg(test)]
mod tests {
    use http::Uri;

    use super::*;

    #[test]
    fn every_url_can_be_asked_for() {
        let rules = model::UrlRules::default();
        let base = rules.canonical("https://a.org/").unwrap();
        for character in ' '..='~' {
            for path in [
                format!("/b{character}c?d={character}e"),
                format!("/%{:02X}?%{:02X}", character as u32, character as u32),
            ] {
                let url = rules.join(&base, &path).unwrap();
                assert!(url.as_str().parse::<Uri>().is_ok(), "{url}");
            }
        }
    }

    #[test]
    fn a_request_keeps_its_lines_but_for_those_of_the_connection() {
        let head = b"GET /b HTTP/1.1\r\nHost: a.org\r\nCookie: c=d:e\r\nConnection: keep-alive\r\n\r\n";
        let request = request("https://a.org/b", head).unwrap();
        assert_eq!((request.uri().to_string().as_str(), request.headers().len()), ("https://a.org/b", 1));
        assert_eq!(request.headers()["cookie"], "c=d:e");
    }
}
