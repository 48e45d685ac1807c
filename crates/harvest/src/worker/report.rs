//! Reports of a worker, built from its counters.

use crate::control::counters::Progress;
use crate::control::process_memory::memory_bytes;
use crate::transport::messages::WorkerReport;

impl WorkerReport {
    pub(crate) fn new(
        worker: &str,
        run: u64,
        now_ms: u64,
        progress: &Progress,
        batches: Vec<u64>,
    ) -> WorkerReport {
        WorkerReport {
            worker: worker.to_owned(),
            run,
            now_ms,
            batches,
            pages_fetched: progress.pages_fetched,
            bytes_received: progress.bytes_received,
            requests: progress.requests,
            requests_in_flight: progress.requests_in_flight,
            failed_fetches: progress.failed_fetches,
            active_sites: progress.active_sites,
            memory_bytes: memory_bytes(),
            local_fault: progress.local_fault.map(|status| status.fault),
            is_last: false,
        }
    }
}
