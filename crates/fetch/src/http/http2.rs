//! Exchange over HTTP/2: one stream at a time, with request and response heads in the form of HTTP/1.1, so that all
//! later readers of a head need one parser.
//!
//! There is no background task: the connection is polled only while an exchange waits for it. What the server sends in
//! between stays in the socket buffer.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::RecvStream;
use h2::client::{Builder, Connection, SendRequest};
use http::{Method, Request};
use model::{Reason, Truncation};

use crate::exchange_timer::ExchangeTimer;
use crate::http::metered_stream::{MeteredStream, TrafficMeter};
use crate::http::response_reader::{MAX_INTERIM_RESPONSES, ReadLimits};
use crate::response::Response;
use crate::tls_stream::MaybeTlsStream;

/// Flow-control window of a stream and of the connection.
const WINDOW_BYTES: u32 = 512 << 10;
/// Allowance for the 32 bytes per header that HTTP/2 adds to the size of a header list (RFC 9113, section 6.5.2).
const HEADER_LIST_OVERHEAD_BYTES: usize = 8 << 10;
/// Maximum number of bytes that a server may send for one response beside its head and body: control frames, interim
/// responses, and what the window lets it send ahead.
const MAX_OVERHEAD_BYTES: usize = 1 << 20;
/// Headers of HTTP/1.1 that HTTP/2 replaces or forbids.
const CONNECTION_HEADERS: [&str; 2] = ["host", "connection"];

/// Open HTTP/2 connection.
#[derive(Debug)]
pub(crate) struct Http2 {
    sender: SendRequest<Bytes>,
    connection: Connection<MeteredStream, Bytes>,
    meter: TrafficMeter,
    max_list_bytes: usize,
}

impl Http2 {
    pub(crate) async fn handshake(stream: MaybeTlsStream, max_head_bytes: usize) -> Result<Http2, h2::Error> {
        // The library reports a header list above its limit as a general protocol error. A wider limit here lets
        // `exchange` report `HeadersTooLarge` for all but extreme heads.
        let max_list_bytes = max_head_bytes.saturating_mul(2).saturating_add(HEADER_LIST_OVERHEAD_BYTES);
        let meter = TrafficMeter::new(MAX_OVERHEAD_BYTES);
        let (sender, connection) = Builder::new()
            .enable_push(false)
            .max_concurrent_streams(1)
            .initial_window_size(WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES)
            .max_header_list_size(u32::try_from(max_list_bytes).unwrap_or(u32::MAX))
            .handshake(MeteredStream::new(stream, meter.clone()))
            .await?;
        Ok(Http2 { sender, connection, meter, max_list_bytes })
    }

    /// Whether another request can be sent: the connection is open and the server has not sent GOAWAY.
    pub(crate) fn is_open(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        Pin::new(&mut self.connection).poll(&mut context).is_pending()
            && matches!(self.sender.poll_ready(&mut context), Poll::Ready(Ok(())))
    }

    /// Sends a request, given as a head of HTTP/1.1; the second value says whether the connection can be used again.
    pub(crate) async fn exchange(
        &mut self,
        url: &str,
        head: &[u8],
        limits: &ReadLimits<'_>,
        timer: &mut ExchangeTimer<'_>,
    ) -> (Response, bool) {
        let Some(request) = build_request(url, head) else {
            return (Response::from_failure(Reason::InvalidResponse), true);
        };
        timer.request_started();
        self.meter.restart(MAX_OVERHEAD_BYTES.saturating_add(self.max_list_bytes));
        let received = match timer.with_timeout(self.send_request(request)).await {
            Ok(Ok(received)) => received,
            Ok(Err(_)) if self.meter.is_used_up() => {
                return (Response::from_failure(Reason::InvalidResponse), false);
            }
            Ok(Err(error)) => return (Response::from_failure(failure_reason(&error)), false),
            Err(reason) => return (Response::from_failure(reason), false),
        };
        let status = received.status().as_u16();
        let mut response = Response { status, head: as_http1_head(&received), ..Response::default() };
        timer.on_bytes(response.head.len());
        if response.head.len() > limits.max_head_bytes {
            return (Response::from_failure(Reason::HeadersTooLarge), false);
        }
        let content_type = received.headers().get("content-type").map(http::HeaderValue::as_bytes);
        if !limits.accepts(response.status, content_type) {
            response.failure = Some(Reason::MimeType);
            return (response, false);
        }
        let length =
            received.headers().get("content-length").and_then(|value| value.to_str().ok()?.parse().ok());
        let stream = received.into_body();
        self.read_body(stream, length, limits, timer, &mut response).await;
        let is_complete = response.truncation.is_none();
        (response, is_complete)
    }

