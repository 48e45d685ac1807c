//! How is something written behind what its writer has seen last, or not at all? A ledger is a stream of JetStream, read and
//! written by subject.

use async_nats::jetstream::stream::{LastRawMessageErrorKind, RawMessageError};
use async_nats::jetstream::{self, ErrorCode, message::PublishMessage, message::StreamMessage};
use bytes::Bytes;

use crate::link::{Failure, Link};

/// Who wrote an entry, and behind which one: who repeats a write knows its own by them.
const WRITER: &str = "Weir-Writer";
const AFTER: &str = "Weir-After";

/// One stream.
pub(crate) struct Ledger {
    context: jetstream::Context,
    stream: jetstream::stream::Stream<()>,
    writer: String,
}

/// What came of a write.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// It is there, under this number.
    Done(u64),
    /// Something else is there.
    Stale,
}

impl Ledger {
    pub(crate) async fn open(link: &Link, stream: &str) -> Result<Ledger, Failure> {
        let stream = link.context.get_stream_no_info(stream).await.map_err(Failure::again)?;
        Ok(Ledger { context: link.context.clone(), stream, writer: link.identity.clone() })
    }

    /// Writes behind the entry of this number, 0 for none.
    pub(crate) async fn write(&self, subject: &str, after: u64, message: Bytes) -> Result<Write, Failure> {
        let publish = PublishMessage::build()
            .payload(message)
            .expected_last_subject_sequence(after)
            .header(WRITER, self.writer.as_str())
            .header(AFTER, after.to_string().as_str());
        let sent = self.context.send_publish(subject.to_owned(), publish).await.map_err(Failure::again)?;
        match sent.await {
            Ok(confirmed) => Ok(Write::Done(confirmed.sequence)),
            Err(error) if is_stale(&error) => Ok(Write::Stale),
            Err(error) => Err(Failure::again(error)),
        }
    }

    /// The same, where our own entry with the same content is as good: it was written by an attempt whose confirmation got
    /// lost.
    pub(crate) async fn write_once(
        &self,
        subject: &str,
        after: u64,
        message: Bytes,
    ) -> Result<Write, Failure> {
        match self.write(subject, after, message.clone()).await? {
            Write::Stale => match self.last(subject).await? {
                Some(last) if self.is_ours(&last, after, &message) => Ok(Write::Done(last.sequence)),
                _ => Ok(Write::Stale),
            },
            done => Ok(done),
        }
    }

    /// Writes whatever is there.
    pub(crate) async fn overwrite(&self, subject: &str, message: Bytes) -> Result<u64, Failure> {
        let sent = self.context.publish(subject.to_owned(), message).await.map_err(Failure::again)?;
        Ok(sent.await.map_err(Failure::again)?.sequence)
    }

    /// The last entry under a subject.
    pub(crate) async fn last(&self, subject: &str) -> Result<Option<StreamMessage>, Failure> {
        found(self.stream.get_last_raw_message_by_subject(subject).await)
    }

    /// The first entry under a subject from this number on.
    pub(crate) async fn next(&self, subject: &str, from: u64) -> Result<Option<StreamMessage>, Failure> {
        found(self.stream.get_first_raw_message_by_subject(subject, from).await)
    }

    /// Takes away all entries under a subject.
    pub(crate) async fn clear(&self, subject: &str) -> Result<(), Failure> {
        self.stream.purge().filter(subject).await.map_err(Failure::again)?;
        Ok(())
    }

    pub(crate) fn stream(&self) -> &jetstream::stream::Stream<()> {
        &self.stream
    }

    fn is_ours(&self, entry: &StreamMessage, after: u64, message: &Bytes) -> bool {
        let says =
            |name: &str, value: &str| entry.headers.get(name).is_some_and(|said| said.as_str() == value);
        entry.payload == *message && says(WRITER, &self.writer) && says(AFTER, &after.to_string())
    }
}

fn found(answer: Result<StreamMessage, RawMessageError>) -> Result<Option<StreamMessage>, Failure> {
    match answer {
        Ok(entry) => Ok(Some(entry)),
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(Failure::again(error)),
    }
}

fn is_stale(error: &jetstream::context::PublishError) -> bool {
    use std::error::Error;
    let code = error
        .source()
        .and_then(|source| source.downcast_ref::<jetstream::Error>())
        .map(jetstream::Error::error_code);
    // Servers of a cluster have a code of their own for it.
    matches!(
        code,
        Some(ErrorCode::STREAM_WRONG_LAST_SEQUENCE | ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT)
    )
}
