//! Subscriber to all logs of a collection, which delivers each entry exactly once.
//!
//! The position is the sequence number of the last entry that was returned. It is kept here and not in the broker: after any
//! error the JetStream consumer is discarded, and a new one starts after that number.

use std::time::Duration;

use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use futures::StreamExt;
use harvest::LogEntry;

use crate::nats::connection::{Failure, NatsConnection};
use crate::nats::subject_log::SubjectLog;
use crate::nats::subjects::Subjects;
use crate::nats::subjects::parse_batch;

/// Maximum number of entries of one poll; they are held in memory.
const MAX_ENTRIES_PER_POLL: usize = 64;
/// Time after which the server deletes a consumer that is not used.
const CONSUMER_TTL: Duration = Duration::from_secs(60);

/// Subscriber to all logs of a collection.
#[derive(Default)]
pub(crate) struct LogSubscriber {
    /// Sequence number of the last entry that was returned.
    last_seq: u64,
    /// Number of consumers created so far; makes their names unique.
    consumers_created: u64,
    /// Current consumer; `None` after an error.
    consumer: Option<ConsumerState>,
}

/// JetStream consumer and the number of its last message.
struct ConsumerState {
    consumer: PullConsumer,
    /// Number of entries delivered.
    delivered: u64,
}

impl LogSubscriber {
    /// Returns the entries after the last one returned. If it fails or is cancelled, the next call returns the same entries.
    pub(crate) async fn poll(
        &mut self,
        connection: &NatsConnection,
        logs: &SubjectLog,
        subjects: &Subjects,
        wait: Duration,
    ) -> Result<Vec<LogEntry>, Failure> {
        // Put back only after success, so that an error or a cancellation discards the consumer.
        let mut consumer = match self.consumer.take() {
            Some(consumer) => consumer,
            None => self.create_consumer(connection, logs, subjects).await?,
        };
        let mut entries = consumer.fetch(MAX_ENTRIES_PER_POLL).await?;
        if entries.is_empty() && !wait.is_zero() {
            entries = tokio::select! {
                entries = consumer.wait_for_one(wait) => entries?,
                () = connection.wait_disconnected() => return Err(Failure::transient("connection lost")),
            };
            if !entries.is_empty() {
                entries.extend(consumer.fetch(MAX_ENTRIES_PER_POLL - 1).await?);
            }
        }
        if let Some(last) = entries.last() {
            self.last_seq = last.seq;
        }
        self.consumer = Some(consumer);
        Ok(entries)
    }

    async fn create_consumer(
        &mut self,
        connection: &NatsConnection,
        logs: &SubjectLog,
        subjects: &Subjects,
    ) -> Result<ConsumerState, Failure> {
        self.consumers_created += 1;
        let config = pull::Config {
            name: Some(format!("log-subscriber-{}-{}", connection.identity, self.consumers_created)),
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: self.last_seq + 1 },
            ack_policy: AckPolicy::None,
            filter_subject: subjects.log(None),
            inactive_threshold: CONSUMER_TTL,
            memory_storage: true,
            ..Default::default()
        };
        let consumer = logs.stream().create_consumer(config).await.map_err(Failure::transient)?;
        Ok(ConsumerState { consumer, delivered: 0 })
    }
}

impl ConsumerState {
    /// Fetches up to `count` entries that are available now.
    async fn fetch(&mut self, count: usize) -> Result<Vec<LogEntry>, Failure> {
        let messages =
            self.consumer.fetch().max_messages(count).messages().await.map_err(Failure::transient)?;
        self.read(messages).await
    }

    /// Waits up to `wait` for the next entry.
    async fn wait_for_one(&mut self, wait: Duration) -> Result<Vec<LogEntry>, Failure> {
        let request = self.consumer.batch().max_messages(1).expires(wait);
        let messages = request.messages().await.map_err(Failure::transient)?;
        self.read(messages).await
    }

    async fn read(&mut self, mut messages: pull::Batch) -> Result<Vec<LogEntry>, Failure> {
        let mut entries = Vec::new();
        while let Some(message) = messages.next().await {
            entries.extend(self.entry(&message.map_err(Failure::Transient)?)?);
        }
        Ok(entries)
    }

    /// Decodes a message; `None` if its subject is not that of a batch log.
    fn entry(&mut self, message: &Message) -> Result<Option<LogEntry>, Failure> {
        let info = message.info().map_err(Failure::Transient)?;
        self.delivered += 1;
        if info.consumer_sequence != self.delivered {
            return Err(Failure::transient("a log entry was not delivered"));
        }
        let number = info.stream_sequence;
        Ok(parse_batch(&message.subject).map(|batch| LogEntry {
            batch,
            seq: number,
            message: message.payload.to_vec(),
        }))
    }
}
