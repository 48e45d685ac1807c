//! Lease of a batch. JetStream redelivers a batch whose lease is not renewed in time; the holder is recorded by a
//! compare-and-set write on the lease subject of the batch, so that two workers can never both hold it.
//!
//! Only the server's clock counts: the age of a lease is the difference of two timestamps of the server, and a batch is not
//! taken over before the lease has expired by that clock. The holder measures its own deadline from before its request, so it
//! stops earlier.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::jetstream::message::{Acker, StreamMessage};
use async_nats::jetstream::{AckKind, Message};
use bytes::Bytes;
use harvest::{BrokerError, Lease};

use crate::nats::connection::Failure;
use crate::nats::lease_context::LeaseContext;
use crate::nats::subject_log::CasResult;
use crate::nats::subjects::parse_batch;

/// Value of the lease subject of a completed batch.
const DONE: &[u8] = b"done";

/// Lease of a batch by this worker.
pub(crate) struct NatsLease {
    context: Arc<LeaseContext>,
    batch: u64,
    message: Vec<u8>,
    /// Value written to the lease subject; unique for each lease.
    lease_value: Bytes,
    /// Sequence number of our last write to the lease subject.
    seq: AtomicU64,
    ack: Acker,
}

/// Encodes the value of a lease: duration in milliseconds, worker, connection and number of the attempt.
pub(crate) fn encode_lease(context: &LeaseContext, worker: &str, attempt: u64) -> Bytes {
    Bytes::from(format!(
        "{} {worker} {}.{attempt}",
        context.lease_duration.as_millis(),
        context.connection.identity
    ))
}

/// Decodes the duration of a lease as its holder wrote it, since the setting may have changed; the current one if it is not
/// readable.
fn decode_duration(context: &LeaseContext, entry: &[u8]) -> Duration {
    let text = std::str::from_utf8(entry).unwrap_or_default();
    let millis = text.split(' ').next().and_then(|millis| millis.parse().ok());
    millis.map_or(context.lease_duration, Duration::from_millis)
}

/// Claims a delivered batch; `None` if another worker holds it, or if it is completed.
pub(crate) async fn try_claim(
    context: &Arc<LeaseContext>,
    lease_value: &Bytes,
    message: &Message,
) -> Result<Option<NatsLease>, Failure> {
    let Some(batch) = parse_batch(&message.subject) else {
        // Not a batch subject: terminate the message, so that it is not delivered again.
        message.ack_with(AckKind::Term).await.map_err(Failure::Transient)?;
        return Ok(None);
    };
    let subject = context.subjects.lease(Some(batch));
    // In most cases the batch was never leased, so try without reading first.
    let mut after = 0;
    loop {
        if let CasResult::Written(seq) = context.state.append_if(&subject, after, lease_value.clone()).await?
        {
            let (message, ack) = message.clone().split();
            let (context, lease_value, message) =
                (Arc::clone(context), lease_value.clone(), message.payload.to_vec());
            return Ok(Some(NatsLease {
                context,
                batch,
                message,
                lease_value,
                seq: AtomicU64::new(seq),
                ack,
            }));
        }
        after = match context.state.last(&subject).await? {
            None => 0,
            Some(entry) if entry.payload == DONE => {
                message.double_ack().await.map_err(Failure::Transient)?;
                return Ok(None);
            }
            // Our own write, whose confirmation was lost.
            Some(entry) if entry.payload == *lease_value => entry.sequence,
            Some(entry) => {
                let left = remaining(context, &entry).await?;
                if !left.is_zero() {
                    message.ack_with(AckKind::Nak(Some(left))).await.map_err(Failure::Transient)?;
                    return Ok(None);
                }
                entry.sequence
            }
        };
    }
}

/// Remaining time of a lease by the server's clock, which is read as the timestamp of a message written now.
async fn remaining(context: &LeaseContext, entry: &StreamMessage) -> Result<Duration, Failure> {
    let subject = context.subjects.server_time();
    context.state.put(&subject, Bytes::new()).await?;
    // Another worker may have written after us: a later timestamp is as good.
    let now = context
        .state
        .last(&subject)
        .await?
        .ok_or_else(|| Failure::transient("cannot read the time of the broker"))?;
    let age = Duration::try_from(now.time - entry.time).unwrap_or_default();
    Ok(decode_duration(context, &entry.payload).saturating_sub(age))
}

impl NatsLease {
    /// Writes a value after our last one; false if another worker wrote in between.
    async fn append(&self, value: &Bytes) -> Result<bool, Failure> {
        let subject = self.context.subjects.lease(Some(self.batch));
        loop {
            let after = self.seq.load(Ordering::Relaxed);
            if let CasResult::Written(seq) =
                self.context.state.append_if(&subject, after, value.clone()).await?
            {
                self.seq.store(seq, Ordering::Relaxed);
                return Ok(true);
            }
            match self.context.state.last(&subject).await? {
                // Our own renewal, whose confirmation was lost: write once more after it, so that the age starts now.
                Some(entry) if entry.payload == self.lease_value => {
                    self.seq.store(entry.sequence, Ordering::Relaxed);
                }
                Some(entry) if entry.payload == *value => return Ok(true),
                _ => return Ok(false),
            }
        }
    }
}

impl Lease for NatsLease {
    fn batch(&self) -> u64 {
        self.batch
    }

    fn message(&self) -> &[u8] {
        &self.message
    }

    fn duration(&self) -> Option<Duration> {
        Some(self.context.lease_duration)
    }

    fn renew(&self) -> Result<bool, BrokerError> {
        self.context.connection.retry("renew a lease", || async {
            if !self.append(&self.lease_value).await? {
                return Ok(false);
            }
            // Without confirmation: if it is lost, the worker that gets the redelivery finds our lease and waits.
            self.ack.ack_with(AckKind::Progress).await.map_err(Failure::Transient)?;
            Ok(true)
        })
    }

    /// Marks the batch as completed, unless the lease was lost: then the new holder finds in the log that it is complete.
    fn complete(self: Box<Self>) -> Result<(), BrokerError> {
        self.context.connection.retry("complete a batch", || async {
            if self.append(&Bytes::from_static(DONE)).await? {
                self.ack.double_ack().await.map_err(Failure::Transient)?;
            }
            Ok(())
        })
    }
}
