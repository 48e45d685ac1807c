//! Incremental parser of HTTP/1.1 responses, with limits.
//!
//! The receiving side of the protocol without a socket: chunks of any size go in, a [`Response`] comes out. Tests can
//! therefore try every hostile input without a server.

use model::{Reason, Truncation};

use crate::body_budget::BodyBudget;
use crate::http::chunked::{ChunkDecoder, DecodeStatus};
use crate::http::head::Framing;
use crate::http::head::Head;
use crate::http::head::HeadReader;
use crate::http::head::parse_head;
use crate::mime_types::MimeTypes;
use crate::response::Response;

/// Maximum number of interim responses (1xx) before the final one.
pub(crate) const MAX_INTERIM_RESPONSES: u8 = 8;
/// The body of a redirect is a short notice for people, so the rest of a longer one is not read.
pub(crate) const MAX_REDIRECT_BODY_BYTES: usize = 16 << 10;
/// Maximum memory allocated on the word of a `Content-Length` alone.
const MAX_PREALLOCATED_BYTES: usize = 1 << 20;

/// Limits on size and MIME type of one response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadLimits<'l> {
    pub(crate) max_head_bytes: usize,
    pub(crate) max_body_bytes: usize,
    /// `None` accepts every type.
    pub(crate) mime_types: Option<&'l MimeTypes>,
    /// Budget of the body; `None` is unlimited.
    pub(crate) body_budget: Option<&'l BodyBudget>,
}

impl ReadLimits<'_> {
    /// Maximum size of the body of a response with this status.
    pub(crate) fn max_body_bytes_for(&self, status: u16) -> usize {
        if is_redirect(status) {
            self.max_body_bytes.min(MAX_REDIRECT_BODY_BYTES)
        } else {
            self.max_body_bytes
        }
    }

    /// Whether the body is read. The type of a redirect or an error page does not matter.
    pub(crate) fn accepts(&self, status: u16, content_type: Option<&[u8]>) -> bool {
        let (true, Some(types)) = ((200..300).contains(&status), self.mime_types) else { return true };
        content_type.is_none_or(|content_type| types.matches(content_type))
    }
}

fn is_redirect(status: u16) -> bool {
    (300..400).contains(&status)
}

/// State of a response that is being received.
#[derive(Debug)]
pub(crate) struct ResponseReader<'l> {
    limits: ReadLimits<'l>,
    head: HeadReader,
    state: ReadState,
    interim_responses: u8,
    max_body_bytes: usize,
    /// Whether the connection can be used again.
    pub(crate) keep_alive: bool,
    pub(crate) is_http11: bool,
    pub(crate) response: Response,
}

#[derive(Debug)]
enum ReadState {
    Head,
    ContentLength { remaining: u64 },
    Chunked(ChunkDecoder),
    UntilClose,
    Done,
}

impl<'l> ResponseReader<'l> {
    pub(crate) fn new(limits: ReadLimits<'l>) -> ResponseReader<'l> {
        ResponseReader {
            limits,
            head: HeadReader::default(),
            state: ReadState::Head,
            interim_responses: 0,
            max_body_bytes: 0,
            keep_alive: false,
            is_http11: true,
            response: Response::default(),
        }
    }

    /// Whether the response is complete or has failed.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, ReadState::Done)
    }

