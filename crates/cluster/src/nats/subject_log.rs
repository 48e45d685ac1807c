//! JetStream stream that is read and written by subject, with compare-and-set writes: a message is appended only if the
//! writer has seen the last one of its subject.

use async_nats::jetstream::stream::{LastRawMessageErrorKind, RawMessageError};
use async_nats::jetstream::{self, ErrorCode, message::PublishMessage, message::StreamMessage};
use bytes::Bytes;

use crate::nats::connection::{Failure, NatsConnection};

/// Headers with the writer of a message and the sequence number that it expected: a writer that retries recognises its own
/// message by them.
const WRITER: &str = "Weir-Writer";
const AFTER: &str = "Weir-After";

/// One stream.
pub(crate) struct SubjectLog {
    context: jetstream::Context,
    stream: jetstream::stream::Stream<()>,
    writer: String,
}

/// Result of a compare-and-set write.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CasResult {
    /// The message was stored with this sequence number.
    Written(u64),
    /// The subject has a newer message.
    Conflict,
}

impl SubjectLog {
    pub(crate) async fn open(connection: &NatsConnection, stream: &str) -> Result<SubjectLog, Failure> {
        let stream = connection.context.get_stream_no_info(stream).await.map_err(Failure::transient)?;
        Ok(SubjectLog { context: connection.context.clone(), stream, writer: connection.identity.clone() })
    }

    /// Appends a message if the last one of the subject has the sequence number `after`; 0 means that there is none.
    pub(crate) async fn append_if(
        &self,
        subject: &str,
        after: u64,
        message: Bytes,
    ) -> Result<CasResult, Failure> {
        let publish = PublishMessage::build()
            .payload(message)
            .expected_last_subject_sequence(after)
            .header(WRITER, self.writer.as_str())
            .header(AFTER, after.to_string().as_str());
        let sent =
            self.context.send_publish(subject.to_owned(), publish).await.map_err(Failure::transient)?;
        match sent.await {
            Ok(confirmed) => Ok(CasResult::Written(confirmed.sequence)),
            Err(error) if is_conflict(&error) => Ok(CasResult::Conflict),
            Err(error) => Err(Failure::transient(error)),
        }
    }

    /// Appends like [`append_if`](SubjectLog::append_if), but accepts an equal message of our own as success: it was written by
    /// an attempt whose confirmation was lost.
    pub(crate) async fn append_once(
        &self,
        subject: &str,
        after: u64,
        message: Bytes,
    ) -> Result<CasResult, Failure> {
        match self.append_if(subject, after, message.clone()).await? {
            CasResult::Conflict => match self.last(subject).await? {
                Some(last) if self.written_by_us(&last, after, &message) => {
                    Ok(CasResult::Written(last.sequence))
                }
                _ => Ok(CasResult::Conflict),
            },
            written => Ok(written),
        }
    }

    /// Appends a message unconditionally.
    pub(crate) async fn put(&self, subject: &str, message: Bytes) -> Result<u64, Failure> {
        let sent = self.context.publish(subject.to_owned(), message).await.map_err(Failure::transient)?;
        Ok(sent.await.map_err(Failure::transient)?.sequence)
    }

    /// Last message of a subject.
    pub(crate) async fn last(&self, subject: &str) -> Result<Option<StreamMessage>, Failure> {
        none_if_missing(self.stream.get_last_raw_message_by_subject(subject).await)
    }

    /// First message of a subject whose sequence number is at least `from`.
    pub(crate) async fn next(&self, subject: &str, from: u64) -> Result<Option<StreamMessage>, Failure> {
        none_if_missing(self.stream.get_first_raw_message_by_subject(subject, from).await)
    }

    /// Deletes all messages of a subject.
    pub(crate) async fn purge(&self, subject: &str) -> Result<(), Failure> {
        self.stream.purge().filter(subject).await.map_err(Failure::transient)?;
        Ok(())
    }

    pub(crate) fn stream(&self) -> &jetstream::stream::Stream<()> {
        &self.stream
    }

    fn written_by_us(&self, entry: &StreamMessage, after: u64, message: &Bytes) -> bool {
        let has_header =
            |name: &str, value: &str| entry.headers.get(name).is_some_and(|field| field.as_str() == value);
        entry.payload == *message && has_header(WRITER, &self.writer) && has_header(AFTER, &after.to_string())
    }
}

fn none_if_missing(result: Result<StreamMessage, RawMessageError>) -> Result<Option<StreamMessage>, Failure> {
    match result {
        Ok(entry) => Ok(Some(entry)),
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(Failure::transient(error)),
    }
}

fn is_conflict(error: &jetstream::context::PublishError) -> bool {
    use std::error::Error;
    let code = error
        .source()
        .and_then(|source| source.downcast_ref::<jetstream::Error>())
        .map(jetstream::Error::error_code);
    // Clustered servers use a different code than single ones.
    matches!(
        code,
        Some(ErrorCode::STREAM_WRONG_LAST_SEQUENCE | ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT)
    )
}