    async fn send_request(&mut self, request: Request<()>) -> Result<http::Response<RecvStream>, h2::Error> {
        let Http2 { sender, connection, .. } = self;
        poll_connection_with(connection, poll_fn(|context| sender.poll_ready(context))).await?;
        let (mut received, _) = sender.send_request(request, true)?;
        let mut interim_responses = 0;
        let head = poll_fn(|context| {
            // The library queues interim responses until they are taken.
            while let Poll::Ready(Some(interim)) = received.poll_informational(context) {
                interim?;
                interim_responses += 1;
                if interim_responses > MAX_INTERIM_RESPONSES {
                    return Poll::Ready(Err(h2::Reason::PROTOCOL_ERROR.into()));
                }
            }
            Pin::new(&mut received).poll(context)
        });
        poll_connection_with(connection, head).await
    }

    async fn read_body(
        &mut self,
        mut stream: RecvStream,
        length: Option<usize>,
        limits: &ReadLimits<'_>,
        timer: &mut ExchangeTimer<'_>,
        response: &mut Response,
    ) {
        let max_bytes = limits.max_body_bytes_for(response.status);
        let max_memory_bytes = max_bytes.min(length.unwrap_or(usize::MAX));
        loop {
            let bytes = response.body.len();
            if let Some(budget) = limits.body_budget.filter(|_| !stream.is_end_stream())
                && !budget.grow(&mut response.reservation, bytes, max_memory_bytes, timer).await
            {
                return truncate(response, Truncation::Length, None);
            }
            let next = next_data(&mut self.connection, &mut stream);
            let data = match timer.with_timeout(next).await {
                Ok(None) => return,
                Ok(Some(Ok(data))) => data,
                Ok(Some(Err(_))) if self.meter.is_used_up() => {
                    return truncate(response, Truncation::Disconnect, Some(Reason::InvalidBody));
                }
                Ok(Some(Err(_))) => {
                    return truncate(response, Truncation::Disconnect, Some(Reason::ConnectionClosed));
                }
                Err(reason) => return truncate(response, Truncation::Time, Some(reason)),
            };
            timer.on_bytes(data.len());
            self.meter.on_body(data.len());
            let length = data.len().min(max_bytes - response.body.len());
            response.body.extend_from_slice(&data[..length]);
            if length < data.len() {
                return truncate(response, Truncation::Length, None);
            }
            if stream.flow_control().release_capacity(data.len()).is_err() {
                return truncate(response, Truncation::Disconnect, Some(Reason::InvalidBody));
            }
        }
    }
}

fn truncate(response: &mut Response, truncation: Truncation, failure: Option<Reason>) {
    response.truncation = Some(truncation);
    response.failure = failure;
}

/// Waits for `future` while polling the connection, which makes the progress that `future` waits for.
async fn poll_connection_with<T>(
    connection: &mut Connection<MeteredStream, Bytes>,
    future: impl Future<Output = Result<T, h2::Error>>,
) -> Result<T, h2::Error> {
    let mut future = pin!(future);
    poll_fn(|context| {
        if let Poll::Ready(value) = future.as_mut().poll(context) {
            return Poll::Ready(value);
        }
        match Pin::new(&mut *connection).poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            // The connection has ended. Its last frames may have completed `future`; otherwise nothing will.
            Poll::Ready(Ok(())) => match future.as_mut().poll(context) {
                Poll::Pending => Poll::Ready(Err(h2::Reason::NO_ERROR.into())),
                ready => ready,
            },
        }
    })
    .await
}

/// Next DATA frame of a body.
async fn next_data(
    connection: &mut Connection<MeteredStream, Bytes>,
    stream: &mut RecvStream,
) -> Option<Result<Bytes, h2::Error>> {
    let next = poll_fn(|context| stream.poll_data(context).map(Option::transpose));
    poll_connection_with(connection, next).await.transpose()
}

/// HTTP/2 request with the headers of an HTTP/1.1 head.
fn build_request(url: &str, head: &[u8]) -> Option<Request<()>> {
    let mut builder = Request::builder().method(Method::GET).uri(url);
    for line in head.split(|byte| *byte == b'\n').skip(1) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if !CONNECTION_HEADERS.iter().any(|other| name.eq_ignore_ascii_case(other.as_bytes())) {
            builder = builder.header(name, value);
        }
    }
    builder.body(()).ok()
}

/// HTTP/1.1 head with the status and the headers of an HTTP/2 response.
fn as_http1_head<T>(response: &http::Response<T>) -> Vec<u8> {
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

fn failure_reason(error: &h2::Error) -> Reason {
    if error.is_io() || error.is_remote() || error.reason() == Some(h2::Reason::NO_ERROR) {
        Reason::ConnectionClosed
    } else {
        Reason::InvalidResponse
    }
}

#[cfg(test)]
mod tests {
    use http::Uri;

    use super::*;

    #[test]
    fn every_canonical_url_is_a_valid_uri_of_the_http_library() {
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
    fn a_request_has_all_headers_except_those_of_the_connection() {
        let head = b"GET /b HTTP/1.1\r\nHost: a.org\r\nCookie: c=d:e\r\nConnection: keep-alive\r\n\r\n";
        let request = build_request("https://a.org/b", head).unwrap();
        assert_eq!((request.uri().to_string().as_str(), request.headers().len()), ("https://a.org/b", 1));
        assert_eq!(request.headers()["cookie"], "c=d:e");
    }
}
