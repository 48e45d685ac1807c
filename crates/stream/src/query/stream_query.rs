//! Parameters of a stream, shared by the command line, the URL of `GET /stream` and the tickets of Arrow Flight.
//!
//! Parses and formats names and values; [`PageStream`](store::PageStream) evaluates them.

use std::str::FromStr;

use model::printable_line;
use parse::parse_date;
use store::{PageOrder, PageStreamRequest};
use url::form_urlencoded;

use crate::query::output::{OutputColumn, OutputFormat, OutputOptions};

/// Validated query for a stream of pages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamQuery {
    /// Name or generation of a snapshot; the last commit if missing.
    pub snapshot: Option<String>,
    /// Filter, order and start of the pages.
    pub request: PageStreamRequest,
    /// Output format.
    pub output: OutputOptions,
    /// Number of bytes of the response that the client already has.
    pub skip_bytes: u64,
}

/// Invalid query.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum QueryError {
    /// Unknown parameter.
    #[error("unknown parameter `{name}`; expected one of: {}", PARAMETERS.join(", "))]
    UnknownParameter {
        /// Name of the parameter.
        name: String,
    },
    /// Invalid value of a parameter.
    #[error("invalid value `{value}` of {name}: {cause}")]
    InvalidValue {
        /// Name of the parameter.
        name: &'static str,
        /// The value, truncated.
        value: String,
        /// Expected value.
        cause: String,
    },
    /// Too many parameters.
    #[error("too many parameters (maximum {MAX_VALUES})")]
    TooManyValues,
}

/// Names of all parameters.
const PARAMETERS: [&str; 17] = [
    "site",
    "domain",
    "language",
    "status",
    "mime_type",
    "since",
    "before",
    "where",
    "order",
    "shard",
    "after",
    "limit",
    "format",
    "columns",
    "verify",
    "snapshot",
    "byte_offset",
];

/// Maximum number of parameters of a query; bounds the work of one request.
const MAX_VALUES: usize = 1_000;

impl StreamQuery {
    /// Parses the query string of a URL.
    pub fn parse_query(query: &str) -> Result<StreamQuery, QueryError> {
        StreamQuery::from_pairs(form_urlencoded::parse(query.as_bytes()))
    }

    /// Parses names and values; `site`, `domain`, `language`, `status` and `mime_type` may be repeated.
    pub fn from_pairs(
        pairs: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
    ) -> Result<StreamQuery, QueryError> {
        let mut query = StreamQuery::default();
        for (count, (name, value)) in pairs.into_iter().enumerate() {
            if count >= MAX_VALUES {
                return Err(QueryError::TooManyValues);
            }
            query.set(name.as_ref(), value.as_ref())?;
        }
        Ok(query)
    }

    /// Snapshot to read: the one that is named, else the commit of the cursor.
    pub fn snapshot(&self) -> Option<String> {
        let of_cursor = || self.request.after.map(|position| position.generation.to_string());
        self.snapshot.clone().or_else(of_cursor)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), QueryError> {
        let Some(name) = PARAMETERS.into_iter().find(|known| *known == name) else {
            return Err(QueryError::UnknownParameter { name: abbreviate(name) });
        };
        let invalid = |cause: String| QueryError::InvalidValue { name, value: abbreviate(value), cause };
        let selection = &mut self.request.filter;
        match name {
            "site" => selection.sites.push(value.to_owned()),
            "domain" => selection.domains.push(value.to_owned()),
            "language" => selection.languages.push(value.to_owned()),
            "status" => selection.statuses.push(parse_status(value).map_err(invalid)?),
            "mime_type" => selection.mime_types.push(value.to_owned()),
            "since" => selection.since_ms = Some(parse_time_ms(value).map_err(invalid)?),
            "before" => selection.before_ms = Some(parse_time_ms(value).map_err(invalid)?),
            "where" => {
                let predicate: store::Predicate =
                    value.parse().map_err(|error: store::PredicateError| invalid(error.to_string()))?;
                selection.predicate = Some(predicate);
            }
            "order" => self.request.order = parse_order(value).map_err(invalid)?,
            "shard" => self.request.partition = value.parse().map_err(invalid)?,
            "after" => {
                let position: store::StreamCursor =
                    value.parse().map_err(|error: store::Error| invalid(error.to_string()))?;
                (self.request.after, self.request.order) = (Some(position), position.order);
            }
            "limit" => self.request.max_pages = parse_number(value).map_err(invalid)?,
            "format" => self.output.format = OutputFormat::from_str(value).map_err(invalid)?,
            "columns" => self.output.columns = OutputColumn::parse_list(value).map_err(invalid)?,
            "verify" => self.output.verify = parse_bool(value).map_err(invalid)?,
            "snapshot" => self.snapshot = Some(value.to_owned()),
            _ => self.skip_bytes = parse_number(value).map_err(invalid)?,
        }
        Ok(())
    }