    /// Processes received bytes.
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while !rest.is_empty() && matches!(self.state, ReadState::Head) {
            rest = match self.head.push(rest, self.limits.max_head_bytes) {
                Ok(None) => return,
                Ok(Some(length)) => {
                    self.on_head();
                    &rest[length..]
                }
                Err(reason) => return self.fail(reason),
            };
        }
        self.push_body(rest);
    }

    /// Body buffer and the number of bytes that may be appended to it directly, without a copy. The caller reports what
    /// it appended with [`advance_body`](ResponseReader::advance_body).
    pub(crate) fn body_buffer(&mut self) -> Option<(&mut Vec<u8>, usize)> {
        let ReadState::ContentLength { remaining } = self.state else { return None };
        let room = self.max_body_bytes.saturating_sub(self.response.body.len());
        let max_bytes = room.min(usize::try_from(remaining).unwrap_or(usize::MAX));
        (max_bytes > 0).then_some((&mut self.response.body, max_bytes))
    }

    /// Records bytes that were appended to the body directly.
    pub(crate) fn advance_body(&mut self, length: usize) {
        if let ReadState::ContentLength { remaining } = &mut self.state {
            *remaining = remaining.saturating_sub(length as u64);
            self.check_length();
        }
    }

    /// Budget and maximum size of a body of which more is about to be received.
    pub(crate) fn body_limit(&self) -> Option<(&'l BodyBudget, usize)> {
        let body = self.response.body.len();
        let max_bytes = match self.state {
            ReadState::Head | ReadState::Done => return None,
            ReadState::ContentLength { remaining } => {
                usize::try_from(remaining).unwrap_or(usize::MAX).saturating_add(body)
            }
            ReadState::Chunked(_) | ReadState::UntilClose => usize::MAX,
        };
        Some((self.limits.body_budget?, max_bytes.min(self.max_body_bytes)))
    }

    /// Handles a budget that has no more memory for the body.
    pub(crate) fn on_memory_limit(&mut self) {
        self.truncate(Truncation::Length, None);
    }

    /// Handles the orderly end of the connection.
    pub(crate) fn on_close(&mut self) {
        self.keep_alive = false;
        match self.state {
            ReadState::UntilClose | ReadState::Done => self.state = ReadState::Done,
            _ => self.on_disconnect(),
        }
    }

    /// Handles a connection that was reset or ended within the response.
    pub(crate) fn on_disconnect(&mut self) {
        self.truncate(Truncation::Disconnect, Some(Reason::ConnectionClosed));
    }

    /// Handles a timeout.
    pub(crate) fn on_timeout(&mut self, reason: Reason) {
        self.truncate(Truncation::Time, Some(reason));
    }

    /// Interprets a complete head and chooses how the body is read.
    fn on_head(&mut self) {
        let bytes = std::mem::take(&mut self.head.bytes);
        let (status, framing) = match parse_head(&bytes) {
            // The crawler never requests an upgrade, so a switch of protocols is invalid.
            Ok(Head { status: 101, .. }) => return self.fail(Reason::InvalidResponse),
            Ok(Head { status: 100..200, .. }) => return self.skip_interim(),
            Ok(head) => {
                self.keep_alive = head.keep_alive;
                self.is_http11 = head.is_http11;
                if !self.limits.accepts(head.status, head.content_type) {
                    self.response.failure = Some(Reason::MimeType);
                }
                (head.status, head.framing)
            }
            Err(reason) => return self.fail(reason),
        };
        self.response.status = status;
        self.response.head = bytes;
        self.max_body_bytes = self.limits.max_body_bytes_for(status);
        if self.response.failure.is_some() {
            // The body is not read, so the connection is reusable only if there is none.
            self.keep_alive &= framing == Framing::None;
            self.state = ReadState::Done;
            return;
        }
        self.state = match framing {
            Framing::None => ReadState::Done,
            Framing::ContentLength(remaining) => ReadState::ContentLength { remaining },
            Framing::Chunked => ReadState::Chunked(ChunkDecoder::new()),
            Framing::UntilClose => ReadState::UntilClose,
        };
        if let Framing::ContentLength(length) = framing {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            self.response.body.reserve_exact(length.min(self.max_body_bytes).min(MAX_PREALLOCATED_BYTES));
            self.check_length();
        }
    }

    fn skip_interim(&mut self) {
        self.interim_responses += 1;
        if self.interim_responses > MAX_INTERIM_RESPONSES {
            return self.fail(Reason::InvalidResponse);
        }
        self.head.restart();
    }

    fn push_body(&mut self, rest: &[u8]) {
        let limit = self.max_body_bytes;
        match &mut self.state {
            ReadState::Head => {}
            ReadState::ContentLength { .. } => {
                let Some((body, room)) = self.body_buffer() else { return self.check_length() };
                let length = rest.len().min(room);
                body.extend_from_slice(&rest[..length]);
                self.advance_body(length);
                self.on_surplus(&rest[length..]);
            }
            ReadState::Chunked(decoder) => match decoder.decode(rest, &mut self.response.body, limit) {
                Ok(DecodeStatus::NeedMore) => {}
                Ok(DecodeStatus::Done(length)) => {
                    self.state = ReadState::Done;
                    self.on_surplus(&rest[length..]);
                }
                Ok(DecodeStatus::LimitReached) => self.truncate(Truncation::Length, None),
                Err(_) => self.truncate(Truncation::Disconnect, Some(Reason::InvalidBody)),
            },
            ReadState::UntilClose => {
                let length = rest.len().min(limit - self.response.body.len());
                self.response.body.extend_from_slice(&rest[..length]);
                if length < rest.len() {
                    self.truncate(Truncation::Length, None);
                }
            }
            ReadState::Done => self.on_surplus(rest),
        }
    }

    /// Closes the connection after the response if bytes follow it: they would be read as the next response.
    fn on_surplus(&mut self, rest: &[u8]) {
        self.keep_alive &= rest.is_empty();
    }

    fn check_length(&mut self) {
        let ReadState::ContentLength { remaining } = self.state else { return };
        if remaining == 0 {
            self.state = ReadState::Done;
        } else if self.response.body.len() >= self.max_body_bytes {
            self.truncate(Truncation::Length, None);
        }
    }

    /// Ends the response early. Without a complete head there is no response to mark as truncated.
    fn truncate(&mut self, truncation: Truncation, failure: Option<Reason>) {
        self.keep_alive = false;
        if self.response.status != 0 {
            self.response.truncation = Some(truncation);
        }
        self.response.failure = failure;
        self.state = ReadState::Done;
    }

    fn fail(&mut self, reason: Reason) {
        self.keep_alive = false;
        self.response.failure = Some(reason);
        self.state = ReadState::Done;
    }
}

