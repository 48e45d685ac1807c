//! What has come of an answer over HTTP/1.1, and what is still to come?
//!
//! The whole protocol as seen by who receives, without a socket: pieces of any size go in, an [`Answer`] comes out. So
//! all that a hostile server can say is tried out without one.

use model::Reason;

use crate::answer::{Answer, Cut};
use crate::chunked::{ChunkDecoder, Progress};
use crate::head::{Framing, Head, HeadReader, read_head};
use crate::media_types::MediaTypes;

/// Interim answers (1xx) before the one that counts.
const INTERIM_LIMIT: u8 = 8;
/// Who redirects has little to say beside it.
pub(crate) const REDIRECT_BODY_LIMIT_BYTES: usize = 16 << 10;
/// What is set aside for a body whose length was promised and not yet seen.
const TRUSTED_LENGTH_BYTES: usize = 1 << 20;

/// How much is taken, and of what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'w> {
    pub(crate) head_bytes: usize,
    pub(crate) body_bytes: usize,
    /// None takes any.
    pub(crate) media_types: Option<&'w MediaTypes>,
}

impl Wanted<'_> {
    /// The longest body of an answer with this status.
    pub(crate) fn body_limit_bytes(&self, status: u16) -> usize {
        if is_redirect(status) { self.body_bytes.min(REDIRECT_BODY_LIMIT_BYTES) } else { self.body_bytes }
    }

    /// Whether the body is to be read. What a failure or a redirect is made of does not matter.
    pub(crate) fn takes(&self, status: u16, content_type: Option<&[u8]>) -> bool {
        let (true, Some(types)) = ((200..300).contains(&status), self.media_types) else { return true };
        content_type.is_none_or(|content_type| types.hold(content_type))
    }
}

fn is_redirect(status: u16) -> bool {
    (300..400).contains(&status)
}

/// An answer that is being received.
#[derive(Debug)]
pub(crate) struct Reception<'w> {
    wanted: Wanted<'w>,
    head: HeadReader,
    state: State,
    interim: u8,
    body_limit_bytes: usize,
    /// Whether the connection can be asked again afterwards.
    pub(crate) keeps: bool,
    pub(crate) is_1_1: bool,
    pub(crate) answer: Answer,
}

#[derive(Debug)]
enum State {
    Head,
    Length { left: u64 },
    Chunked(ChunkDecoder),
    Close,
    Done,
}

