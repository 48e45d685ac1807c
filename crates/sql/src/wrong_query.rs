//! What is wrong with a query, in one sentence, and where? The engine's errors are nested, and some have many lines.

use datafusion::common::Diagnostic;
use datafusion::error::DataFusionError;

use crate::error::{Error, Place};

/// The longest reason that is told; some name every column there is.
const REASON_LIMIT_CHARS: usize = 500;

/// The error of a query that could not be planned.
pub(crate) fn of(error: &DataFusionError) -> Error {
    let error = error.iter().next().unwrap_or(error);
    let Some(diagnostic) = error.diagnostic() else {
        let (reason, place) = without_place(&sentence(error));
        return Error::Wrong { place, reason };
    };
    let (reason, place) = without_place(&one_line(&with_help(diagnostic)));
    let span = diagnostic.span.map(|span| Place { line: span.start.line, column: span.start.column });
    Error::Wrong { place: span.or(place), reason }
}

/// The error of an answer that had begun.
pub(crate) fn of_answer(error: &DataFusionError, limit_bytes: u64) -> Error {
    let root = error.find_root();
    let reason = sentence(root);
    match root {
        DataFusionError::ResourcesExhausted(_) => Error::Memory { limit_mb: limit_bytes / 1_000_000, reason },
        DataFusionError::Plan(_) | DataFusionError::NotImplemented(_) => Error::Wrong { place: None, reason },
        _ => Error::Failed { reason },
    }
}

/// What the engine says, in one line.
pub(crate) fn sentence(error: &DataFusionError) -> String {
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

/// The parser writes its place into its sentence.
fn without_place(sentence: &str) -> (String, Option<Place>) {
    let sentence = sentence.strip_prefix("sql parser error: ").unwrap_or(sentence);
    let place = || {
        let (reason, place) = sentence.rsplit_once(" at Line: ")?;
        let (line, column) = place.split_once(", Column: ")?;
        let place = Place { line: line.parse().ok()?, column: column.parse().ok()? };
        Some((reason.to_owned(), Some(place)))
    };
    place().unwrap_or_else(|| (sentence.to_owned(), None))
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(REASON_LIMIT_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_taken_out_of_the_parsers_sentence() {
        let (reason, place) = without_place("sql parser error: Expected: x, found: y at Line: 2, Column: 15");
        assert_eq!((reason.as_str(), place), ("Expected: x, found: y", Some(Place { line: 2, column: 15 })));
        assert_eq!(without_place("nothing at Line: here"), ("nothing at Line: here".to_owned(), None));
    }

    #[test]
    fn a_reason_is_one_line_of_bounded_length() {
        assert_eq!(one_line("a\n  b\tc"), "a b c");
        assert_eq!(one_line(&"é".repeat(1_000)).chars().count(), REASON_LIMIT_CHARS + 1);
    }
}