    /// Formats the query so that [`StreamQuery::parse_query`] reads it back.
    pub fn to_query(&self) -> String {
        let mut out = form_urlencoded::Serializer::new(String::new());
        let PageStreamRequest { filter: selection, order, partition: part, after: from, max_pages, .. } =
            &self.request;
        for (name, values) in [
            ("site", &selection.sites),
            ("domain", &selection.domains),
            ("language", &selection.languages),
            ("mime_type", &selection.mime_types),
        ] {
            out.extend_pairs(values.iter().map(|value| (name, value)));
        }
        out.extend_pairs(selection.statuses.iter().map(|status| ("status", status.to_string())));
        let time = |ms: i64| format!("{ms}ms");
        let single = [
            ("since", selection.since_ms.map(time)),
            ("before", selection.before_ms.map(time)),
            ("where", selection.predicate.as_ref().map(ToString::to_string)),
            ("order", (*order == PageOrder::Site).then(|| "site".to_owned())),
            ("shard", Some(part.to_string())),
            ("after", from.map(|from| from.to_string())),
            ("limit", (*max_pages < u64::MAX).then(|| max_pages.to_string())),
            ("format", Some(self.output.format.name().to_owned())),
            ("columns", Some(OutputColumn::join_names(&self.output.columns))),
            ("verify", self.output.verify.then(|| "1".to_owned())),
            ("snapshot", self.snapshot.clone()),
            ("byte_offset", (self.skip_bytes > 0).then(|| self.skip_bytes.to_string())),
        ];
        out.extend_pairs(single.into_iter().filter_map(|(name, value)| Some((name, value?))));
        out.finish()
    }
}

fn parse_status(value: &str) -> Result<u16, String> {
    let digits = value.strip_suffix("xx").filter(|digit| digit.len() == 1).unwrap_or(value);
    let status =
        digits.parse().ok().filter(|status| (1..=5).contains(status) || (100..=599).contains(status));
    status.ok_or_else(|| "expected an HTTP status such as 404, or a class such as 4xx".to_owned())
}

/// Parses a date, or Unix milliseconds as [`StreamQuery::to_query`] writes them.
fn parse_time_ms(value: &str) -> Result<i64, String> {
    let milliseconds = value.strip_suffix("ms").and_then(|number| number.parse().ok());
    let time = milliseconds.or_else(|| parse_date(value).and_then(|seconds| seconds.checked_mul(1_000)));
    time.ok_or_else(|| "expected a date such as 2026-11-15 or 2026-11-15T08:30:00Z".to_owned())
}

fn parse_order(value: &str) -> Result<PageOrder, String> {
    match value {
        "crawl" => Ok(PageOrder::Crawl),
        "site" => Ok(PageOrder::Site),
        _ => Err("expected crawl or site".to_owned()),
    }
}

fn parse_number(value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| "expected a number".to_owned())
}

fn parse_bool(value: &str) -> Result<bool, String> {
    match value {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err("expected 1 or 0".to_owned()),
    }
}

fn abbreviate(text: &str) -> String {
    const MAX_BYTES: usize = 100;
    printable_line(&text[..text.floor_char_boundary(MAX_BYTES)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_survives_formatting_and_parsing() {
        let query = "site=https%3A%2F%2Fa.test&site=b.test&domain=x.org&language=en&mime_type=text%2F*&status=2&status=404\
                     &since=1700000000000ms&before=2026-11-15&where=title+like+%27%25+%26+co%27&order=site&shard=2%2F3&after=7.1.1024.5&limit=9\
                     &format=text&columns=url%2Ctitle&verify=1&snapshot=before+the+storm&byte_offset=77";
        let query = StreamQuery::parse_query(query).unwrap();
        assert_eq!(query.request.filter.sites, ["https://a.test", "b.test"]);
        assert_eq!(
            (query.request.partition.to_string(), query.request.max_pages, query.skip_bytes),
            ("2/3".to_owned(), 9, 77)
        );
        assert_eq!(StreamQuery::parse_query(&query.to_query()), Ok(query));
        assert_eq!(StreamQuery::parse_query(&StreamQuery::default().to_query()), Ok(StreamQuery::default()));
    }

    #[test]
    fn an_invalid_query_is_reported_with_its_parameter_and_the_expected_value() {
        for (query, expected) in [
            ("colour=red", "unknown parameter `colour`; expected one of: site, domain"),
            ("status=600", "invalid value `600` of status: expected an HTTP status"),
            ("shard=3/2", "invalid value `3/2` of shard"),
            ("since=tomorrow", "expected a date such as"),
            ("after=1.2", "it is not a cursor"),
            ("format=pdf", "invalid value `pdf` of format: expected one of: warc"),
            ("columns=url,colour", "unknown column `colour`"),
            ("limit=-1", "expected a number"),
            (
                "where=status+%3D%3D+200",
                "invalid value `status == 200` of where: at character 9: expected a number, found `=`",
            ),
        ] {
            let error = StreamQuery::parse_query(query).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(StreamQuery::parse_query(&"site=a&".repeat(1_001)), Err(QueryError::TooManyValues));
    }
}
