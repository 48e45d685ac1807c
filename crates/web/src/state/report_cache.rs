//! Cache of the report of the last analysis.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use analysis::describe_statistics;
use report::{Report, ReportInput, human};

use crate::state::api_error::ApiError;

/// The last report, with the commit it describes.
#[derive(Default)]
pub(crate) struct ReportCache(Mutex<Option<(u64, Arc<Report>)>>);

impl ReportCache {
    /// Returns the report of the last analysis with its commit; `None` without an analysis. Never starts an analysis:
    /// that takes long and writes to the collection.
    pub(crate) fn get(&self, dir: &Path, name: &str) -> Result<Option<(u64, Arc<Report>)>, ApiError> {
        let mut input = match ReportInput::newest(dir, name) {
            Err(report::Error::NotAnalysed { .. }) => return Ok(None),
            input => input.map_err(|error| internal(&error))?,
        };
        let generation = input.generation;
        // Other threads wait for the one that renders; a panic there leaves the cache unchanged.
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, report)) = cached.as_ref().filter(|(commit, _)| *commit == generation) {
            return Ok(Some((generation, Arc::clone(report))));
        }
        input.committed = input.committed_ms.map(human::timestamp).unwrap_or_default();
        let statistics = describe_statistics();
        let sql = |name: &str| {
            statistics.iter().find(|statistic| statistic.name == name).map(|statistic| statistic.sql.clone())
        };
        let report =
            Arc::new(Report::new(name, vec![input], Vec::new(), sql).map_err(|error| internal(&error))?);
        *cached = Some((generation, Arc::clone(&report)));
        Ok(Some((generation, report)))
    }
}

fn internal(error: &report::Error) -> ApiError {
    ApiError::Internal(error.to_string())
}