/// Parses an HTTP/1.1 response that arrives in these chunks, after which the connection closes.
pub fn parse_response<'c>(
    chunks: impl IntoIterator<Item = &'c [u8]>,
    max_head_bytes: usize,
    max_body_bytes: usize,
) -> Response {
    let mut reader = ResponseReader::new(ReadLimits {
        max_head_bytes,
        max_body_bytes,
        mime_types: None,
        body_budget: None,
    });
    for chunk in chunks {
        if !reader.is_done() {
            reader.push(chunk);
        }
    }
    if !reader.is_done() {
        reader.on_close();
    }
    reader.response
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Response {
        parse_response([text.as_bytes()], 200, 10)
    }

    #[test]
    fn the_body_ends_where_the_head_says() {
        let response = read("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef");
        assert_eq!((response.status, &response.body[..], response.failure), (200, &b"abc"[..], None));
        assert_eq!(response.head, b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n");
        assert_eq!(read("HTTP/1.0 200 OK\r\n\r\nabc").body, b"abc");
        assert_eq!(read("HTTP/1.1 204 No\r\n\r\nabc").body, b"");
        let truncated = read("HTTP/1.1 200 OK\r\n\r\n0123456789+");
        assert_eq!(
            (&truncated.body[..], truncated.truncation, truncated.failure),
            (&b"0123456789"[..], Some(Truncation::Length), None)
        );
        let lost = read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc");
        assert_eq!(
            (lost.truncation, lost.failure),
            (Some(Truncation::Disconnect), Some(Reason::ConnectionClosed))
        );
        let exact = read("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789");
        assert_eq!((exact.body.len(), exact.truncation), (10, None));
    }

    #[test]
    fn interim_responses_are_skipped_up_to_their_limit() {
        let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
        let response = read(&(interim.repeat(8) + "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"));
        assert_eq!(response.status, 404);
        assert_eq!(
            read(&(interim.repeat(9) + "HTTP/1.1 404 No\r\n\r\n")).failure,
            Some(Reason::InvalidResponse)
        );
        assert_eq!(read("HTTP/1.1 101 Switch\r\n\r\n").failure, Some(Reason::InvalidResponse));
    }

    #[test]
    fn other_protocols_are_detected_by_their_first_bytes() {
        for text in [
            "<html>",
            "ICY 200 OK\r\n\r\n",
            "HTTP/2 200\r\n\r\n",
            "\0",
            "SSH-2.0-x\r\n",
            "http/1.1 200 OK\r\n\r\n",
        ] {
            let response = read(text);
            assert_eq!((response.status, response.failure), (0, Some(Reason::InvalidResponse)), "{text:?}");
        }
        assert_eq!(read("\r\n\r\nHTTP/1.1 200 OK\r\n\r\na").body, b"a");
        assert_eq!(read(&"\r\n".repeat(5)).failure, Some(Reason::InvalidResponse));
        assert_eq!(
            read(&format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(200))).failure,
            Some(Reason::HeadersTooLarge)
        );
    }

    fn hostile() -> impl Strategy<Value = Vec<u8>> {
        let chunk = prop_oneof![
            4 => prop::sample::select(vec![
                "HTTP/1.1 200 OK\r\n", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.0 301\n", "\r\n", "\n", "\r", "Content-Length: 4\r\n",
                "Transfer-Encoding: chunked\r\n", "X: y\n", "4\r\nabcd\r\n", "0\r\n\r\n", "abcd", "\r\n\r\n", " fold\r\n", "HTT",
            ]).prop_map(|text| text.as_bytes().to_vec()),
            1 => prop::collection::vec(any::<u8>(), 0..4),
        ];
        let prefix = prop::sample::select(vec![
            "",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        ]);
        (prefix, prop::collection::vec(chunk, 0..10))
            .prop_map(|(prefix, chunks)| [prefix.as_bytes().to_vec(), chunks.concat()].concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn the_result_does_not_depend_on_how_the_bytes_are_split(bytes in hostile(), size in 1..20usize, max_body_bytes in 0..12usize, max_head_bytes in 20..200usize) {
            let whole = parse_response([&bytes[..]], max_head_bytes, max_body_bytes);
            let split = parse_response(bytes.chunks(size), max_head_bytes, max_body_bytes);
            prop_assert!(whole.body.len() <= max_body_bytes && whole.head.len() <= max_head_bytes);
            prop_assert_eq!(whole, split);
        }
    }
}
