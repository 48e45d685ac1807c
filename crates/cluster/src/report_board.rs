//! How are the workers? The last report of each is kept in memory until somebody asks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crawl::MESSAGE_LIMIT_BYTES;
use futures::StreamExt;

use crate::link::{Failure, Link};

/// Reports of more workers than that are not kept.
const WORKERS_LIMIT: usize = 4_096;

/// Reports that nobody has asked for yet, by the subject of their worker.
#[derive(Default)]
pub(crate) struct ReportBoard {
    reports: Mutex<HashMap<String, Vec<u8>>>,
}

impl ReportBoard {
    /// Takes all of them.
    pub(crate) fn take(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut *self.reports.lock().unwrap_or_else(PoisonError::into_inner))
            .into_values()
            .collect()
    }

    fn put(&self, worker: &str, report: &[u8]) {
        let mut reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        let has_place = reports.len() < WORKERS_LIMIT || reports.contains_key(worker);
        if has_place && report.len() <= MESSAGE_LIMIT_BYTES {
            reports.insert(worker.to_owned(), report.to_vec());
        }
    }
}

/// Puts up every report that comes.
pub(crate) async fn keep_up(board: &Arc<ReportBoard>, link: &Link, subject: String) -> Result<(), Failure> {
    let mut reports = link.client.subscribe(subject).await.map_err(Failure::again)?;
    let board = Arc::clone(board);
    link.spawn(async move {
        while let Some(report) = reports.next().await {
            board.put(&report.subject, &report.payload);
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_report_of_each_worker_is_kept_and_of_no_more_workers_than_the_limit() {
        let board = ReportBoard::default();
        for number in 0..2 * WORKERS_LIMIT {
            board.put(&number.to_string(), b"old");
        }
        board.put("0", b"new");
        board.put("1", &vec![0; MESSAGE_LIMIT_BYTES + 1]);
        let reports = board.take();
        assert_eq!(reports.len(), WORKERS_LIMIT);
        assert_eq!(reports.iter().filter(|report| *report == b"new").count(), 1);
        assert!(board.take().is_empty());
    }
}
