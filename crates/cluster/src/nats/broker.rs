//! Broker that keeps batches, logs and control messages in three JetStream streams (see [`subjects`](crate::nats::subjects)):
//! published batches, logs, and the current state (leases, control message). Worker reports are plain NATS messages and are
//! not stored.
//!
//! Writes that must happen once, or directly after a known message, carry the sequence number of the last message that the
//! writer has seen; JetStream rejects the write if a newer message exists (optimistic concurrency control).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::PullConsumer;
use bytes::Bytes;
use futures::StreamExt;
use harvest::{Broker, BrokerError, Lease, LogEntry, MAX_MESSAGE_BYTES};
use tokio::sync::Mutex;

use crate::credentials::BrokerCredentials;
use crate::nats::connection::{Failure, NatsConnection};
use crate::nats::control_cache;
use crate::nats::control_cache::ControlCache;
use crate::nats::lease;
use crate::nats::lease_context::LeaseContext;
use crate::nats::log_subscriber::LogSubscriber;
use crate::nats::report_cache;
use crate::nats::report_cache::ReportCache;
use crate::nats::setup;
use crate::nats::setup::Role;
use crate::nats::subject_log::{CasResult, SubjectLog};
use crate::nats::subjects::Subjects;

/// Minimum wait of a pull request: a shorter one would expire before the request reaches the server.
const MIN_WAIT: Duration = Duration::from_millis(20);

/// [`Broker`] on a NATS connection.
pub(crate) struct NatsBroker {
    context: Arc<LeaseContext>,
    batches: SubjectLog,
    logs: SubjectLog,
    worker_consumer: PullConsumer,
    log_subscriber: Mutex<LogSubscriber>,
    control: Arc<ControlCache>,
    reports: Arc<ReportCache>,
    /// Number of lease requests so far; makes the value of each lease unique.
    lease_attempts: AtomicU64,
}

impl NatsBroker {
    pub(crate) fn connect(
        url: &str,
        collection: &str,
        role: Role,
        credentials: &BrokerCredentials,
    ) -> Result<NatsBroker, BrokerError> {
        let subjects = Subjects::new(collection)?;
        let connection = NatsConnection::connect(url, &subjects.inbox(role.name()), credentials)?;
        let worker_consumer = connection.retry("join the collection at the broker", || async {
            match &role {
                Role::Coordinator(settings) => setup::create_streams(&connection, &subjects, settings).await,
                Role::Worker => setup::attach(&connection, &subjects, collection).await,
            }
        })?;
        let open =
            |stream: String| connection.retry("open a stream", || SubjectLog::open(&connection, &stream));
        let (batches, logs, state) =
            (open(subjects.batches_stream())?, open(subjects.logs_stream())?, open(subjects.state_stream())?);
        let (control, reports) = (Arc::<ControlCache>::default(), Arc::<ReportCache>::default());
        connection.retry("read the control message", || async {
            let state = SubjectLog::open(&connection, &subjects.state_stream()).await?;
            control_cache::run_subscription(&control, &connection, state, subjects.control()).await
        })?;
        if let Role::Coordinator(_) = role {
            let subject = subjects.report(None)?;
            connection.retry("subscribe to worker reports", || {
                report_cache::run_subscription(&reports, &connection, subject.clone())
            })?;
        }
        let lease_duration = worker_consumer.cached_info().config.ack_wait;
        let context = Arc::new(LeaseContext { connection, subjects, state, lease_duration });
        let (log_subscriber, lease_attempts) = (Mutex::default(), AtomicU64::new(0));
        Ok(NatsBroker {
            context,
            batches,
            logs,
            worker_consumer,
            log_subscriber,
            control,
            reports,
            lease_attempts,
        })
    }

    /// Waits up to `wait` for the next published batch.
    async fn next_message(&self, wait: Duration) -> Result<Option<Message>, Failure> {
        let request = self.worker_consumer.batch().max_messages(1).expires(wait.max(MIN_WAIT));
        let mut messages = request.messages().await.map_err(Failure::transient)?;
        tokio::select! {
            message = messages.next() => message.transpose().map_err(Failure::Transient),
            () = self.context.connection.wait_disconnected() => Err(Failure::transient("connection lost")),
        }
    }
}

impl Broker for NatsBroker {
    fn id(&self) -> String {
        format!("NATS {}", self.context.subjects.collection)
    }

