//! What is a figure of the user's own? One file of SQL: leading comments say what `figures/*.toml` say, each line behind `--`; the
//! query beneath them gives the rows. Somebody else answers it.

use crate::catalogue::catalogue;
use crate::error::{Error, Result};
use crate::figure::{Figure, Section};

/// A figure with the query that gives its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnFigure {
    /// What is shown, of a statistic that has the name [`Figure::statistic`] says and that the caller makes of the answer.
    pub figure: Figure,
    /// The query, without the comments before it.
    pub query: String,
}

/// The longest name: it becomes that of files.
const NAME_LIMIT_BYTES: usize = 64;
/// What ends the names of files of a second side.
const AGAINST: &str = "-against";
/// The part of the page after all sections.
const LAST_PART: &str = "queries";

impl OwnFigure {
    /// Reads the file `NAME.sql`.
    pub fn parse(name: &str, text: &str) -> Result<OwnFigure> {
        check_name(name)?;
        let is_comment = |line: &&str| line.trim().is_empty() || line.starts_with("--");
        let head = text.lines().take_while(is_comment).map(|line| {
            let line = line.strip_prefix("--").unwrap_or("");
            line.strip_prefix(' ').unwrap_or(line)
        });
        let head = head.collect::<Vec<_>>().join("\n");
        let figure = Figure::read(name, &head)?;
        if !figure.statistic.is_empty() {
            return Err(wrong(name, "it has a query and needs no `statistic`"));
        }
        if figure.draw.columns().is_empty() {
            return Err(wrong(name, "it draws no column"));
        }
        let query = text.lines().skip_while(is_comment).collect::<Vec<_>>().join("\n");
        let statistic = format!("figures/{name}.sql");
        Ok(OwnFigure { figure: Figure { statistic, ..figure }, query: query.trim_end().to_owned() })
    }

    /// Refuses an answer without a column that is drawn.
    pub fn check_columns(&self, answered: &[&str]) -> Result<()> {
        let columns = self.figure.draw.columns();
        match columns.into_iter().find(|column| !answered.contains(column)) {
            None => Ok(()),
            Some(column) => {
                let reason = format!("it draws `{column}`, and the query gives {}", answered.join(", "));
                Err(wrong(&self.figure.name, &reason))
            }
        }
    }
}

/// Names become addresses in the page and names of files, where no other figure may be.
fn check_name(name: &str) -> Result<()> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.len() > NAME_LIMIT_BYTES || !name.bytes().all(is_plain) || name.trim_matches('-').is_empty() {
        let reason = format!("its name has to be of a-z, 0-9 and -, at most {NAME_LIMIT_BYTES} of them");
        return Err(wrong(name, &reason));
    }
    let is_part = name == LAST_PART || Section::ALL.iter().any(|part| part.title().to_lowercase() == name);
    if is_part || name.ends_with(AGAINST) || catalogue()?.iter().any(|figure| figure.name == name) {
        return Err(wrong(name, "its name is taken by something else in the report"));
    }
    Ok(())
}

fn wrong(name: &str, reason: &str) -> Error {
    Error::Figure { name: name.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "-- section = \"pages\"\r\n--title = \"Hosts\"\n\n-- # A remark.\n-- [draw.bars]\n-- name = \"host\"\n\
        -- value = \"n\"\n-- axis = \"pages\"\nselect host, count(*) as n -- all\nfrom pages\n\n";

    #[test]
    fn comments_are_the_figure_and_the_rest_is_the_query() {
        let own = OwnFigure::parse("hosts", FILE).unwrap();
        assert_eq!((own.figure.name.as_str(), own.figure.title.as_str()), ("hosts", "Hosts"));
        assert_eq!(own.query, "select host, count(*) as n -- all\nfrom pages");
        assert!(own.check_columns(&["n", "host", "more"]).is_ok());
        let error = own.check_columns(&["host", "count"]).unwrap_err().to_string();
        assert_eq!(
            error,
            "the figure `hosts` cannot be drawn: it draws `n`, and the query gives host, count"
        );
    }

    #[test]
    fn a_wrong_file_is_told_in_one_line_with_its_place() {
        let error = |text: &str| OwnFigure::parse("hosts", text).unwrap_err().to_string();
        assert!(error(&FILE.replace("title", "titel")).contains("line 2: unknown field `titel`"));
        assert!(error(&FILE.replace("\"Hosts\"", "Hosts")).contains("line 2: "));
        assert!(error("select 1").contains("missing field `section`"));
        assert!(error(&format!("-- statistic = \"languages\"\n{FILE}")).contains("needs no `statistic`"));
        let table = "-- section = \"pages\"\n-- title = \"A\"\n-- [draw.table]\n-- columns = []\nselect 1";
        assert!(error(table).contains("draws no column"));
        for text in ["", "select 1", "-- [", "-- section = 1\n\n", "-- \u{0}"] {
            assert_eq!(error(text).lines().count(), 1, "{text}");
        }
    }

    #[test]
    fn names_are_plain_and_nobody_elses() {
        for name in ["", "-", "A", "a/b", "..", "a b", "é", &"a".repeat(65)] {
            let error = OwnFigure::parse(name, FILE).unwrap_err().to_string();
            assert!(error.contains("has to be of a-z"), "{name}: {error}");
        }
        for name in ["languages", "pages", "queries", "hosts-against"] {
            let error = OwnFigure::parse(name, FILE).unwrap_err().to_string();
            assert!(error.contains("is taken"), "{name}: {error}");
        }
    }
}
