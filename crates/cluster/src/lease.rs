//! Who has a batch, and for how long? The broker gives it to somebody else when its time is over; who has it is written down
//! beside it, behind what was written before, so that two who both think they have it cannot both be right.
//!
//! Time is the broker's alone: an entry is as old as the broker says, and nobody takes a batch from another before the
//! other's time is over by that clock. The other counts from before it asked, so its own time is over earlier.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::jetstream::message::{Acker, StreamMessage};
use async_nats::jetstream::{AckKind, Message};
use bytes::Bytes;
use crawl::{BrokerError, Lease};

use crate::broker::Carrier;
use crate::ledger::Write;
use crate::link::Failure;
use crate::names::batch_of;

/// What is written when a batch is done.
const DONE: &[u8] = b"done";

/// A batch that was lent to us.
pub(crate) struct NatsLease {
    carrier: Arc<Carrier>,
    batch: u64,
    message: Vec<u8>,
    /// Written down by nobody else.
    holder: Bytes,
    /// The number of our entry.
    entry: AtomicU64,
    delivery: Acker,
}

/// What somebody writes down who has a batch: for how many milliseconds, who he is, and which of all that he ever took it is.
pub(crate) fn holder(carrier: &Carrier, worker: &str, take: u64) -> Bytes {
    Bytes::from(format!("{} {worker} {}.{take}", carrier.lease.as_millis(), carrier.link.identity))
}

/// For how long an entry counts, as its writer thought: leases may have become longer or shorter since.
fn duration(carrier: &Carrier, entry: &[u8]) -> Duration {
    let text = std::str::from_utf8(entry).unwrap_or_default();
    let millis = text.split(' ').next().and_then(|millis| millis.parse().ok());
    millis.map_or(carrier.lease, Duration::from_millis)
}

/// Writes down that a batch is ours. Nothing if it is somebody else's still, or done.
pub(crate) async fn claim(
    carrier: &Arc<Carrier>,
    holder: &Bytes,
    message: &Message,
) -> Result<Option<NatsLease>, Failure> {
    let Some(batch) = batch_of(&message.subject) else {
        // Not one of ours, and never will be.
        message.ack_with(AckKind::Term).await.map_err(Failure::Again)?;
        return Ok(None);
    };
    let subject = carrier.names.lease(Some(batch));
    // Nobody had it before, most of the time.
    let mut after = 0;
    loop {
        if let Write::Done(entry) = carrier.state.write(&subject, after, holder.clone()).await? {
            let (message, delivery) = message.clone().split();
            let (carrier, holder, message) = (Arc::clone(carrier), holder.clone(), message.payload.to_vec());
            return Ok(Some(NatsLease {
                carrier,
                batch,
                message,
                holder,
                entry: AtomicU64::new(entry),
                delivery,
            }));
        }
        after = match carrier.state.last(&subject).await? {
            None => 0,
            Some(entry) if entry.payload == DONE => {
                message.double_ack().await.map_err(Failure::Again)?;
                return Ok(None);
            }
            // Ours, by an attempt whose confirmation got lost.
            Some(entry) if entry.payload == *holder => entry.sequence,
            Some(entry) => {
                let left = time_left(carrier, &entry).await?;
                if !left.is_zero() {
                    message.ack_with(AckKind::Nak(Some(left))).await.map_err(Failure::Again)?;
                    return Ok(None);
                }
                entry.sequence
            }
        };
    }
}

/// For how long an entry still counts, by the broker's clock.
async fn time_left(carrier: &Carrier, entry: &StreamMessage) -> Result<Duration, Failure> {
    let clock = carrier.names.clock();
    carrier.state.overwrite(&clock, Bytes::new()).await?;
    // Another may have written since then: later is as good.
    let now =
        carrier.state.last(&clock).await?.ok_or_else(|| Failure::again("the broker's clock is gone"))?;
    let age = Duration::try_from(now.time - entry.time).unwrap_or_default();
    Ok(duration(carrier, &entry.payload).saturating_sub(age))
}

impl NatsLease {
    /// Writes behind our entry. False if somebody else did.
    async fn write(&self, what: &Bytes) -> Result<bool, Failure> {
        let subject = self.carrier.names.lease(Some(self.batch));
        loop {
            let after = self.entry.load(Ordering::Relaxed);
            if let Write::Done(entry) = self.carrier.state.write(&subject, after, what.clone()).await? {
                self.entry.store(entry, Ordering::Relaxed);
                return Ok(true);
            }
            match self.carrier.state.last(&subject).await? {
                // An attempt of ours whose confirmation got lost: now behind that one, so that it is as young as it should be.
                Some(entry) if entry.payload == self.holder => {
                    self.entry.store(entry.sequence, Ordering::Relaxed);
                }
                Some(entry) if entry.payload == *what => return Ok(true),
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
        Some(self.carrier.lease)
    }

    fn keep(&self) -> Result<bool, BrokerError> {
        self.carrier.link.persist("keep a batch", || async {
            if !self.write(&self.holder).await? {
                return Ok(false);
            }
            // Not confirmed: were it lost, who gets the batch would find our entry.
            self.delivery.ack_with(AckKind::Progress).await.map_err(Failure::Again)?;
            Ok(true)
        })
    }

    /// Who has lost a batch leaves it to who has it: that one finds in the log that it is done.
    fn done(self: Box<Self>) -> Result<(), BrokerError> {
        self.carrier.link.persist("end a batch", || async {
            if self.write(&Bytes::from_static(DONE)).await? {
                self.delivery.double_ack().await.map_err(Failure::Again)?;
            }
            Ok(())
        })
    }
}
