//! Cache of the last report of each worker, until the coordinator reads them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt;
use harvest::MAX_MESSAGE_BYTES;

use crate::nats::connection::{Failure, NatsConnection};

/// Maximum number of workers whose reports are cached; bounds memory.
const MAX_WORKERS: usize = 4_096;

/// Unread reports, by the subject of their worker.
#[derive(Default)]
pub(crate) struct ReportCache {
    reports: Mutex<HashMap<String, Vec<u8>>>,
}

impl ReportCache {
    /// Removes and returns all reports.
    pub(crate) fn drain(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut *self.reports.lock().unwrap_or_else(PoisonError::into_inner))
            .into_values()
            .collect()
    }

    fn store(&self, worker: &str, report: &[u8]) {
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = reports.len() < MAX_WORKERS || reports.contains_key(worker);
        if has_room && report.len() <= MAX_MESSAGE_BYTES {
            reports.insert(worker.to_owned(), report.to_vec());
        }
    }
}

/// Starts the task that stores each report received.
pub(crate) async fn run_subscription(
    cache: &Arc<ReportCache>,
    connection: &NatsConnection,
    subject: String,
) -> Result<(), Failure> {
    let mut reports = connection.client.subscribe(subject).await.map_err(Failure::transient)?;
    let cache = Arc::clone(cache);
    connection.spawn(async move {
        while let Some(report) = reports.next().await {
            cache.store(&report.subject, &report.payload);
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_holds_the_last_report_of_each_worker_up_to_the_maximum_number_of_workers() {
        let cache = ReportCache::default();
        for index in 0..2 * MAX_WORKERS {
            cache.store(&index.to_string(), b"old");
        }
        cache.store("0", b"new");
        cache.store("1", &vec![0; MAX_MESSAGE_BYTES + 1]);
        let reports = cache.drain();
        assert_eq!(reports.len(), MAX_WORKERS);
        assert_eq!(reports.iter().filter(|report| *report == b"new").count(), 1);
        assert!(cache.drain().is_empty());
    }
}
