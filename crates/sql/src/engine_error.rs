//! Errors of the engine as one-line messages with a position. The errors of DataFusion are nested, and some have many
//! lines.

use datafusion::common::Diagnostic;
use datafusion::error::DataFusionError;

use crate::error::{Error, Position};

/// Maximum length of a reason; some list all columns.
const MAX_REASON_CHARS: usize = 500;

/// Error of a query that could not be planned.
pub(crate) fn planning_error(error: &DataFusionError) -> Error {
    let error = error.iter().next().unwrap_or(error);
    let Some(diagnostic) = error.diagnostic() else {
        let (reason, position) = split_position(&message(error));
        return Error::InvalidQuery { position, reason };
    };
    let (reason, position) = split_position(&one_line(&with_help(diagnostic)));
    let span = diagnostic.span.map(|span| Position { line: span.start.line, column: span.start.column });
    Error::InvalidQuery { position: span.or(position), reason }
}

/// Error of a query that was running.
pub(crate) fn execution_error(error: &DataFusionError, limit_bytes: u64) -> Error {
    let root = error.find_root();
    let reason = message(root);
    match root {
        DataFusionError::ResourcesExhausted(_) => Error::Memory { limit_mb: limit_bytes / 1_000_000, reason },
        DataFusionError::Plan(_) | DataFusionError::NotImplemented(_) => {
            Error::InvalidQuery { position: None, reason }
        }
        _ => Error::Failed { reason },
    }
}

/// Message of the engine, in one line.
pub(crate) fn message(error: &DataFusionError) -> String {
    one_line(&match error {
        DataFusionError::SQL(error, _) => error.to_string(),
        error => error.message().into_owned(),
    })
}

fn with_help(diagnostic: &Diagnostic) -> String {
    let helps = diagnostic.helps.iter().map(|help| help.message.as_str());
    let notes = diagnostic.notes.iter().map(|note| note.message.as_str());
    std::iter::once(diagnostic.message.as_str()).chain(helps).chain(notes).collect::<Vec<_>>().join("; ")
}

/// Splits the position off the message of the parser.
fn split_position(message: &str) -> (String, Option<Position>) {
    let message = message.strip_prefix("sql parser error: ").unwrap_or(message);
    let position = || {
        let (reason, position) = message.rsplit_once(" at Line: ")?;
        let (line, column) = position.split_once(", Column: ")?;
        let position = Position { line: line.parse().ok()?, column: column.parse().ok()? };
        Some((reason.to_owned(), Some(position)))
    };
    position().unwrap_or_else(|| (message.to_owned(), None))
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_REASON_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_is_split_off_the_message_of_the_parser() {
        let (reason, position) =
            split_position("sql parser error: Expected: x, found: y at Line: 2, Column: 15");
        assert_eq!(
            (reason.as_str(), position),
            ("Expected: x, found: y", Some(Position { line: 2, column: 15 }))
        );
        assert_eq!(split_position("nothing at Line: here"), ("nothing at Line: here".to_owned(), None));
    }

    #[test]
    fn a_reason_is_one_line_of_limited_length() {
        assert_eq!(one_line("a\n  b\tc"), "a b c");
        assert_eq!(one_line(&"é".repeat(1_000)).chars().count(), MAX_REASON_CHARS + 1);
    }
}
