//! Exit codes and error output: one message on stderr, and 0 for success, 1 for failure, 2 for wrong usage, 130 for
//! interruption.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use harvest::Progress;

use crate::output::printable;

/// Exit code of an interrupted command.
pub(crate) const INTERRUPTED: u8 = 130;

/// Exit code of a command that has completed or was interrupted.
pub(crate) fn completion_code(is_interrupted: bool) -> ExitCode {
    if is_interrupted { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS }
}

/// Exit code of a command that fetches: a failure if a fault of this machine prevented all fetches.
pub(crate) fn crawl_code(is_interrupted: bool, progress: &Progress) -> ExitCode {
    let is_prevented = progress.local_fault.is_some() && progress.pages_fetched == 0;
    if is_prevented && !is_interrupted { ExitCode::FAILURE } else { completion_code(is_interrupted) }
}

/// Wrong usage of a command; the message says what to do instead.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl fmt::Display for UsageError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// Whether the error is about the named collection or snapshot: it does not exist, exists already or is locked.
fn is_store_usage_error(error: &store::Error) -> bool {
    use store::Error::{
        AlreadyACollection, InvalidCursor, InvalidSnapshotName, Locked, NotACollection, SnapshotNotFound,
        UnknownSite,
    };
    matches!(
        error,
        AlreadyACollection { .. }
            | Locked { .. }
            | SnapshotNotFound { .. }
            | NotACollection { .. }
            | InvalidSnapshotName { .. }
            | UnknownSite { .. }
            | InvalidCursor { .. }
    )
}

/// [`is_store_usage_error`] for errors of a crawl.
fn is_crawl_usage_error(error: &crawl::Error) -> bool {
    match error {
        crawl::Error::Store(error) => is_store_usage_error(error),
        crawl::Error::Harvest(error) => is_harvest_usage_error(error),
        error => matches!(error, crawl::Error::RankNotComputed { .. }),
    }
}

/// [`is_store_usage_error`] for errors of an inspection.
fn is_inspect_usage_error(error: &inspect::Error) -> bool {
    match error {
        inspect::Error::Store(error) => is_store_usage_error(error),
        inspect::Error::Crawl(error) => is_crawl_usage_error(error),
        error => matches!(error, inspect::Error::InvalidUrl { .. }),
    }
}

/// [`is_store_usage_error`] for errors of a harvest.
fn is_harvest_usage_error(error: &harvest::Error) -> bool {
    matches!(error, harvest::Error::Broker(harvest::BrokerError::Refused(_)))
}

/// [`is_store_usage_error`] for errors of an analysis.
fn is_analysis_usage_error(error: &analysis::Error) -> bool {
    match error {
        analysis::Error::Store(error) => is_store_usage_error(error),
        error => matches!(error, analysis::Error::Locked { .. }),
    }
}

/// [`is_store_usage_error`] for errors of an SQL query.
fn is_sql_usage_error(error: &sql::Error) -> bool {
    match error {
        sql::Error::Store(error) => is_store_usage_error(error),
        error => error.is_user_error(),
    }
}

/// [`is_store_usage_error`] for errors of a search.
fn is_search_usage_error(error: &search::Error) -> bool {
    use search::Error::{Locked, NoPositions, NotAnalysed, NotIndexed, OffsetTooLarge, Store};
    match error {
        Store(error) => is_store_usage_error(error),
        NotIndexed { .. } | NotAnalysed { .. } | NoPositions | OffsetTooLarge { .. } | Locked { .. } => true,
        _ => false,
    }
}

/// [`is_store_usage_error`] for errors of a report.
fn is_report_usage_error(error: &report::Error) -> bool {
    match error {
        report::Error::Store(error) => is_store_usage_error(error),
        error => {
            use report::Error::{NotAnalysed, SnapshotNotAnalysed};
            matches!(error, NotAnalysed { .. } | SnapshotNotAnalysed { .. })
        }
    }
}

/// [`is_store_usage_error`] for errors of the web server.
fn is_web_usage_error(error: &web::Error) -> bool {
    match error {
        web::Error::Store(error) => is_store_usage_error(error),
        error => {
            use web::Error::{Certificate, NoToken, WeakToken};
            matches!(error, Certificate { .. } | NoToken { .. } | WeakToken { .. })
        }
    }
}

/// Message of an error with its causes; a cause that the message contains already is not repeated.
fn full_message(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |message, cause| match cause.to_string() {
        first if message.is_empty() => first,
        known if message.contains(&known) => message,
        cause => format!("{message}: {cause}"),
    })
}

/// Prints the error of a command, if any, and returns the exit code.
pub(crate) fn exit_code(result: anyhow::Result<ExitCode>) -> ExitCode {
    let error = match result {
        Ok(code) => return code,
        Err(error) => error,
    };
    // A reader that closes the pipe (`weir url | head`) is not a failure.
    if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    let is_usage_error = error.downcast_ref::<UsageError>().is_some()
        || error.downcast_ref::<store::Error>().is_some_and(is_store_usage_error)
        || error.downcast_ref::<analysis::Error>().is_some_and(is_analysis_usage_error)
        || error.downcast_ref::<web::Error>().is_some_and(is_web_usage_error)
        || error.downcast_ref::<sql::Error>().is_some_and(is_sql_usage_error)
        || error.downcast_ref::<crawl::Error>().is_some_and(is_crawl_usage_error)
        || error.downcast_ref::<inspect::Error>().is_some_and(is_inspect_usage_error)
        || error.downcast_ref::<harvest::Error>().is_some_and(is_harvest_usage_error)
        || error.downcast_ref::<search::Error>().is_some_and(is_search_usage_error)
        || matches!(error.downcast_ref(), Some(crawl::Error::RankNotComputed { .. }))
        || error.downcast_ref::<report::Error>().is_some_and(is_report_usage_error);
    // There is no other way to report an error if stderr is closed.
    let _ = writeln!(io::stderr(), "weir: {}", printable(&full_message(&error)));
    if is_usage_error { ExitCode::from(2) } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_printed_once() {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let path = "web/MANIFEST".into();
        let error = store::Error::Io { operation: "open", path, source: missing() };
        let error = anyhow::Error::from(error).context("cannot read the status");
        assert_eq!(
            full_message(&error),
            format!("cannot read the status: cannot open web/MANIFEST: {}", missing())
        );
    }
}
