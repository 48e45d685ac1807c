//! Custom figures: SQL files. The leading comments contain the definition, as in `figures/*.toml`, each line after
//! `--`; the query follows. The caller runs the query.

use crate::error::{Error, Result};
use crate::figure::{Figure, Section};
use crate::figures::figures;
use crate::file_names::COMPARED_SUFFIX;

/// A figure with its query.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomFigure {
    /// The definition. [`Figure::statistic`] is the name under which the caller passes the result of the query.
    pub figure: Figure,
    /// The query, without the leading comments.
    pub query: String,
}

/// Maximum length of the name, which is used in file names.
const MAX_NAME_BYTES: usize = 64;
/// Id of the last part of the page.
const QUERIES_ID: &str = "queries";

impl CustomFigure {
    /// Parses the file `NAME.sql`.
    pub fn parse(name: &str, text: &str) -> Result<CustomFigure> {
        check_name(name)?;
        let is_comment = |line: &&str| line.trim().is_empty() || line.starts_with("--");
        let head = text.lines().take_while(is_comment).map(|line| {
            let line = line.strip_prefix("--").unwrap_or("");
            line.strip_prefix(' ').unwrap_or(line)
        });
        let head = head.collect::<Vec<_>>().join("\n");
        let figure = Figure::read(name, &head)?;
        if !figure.statistic.is_empty() {
            return Err(invalid(name, "a custom figure has a query and needs no `statistic`"));
        }
        if figure.draw.columns().is_empty() {
            return Err(invalid(name, "no column is drawn"));
        }
        let query = text.lines().skip_while(is_comment).collect::<Vec<_>>().join("\n");
        let statistic = format!("figures/{name}.sql");
        Ok(CustomFigure { figure: Figure { statistic, ..figure }, query: query.trim_end().to_owned() })
    }

    /// Checks that the result of the query has all columns that are drawn.
    pub fn check_columns(&self, available: &[&str]) -> Result<()> {
        let columns = self.figure.draw.columns();
        match columns.into_iter().find(|column| !available.contains(column)) {
            None => Ok(()),
            Some(column) => {
                let reason = format!("the query does not return `{column}`, only {}", available.join(", "));
                Err(invalid(&self.figure.name, &reason))
            }
        }
    }
}

/// Checks the name: it is used in ids of the page and in file names, and must be unique.
fn check_name(name: &str) -> Result<()> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.len() > MAX_NAME_BYTES || !name.bytes().all(is_plain) || name.trim_matches('-').is_empty() {
        let reason = format!("a name consists of a-z, 0-9 and -, at most {MAX_NAME_BYTES} characters");
        return Err(invalid(name, &reason));
    }
    let is_section = name == QUERIES_ID || Section::ALL.iter().any(|section| section.id() == name);
    if is_section || name.ends_with(COMPARED_SUFFIX) || figures()?.iter().any(|figure| figure.name == name) {
        return Err(invalid(name, "the name is already used in the report"));
    }
    Ok(())
}

fn invalid(name: &str, reason: &str) -> Error {
    Error::Figure { name: name.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "-- section = \"pages\"\r\n--title = \"Hosts\"\n\n-- # A remark.\n-- [draw.bars]\n-- name = \"host\"\n\
        -- value = \"n\"\n-- axis = \"pages\"\nselect host, count(*) as n -- all\nfrom pages\n\n";

    #[test]
    fn leading_comments_are_the_definition_and_the_rest_is_the_query() {
        let custom = CustomFigure::parse("hosts", FILE).unwrap();
        assert_eq!((custom.figure.name.as_str(), custom.figure.title.as_str()), ("hosts", "Hosts"));
        assert_eq!(custom.query, "select host, count(*) as n -- all\nfrom pages");
        assert!(custom.check_columns(&["n", "host", "more"]).is_ok());
        let error = custom.check_columns(&["host", "count"]).unwrap_err().to_string();
        assert_eq!(error, "invalid figure `hosts`: the query does not return `n`, only host, count");
    }

    #[test]
    fn errors_are_one_line_with_the_line_number() {
        let error = |text: &str| CustomFigure::parse("hosts", text).unwrap_err().to_string();
        assert!(error(&FILE.replace("title", "titel")).contains("line 2: unknown field `titel`"));
        assert!(error(&FILE.replace("\"Hosts\"", "Hosts")).contains("line 2: "));
        assert!(error("select 1").contains("missing field `section`"));
        assert!(error(&format!("-- statistic = \"languages\"\n{FILE}")).contains("needs no `statistic`"));
        let table = "-- section = \"pages\"\n-- title = \"A\"\n-- [draw.table]\n-- columns = []\nselect 1";
        assert!(error(table).contains("no column is drawn"));
        for text in ["", "select 1", "-- [", "-- section = 1\n\n", "-- \u{0}"] {
            assert_eq!(error(text).lines().count(), 1, "{text}");
        }
    }

    #[test]
    fn names_are_plain_and_unique() {
        for name in ["", "-", "A", "a/b", "..", "a b", "é", &"a".repeat(65)] {
            let error = CustomFigure::parse(name, FILE).unwrap_err().to_string();
            assert!(error.contains("consists of a-z"), "{name}: {error}");
        }
        for name in ["languages", "pages", "queries", "hosts-compared"] {
            let error = CustomFigure::parse(name, FILE).unwrap_err().to_string();
            assert!(error.contains("is already used"), "{name}: {error}");
        }
    }
}