impl<'w> Reception<'w> {
    pub(crate) fn new(wanted: Wanted<'w>) -> Reception<'w> {
        Reception {
            wanted,
            head: HeadReader::default(),
            state: State::Head,
            interim: 0,
            body_limit_bytes: 0,
            keeps: false,
            is_1_1: true,
            answer: Answer::default(),
        }
    }

    /// Whether nothing more is expected.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Takes what came.
    pub(crate) fn take(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while !rest.is_empty() && matches!(self.state, State::Head) {
            rest = match self.head.take(rest, self.wanted.head_bytes) {
                Ok(None) => return,
                Ok(Some(length)) => {
                    self.begin();
                    &rest[length..]
                }
                Err(reason) => return self.fail(reason),
            };
        }
        self.take_body(rest);
    }

    /// The body, if so many bytes as the second value can be read straight behind it. To be followed by
    /// [`took`](Reception::took).
    pub(crate) fn direct(&mut self) -> Option<(&mut Vec<u8>, usize)> {
        let State::Length { left } = self.state else { return None };
        let room = self.body_limit_bytes.saturating_sub(self.answer.body.len());
        let wanted = room.min(usize::try_from(left).unwrap_or(usize::MAX));
        (wanted > 0).then_some((&mut self.answer.body, wanted))
    }

    /// So many bytes were read straight into the body.
    pub(crate) fn took(&mut self, length: usize) {
        if let State::Length { left } = &mut self.state {
            *left = left.saturating_sub(length as u64);
            self.settle_length();
        }
    }

    /// The server has ended the connection in order.
    pub(crate) fn closed(&mut self) {
        self.keeps = false;
        match self.state {
            State::Close | State::Done => self.state = State::Done,
            _ => self.broken(),
        }
    }

    /// The connection broke.
    pub(crate) fn broken(&mut self) {
        self.cut(Cut::Disconnect, Some(Reason::ConnectionLost));
    }

    /// There is no more time, or it is not worth waiting.
    pub(crate) fn out_of_time(&mut self, reason: Reason) {
        self.cut(Cut::Time, Some(reason));
    }

    /// A head is complete.
    fn begin(&mut self) {
        let bytes = std::mem::take(&mut self.head.bytes);
        let (status, framing) = match read_head(&bytes) {
            Ok(Head { status: 101, .. }) => return self.fail(Reason::BadAnswer),
            Ok(Head { status: 100..200, .. }) => return self.pass_interim(),
            Ok(head) => {
                self.keeps = head.keeps;
                self.is_1_1 = head.is_1_1;
                if !self.wanted.takes(head.status, head.content_type) {
                    self.answer.failure = Some(Reason::MediaType);
                }
                (head.status, head.framing)
            }
            Err(reason) => return self.fail(reason),
        };
        self.answer.status = status;
        self.answer.head = bytes;
        self.body_limit_bytes = self.wanted.body_limit_bytes(status);
        if self.answer.failure.is_some() {
            self.keeps &= framing == Framing::Nothing;
            self.state = State::Done;
            return;
        }
        self.state = match framing {
            Framing::Nothing => State::Done,
            Framing::Length(left) => State::Length { left },
            Framing::Chunked => State::Chunked(ChunkDecoder::new()),
            Framing::Close => State::Close,
        };
        if let Framing::Length(length) = framing {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            self.answer.body.reserve_exact(length.min(self.body_limit_bytes).min(TRUSTED_LENGTH_BYTES));
            self.settle_length();
        }
    }

    fn pass_interim(&mut self) {
        self.interim += 1;
        if self.interim > INTERIM_LIMIT {
            return self.fail(Reason::BadAnswer);
        }
        self.head.restart();
    }

    fn take_body(&mut self, rest: &[u8]) {
        let limit = self.body_limit_bytes;
        match &mut self.state {
            State::Head => {}
            State::Length { .. } => {
                let Some((body, room)) = self.direct() else { return self.settle_length() };
                let length = rest.len().min(room);
                body.extend_from_slice(&rest[..length]);
                self.took(length);
                self.take_surplus(&rest[length..]);
            }
            State::Chunked(decoder) => match decoder.decode(rest, &mut self.answer.body, limit) {
                Ok(Progress::More) => {}
                Ok(Progress::End(length)) => {
                    self.state = State::Done;
                    self.take_surplus(&rest[length..]);
                }
                Ok(Progress::Full) => self.cut(Cut::Length, None),
                Err(_) => self.cut(Cut::Disconnect, Some(Reason::BadBody)),
            },
            State::Close => {
                let length = rest.len().min(limit - self.answer.body.len());
                self.answer.body.extend_from_slice(&rest[..length]);
                if length < rest.len() {
                    self.cut(Cut::Length, None);
                }
            }
            State::Done => self.take_surplus(rest),
        }
    }

    /// What follows an answer that nobody asked for spoils the connection.
    fn take_surplus(&mut self, rest: &[u8]) {
        self.keeps &= rest.is_empty();
    }

    fn settle_length(&mut self) {
        let State::Length { left } = self.state else { return };
        if left == 0 {
            self.state = State::Done;
        } else if self.answer.body.len() >= self.body_limit_bytes {
            self.cut(Cut::Length, None);
        }
    }

    /// The body ends here, though it should not. Where there is no head yet, there is no answer.
    fn cut(&mut self, cut: Cut, failure: Option<Reason>) {
        self.keeps = false;
        if self.answer.status != 0 {
            self.answer.cut = Some(cut);
        }
        self.answer.failure = failure;
        self.state = State::Done;
    }

    fn fail(&mut self, reason: Reason) {
        self.keeps = false;
        self.answer.failure = Some(reason);
        self.state = State::Done;
    }
}

/// Reads an answer over HTTP/1.1 that comes in these pieces and then ends. For whoever has bytes and no server.
pub fn read_answer<'p>(
    pieces: impl IntoIterator<Item = &'p [u8]>,
    head_bytes: usize,
    body_bytes: usize,
) -> Answer {
    let mut reception = Reception::new(Wanted { head_bytes, body_bytes, media_types: None });
    for piece in pieces {
        if !reception.is_done() {
            reception.take(piece);
        }
    }
    if !reception.is_done() {
        reception.closed();
    }
    reception.answer
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Answer {
        read_answer([text.as_bytes()], 200, 10)
    }

    #[test]
    fn a_body_ends_where_the_head_says() {
        let answer = read("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef");
        assert_eq!((answer.status, &answer.body[..], answer.failure), (200, &b"abc"[..], None));
        assert_eq!(answer.head, b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n");
        assert_eq!(read("HTTP/1.0 200 OK\r\n\r\nabc").body, b"abc");
        assert_eq!(read("HTTP/1.1 204 No\r\n\r\nabc").body, b"");
        let cut = read("HTTP/1.1 200 OK\r\n\r\n0123456789+");
        assert_eq!((&cut.body[..], cut.cut, cut.failure), (&b"0123456789"[..], Some(Cut::Length), None));
        let lost = read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc");
        assert_eq!((lost.cut, lost.failure), (Some(Cut::Disconnect), Some(Reason::ConnectionLost)));
        let exact = read("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789");
        assert_eq!((exact.body.len(), exact.cut), (10, None));
    }

    #[test]
    fn interim_answers_are_passed_and_counted() {
        let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
        let answer = read(&(interim.repeat(8) + "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"));
        assert_eq!(answer.status, 404);
        assert_eq!(read(&(interim.repeat(9) + "HTTP/1.1 404 No\r\n\r\n")).failure, Some(Reason::BadAnswer));
        assert_eq!(read("HTTP/1.1 101 Switch\r\n\r\n").failure, Some(Reason::BadAnswer));
    }

    #[test]
    fn what_is_no_http_is_told_by_its_first_bytes() {
        for text in [
            "<html>",
            "ICY 200 OK\r\n\r\n",
            "HTTP/2 200\r\n\r\n",
            "\0",
            "SSH-2.0-x\r\n",
            "http/1.1 200 OK\r\n\r\n",
        ] {
            let answer = read(text);
            assert_eq!((answer.status, answer.failure), (0, Some(Reason::BadAnswer)), "{text:?}");
        }
        assert_eq!(read("\r\n\r\nHTTP/1.1 200 OK\r\n\r\na").body, b"a");
        assert_eq!(read(&"\r\n".repeat(5)).failure, Some(Reason::BadAnswer));
        assert_eq!(
            read(&format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(200))).failure,
            Some(Reason::HeadTooLong)
        );
    }

    fn hostile() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            4 => prop::sample::select(vec![
                "HTTP/1.1 200 OK\r\n", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.0 301\n", "\r\n", "\n", "\r", "Content-Length: 4\r\n",
                "Transfer-Encoding: chunked\r\n", "X: y\n", "4\r\nabcd\r\n", "0\r\n\r\n", "abcd", "\r\n\r\n", " fold\r\n", "HTT",
            ]).prop_map(|text| text.as_bytes().to_vec()),
            1 => prop::collection::vec(any::<u8>(), 0..4),
        ];
        let beginning = prop::sample::select(vec![
            "",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        ]);
        (beginning, prop::collection::vec(piece, 0..10))
            .prop_map(|(beginning, pieces)| [beginning.as_bytes().to_vec(), pieces.concat()].concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn it_does_not_matter_where_pieces_are_split(bytes in hostile(), size in 1..20usize, body_bytes in 0..12usize, head_bytes in 20..200usize) {
            let whole = read_answer([&bytes[..]], head_bytes, body_bytes);
            let split = read_answer(bytes.chunks(size), head_bytes, body_bytes);
            prop_assert!(whole.body.len() <= body_bytes && whole.head.len() <= head_bytes);
            prop_assert_eq!(whole, split);
        }
    }
}
