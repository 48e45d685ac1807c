//! Cache of the last control message, updated by a background task, so that reading it never blocks.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;

use crate::nats::connection::{Failure, NatsConnection};
use crate::nats::subject_log::SubjectLog;

/// Interval at which the control message is read without a notification, in case one was lost.
const POLL_INTERVAL: Duration = Duration::from_secs(15);

/// Last control message received.
#[derive(Default)]
pub(crate) struct ControlCache {
    /// Sequence number and message.
    last: Mutex<Option<(u64, Vec<u8>)>>,
}

impl ControlCache {
    /// Last control message.
    pub(crate) fn latest(&self) -> Option<Vec<u8>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().map(|(_, message)| message.clone())
    }

    /// Stores a control message, unless a newer one is cached.
    pub(crate) fn store(&self, seq: u64, message: &[u8]) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|(cached, _)| *cached < seq) {
            *last = Some((seq, message.to_vec()));
        }
    }

    /// Reads the last control message from the broker.
    pub(crate) async fn refresh(&self, state: &SubjectLog, subject: &str) -> Result<(), Failure> {
        if let Some(entry) = state.last(subject).await? {
            self.store(entry.sequence, &entry.payload);
        }
        Ok(())
    }
}

/// Starts the task that refreshes the cache: on each notification, after a reconnect, and at [`POLL_INTERVAL`].
pub(crate) async fn run_subscription(
    cache: &Arc<ControlCache>,
    connection: &NatsConnection,
    state: SubjectLog,
    subject: String,
) -> Result<(), Failure> {
    let mut notifications = connection.client.subscribe(subject.clone()).await.map_err(Failure::transient)?;
    cache.refresh(&state, &subject).await?;
    let (cache, mut state_changes) = (Arc::clone(cache), connection.state_changes());
    connection.spawn(async move {
        loop {
            tokio::select! {
                notification = notifications.next() => if notification.is_none() { return },
                change = state_changes.changed() => if change.is_err() { return },
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
            // After a failure, the reconnect or the next interval triggers another attempt.
            let _failed = cache.refresh(&state, &subject).await;
        }
    });
    Ok(())
}