    fn publish_batch(&self, batch: u64, message: &[u8]) -> Result<(), BrokerError> {
        let (subject, message) = (self.context.subjects.batch(Some(batch)), check_size(message)?);
        self.context.connection.retry("publish a batch", || async {
            // A conflict means that the batch was published before.
            self.batches.append_if(&subject, 0, message.clone()).await.map(|_| ())
        })
    }

    fn acquire_lease(&self, worker: &str, wait: Duration) -> Result<Option<Box<dyn Lease>>, BrokerError> {
        let attempt = self.lease_attempts.fetch_add(1, Ordering::Relaxed);
        let lease_value = lease::encode_lease(&self.context, worker, attempt);
        let started = Instant::now();
        self.context.connection.retry_with_wait("lease a batch", wait, || async {
            loop {
                let remaining = wait.saturating_sub(started.elapsed());
                let Some(message) = self.next_message(remaining).await? else { return Ok(None) };
                if let Some(lease) = lease::try_claim(&self.context, &lease_value, &message).await? {
                    return Ok(Some(Box::new(lease) as Box<dyn Lease>));
                }
                if remaining.is_zero() {
                    return Ok(None);
                }
            }
        })
    }

    fn append_log(&self, batch: u64, after: u64, message: &[u8]) -> Result<Option<u64>, BrokerError> {
        let (subject, message) = (self.context.subjects.log(Some(batch)), check_size(message)?);
        self.context.connection.retry("append to a log", || async {
            match self.logs.append_once(&subject, after, message.clone()).await? {
                CasResult::Written(seq) => Ok(Some(seq)),
                CasResult::Conflict => Ok(None),
            }
        })
    }

    fn read_log(&self, batch: u64) -> Result<Vec<LogEntry>, BrokerError> {
        let subject = self.context.subjects.log(Some(batch));
        let mut entries = Vec::new();
        loop {
            let from = entries.last().map_or(1, |entry: &LogEntry| entry.seq + 1);
            let next = self.context.connection.retry("read a log", || self.logs.next(&subject, from))?;
            let Some(next) = next else { return Ok(entries) };
            entries.push(LogEntry { batch, seq: next.sequence, message: next.payload.to_vec() });
        }
    }

    fn poll_logs(&self, wait: Duration) -> Result<Vec<LogEntry>, BrokerError> {
        let LeaseContext { connection, subjects, .. } = &*self.context;
        connection.retry_with_wait("read new log entries", wait, || async {
            self.log_subscriber.lock().await.poll(connection, &self.logs, subjects, wait).await
        })
    }

    fn delete_batch(&self, batch: u64) -> Result<(), BrokerError> {
        let LeaseContext { connection, subjects, state, .. } = &*self.context;
        connection.retry("delete a batch", || async {
            self.batches.purge(&subjects.batch(Some(batch))).await?;
            self.logs.purge(&subjects.log(Some(batch))).await?;
            state.purge(&subjects.lease(Some(batch))).await
        })
    }

    fn publish_control(&self, message: &[u8]) -> Result<(), BrokerError> {
        let (subject, message) = (self.context.subjects.control(), check_size(message)?);
        let seq = self
            .context
            .connection
            .retry("publish the control message", || self.context.state.put(&subject, message.clone()))?;
        self.control.store(seq, &message);
        Ok(())
    }

    fn latest_control(&self) -> Result<Option<Vec<u8>>, BrokerError> {
        Ok(self.control.latest())
    }

    fn send_report(&self, worker: &str, message: &[u8]) -> Result<(), BrokerError> {
        let (subject, message) = (self.context.subjects.report(Some(worker))?, check_size(message)?);
        self.context.connection.publish(subject, message);
        Ok(())
    }

    fn drain_reports(&self) -> Result<Vec<Vec<u8>>, BrokerError> {
        Ok(self.reports.drain())
    }
}

fn check_size(message: &[u8]) -> Result<Bytes, BrokerError> {
    if message.len() > MAX_MESSAGE_BYTES {
        let cause = format!(
            "message of {} bytes exceeds the broker's maximum of {MAX_MESSAGE_BYTES} bytes",
            message.len()
        );
        return Err(BrokerError::Refused(cause));
    }
    Ok(Bytes::copy_from_slice(message))
}
