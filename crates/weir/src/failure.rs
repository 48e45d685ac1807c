//! How does a failed command end? One sentence on stderr and an exit code that scripts can rely on:
//! 0 done, 1 failed, 2 wrong use, 130 interrupted.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

/// The user asked for something that cannot be: the sentence says what to do instead.
#[derive(Debug)]
pub(crate) struct WrongUse(pub(crate) String);

impl fmt::Display for WrongUse {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for WrongUse {}

/// Whether a collection or a snapshot was named that is not there, one to be made that is, or one that is in use.
fn names_the_wrong_one(error: &store::Error) -> bool {
    use store::Error::{
        AlreadyACollection, Locked, NoSnapshot, NotACollection, SnapshotName, UnknownSite, WrongPosition,
    };
    matches!(
        error,
        AlreadyACollection { .. }
            | Locked { .. }
            | NoSnapshot { .. }
            | NotACollection { .. }
            | SnapshotName { .. }
            | UnknownSite { .. }
            | WrongPosition { .. }
    )
}

/// The same of a crawl, or of a page of it.
fn cannot_be_crawled(error: &crawl::Error) -> bool {
    match error {
        crawl::Error::Store(error) => names_the_wrong_one(error),
        crawl::Error::Broker(error) => matches!(error, crawl::BrokerError::Refused(_)),
        error => matches!(error, crawl::Error::NotAnalysed { .. } | crawl::Error::NoUrl { .. }),
    }
}

/// The same of an analysis.
fn cannot_be_analysed(error: &analysis::Error) -> bool {
    match error {
        analysis::Error::Store(error) => names_the_wrong_one(error),
        error => matches!(error, analysis::Error::Busy { .. }),
    }
}

/// The same of a query.
fn cannot_be_asked(error: &sql::Error) -> bool {
    match error {
        sql::Error::Store(error) => names_the_wrong_one(error),
        error => error.is_wrong_question(),
    }
}

/// The same of a search.
fn cannot_be_searched(error: &search::Error) -> bool {
    use search::Error::{Locked, NoPositions, NotAnalysed, NotIndexed, Store, TooFar};
    match error {
        Store(error) => names_the_wrong_one(error),
        NotIndexed { .. } | NotAnalysed { .. } | NoPositions | TooFar { .. } | Locked { .. } => true,
        _ => false,
    }
}

/// The same of a report.
fn cannot_be_reported(error: &report::Error) -> bool {
    match error {
        report::Error::Store(error) => names_the_wrong_one(error),
        error => {
            use report::Error::{NotAnalysed, SnapshotNotAnalysed};
            matches!(error, NotAnalysed { .. } | SnapshotNotAnalysed { .. })
        }
    }
}

/// The same of a server.
fn cannot_be_served(error: &web::Error) -> bool {
    match error {
        web::Error::Store(error) => names_the_wrong_one(error),
        error => {
            use web::Error::{Certificate, NoToken, WeakToken};
            matches!(error, Certificate { .. } | NoToken { .. } | WeakToken { .. })
        }
    }
}

/// What went wrong and why; a cause that the sentence has told already is not told again.
fn sentence(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |told, cause| match cause.to_string() {
        first if told.is_empty() => first,
        known if told.contains(&known) => told,
        cause => format!("{told}: {cause}"),
    })
}

/// Tells the user what went wrong, and the shell how badly.
pub(crate) fn exit_code(answer: anyhow::Result<ExitCode>) -> ExitCode {
    let error = match answer {
        Ok(code) => return code,
        Err(error) => error,
    };
    // A reader that has seen enough (`weir url | head`) is no failure.
    if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    let wrong_use = error.downcast_ref::<WrongUse>().is_some()
        || error.downcast_ref::<store::Error>().is_some_and(names_the_wrong_one)
        || error.downcast_ref::<analysis::Error>().is_some_and(cannot_be_analysed)
        || error.downcast_ref::<web::Error>().is_some_and(cannot_be_served)
        || error.downcast_ref::<sql::Error>().is_some_and(cannot_be_asked)
        || error.downcast_ref::<crawl::Error>().is_some_and(cannot_be_crawled)
        || error.downcast_ref::<search::Error>().is_some_and(cannot_be_searched)
        || matches!(error.downcast_ref(), Some(crawl::Error::NotAnalysed { .. }))
        || error.downcast_ref::<report::Error>().is_some_and(cannot_be_reported);
    // Nothing is left to be done if even stderr is gone.
    let _ = writeln!(io::stderr(), "weir: {}", sentence(&error));
    if wrong_use { ExitCode::from(2) } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let path = "web/MANIFEST".into();
        let error = store::Error::Io { operation: "open", path, source: missing() };
        let error = anyhow::Error::from(error).context("cannot tell the status");
        assert_eq!(
            sentence(&error),
            format!("cannot tell the status: cannot open web/MANIFEST: {}", missing())
        );
    }
}
