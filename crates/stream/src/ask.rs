//! What does somebody ask for? The one list of words that the command line, a URL and a ticket have in common.
//!
//! Useful wherever a wish comes from outside as names and values; what it means is the business of
//! [`PageStream`](store::PageStream).

use std::str::FromStr;

use parse::parse_date;
use store::{PageOrder, StreamRequest};
use url::form_urlencoded;

use crate::form::{Column, Form, Format};

/// A wish for pages, complete and checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ask {
    /// A snapshot by its name or generation; the last commit if none is named.
    pub snapshot: Option<String>,
    /// Which pages, in which order, from where on.
    pub request: StreamRequest,
    /// How they are to be written.
    pub form: Form,
    /// So many bytes of what would come are there already.
    pub skip_bytes: u64,
}

/// A wish that cannot be understood.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum WrongAsk {
    /// There is no such word.
    #[error("`{name}` cannot be asked for; there are {}", NAMES.join(", "))]
    Unknown {
        /// The word.
        name: String,
    },
    /// It cannot have this value.
    #[error("{name} cannot be `{value}`: {why}")]
    Value {
        /// The word.
        name: &'static str,
        /// The value, or its beginning.
        value: String,
        /// What it can be.
        why: String,
    },
    /// Too many of them.
    #[error("more than {LIMIT_VALUES} conditions at once are too many")]
    TooMany,
}

/// All that can be asked for.
const NAMES: [&str; 17] = [
    "site", "domain", "language", "status", "mime", "since", "before", "where", "order", "part", "from",
    "max", "format", "columns", "verify", "snapshot", "skip",
];

/// No wish has more values.
const LIMIT_VALUES: usize = 1_000;

impl Ask {
    /// Reads a query, as it stands in a URL behind the question mark.
    pub fn of_query(query: &str) -> Result<Ask, WrongAsk> {
        Ask::of_pairs(form_urlencoded::parse(query.as_bytes()))
    }

    /// Reads names and values; `site`, `domain`, `language`, `status` and `mime` may come more than once.
    pub fn of_pairs(
        pairs: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
    ) -> Result<Ask, WrongAsk> {
        let mut ask = Ask::default();
        for (count, (name, value)) in pairs.into_iter().enumerate() {
            if count >= LIMIT_VALUES {
                return Err(WrongAsk::TooMany);
            }
            ask.set(name.as_ref(), value.as_ref())?;
        }
        Ok(ask)
    }

    /// The snapshot that is meant: the one that is named, or else the commit of the position.
    pub fn snapshot(&self) -> Option<String> {
        let of_position = || self.request.from.map(|position| position.generation.to_string());
        self.snapshot.clone().or_else(of_position)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), WrongAsk> {
        let Some(name) = NAMES.into_iter().find(|known| *known == name) else {
            return Err(WrongAsk::Unknown { name: shown(name) });
        };
        let wrong = |why: String| WrongAsk::Value { name, value: shown(value), why };
        let selection = &mut self.request.selection;
        match name {
            "site" => selection.sites.push(value.to_owned()),
            "domain" => selection.domains.push(value.to_owned()),
            "language" => selection.languages.push(value.to_owned()),
            "status" => selection.statuses.push(status(value).map_err(wrong)?),
            "mime" => selection.mime_types.push(value.to_owned()),
            "since" => selection.since_ms = Some(time_ms(value).map_err(wrong)?),
            "before" => selection.before_ms = Some(time_ms(value).map_err(wrong)?),
            "where" => {
                let predicate: store::Predicate =
                    value.parse().map_err(|error: store::WrongPredicate| wrong(error.to_string()))?;
                selection.predicate = Some(predicate);
            }
            "order" => self.request.order = order(value).map_err(wrong)?,
            "part" => self.request.part = value.parse().map_err(wrong)?,
            "from" => {
                let position: store::Position =
                    value.parse().map_err(|error: store::Error| wrong(error.to_string()))?;
                (self.request.from, self.request.order) = (Some(position), position.order);
            }
            "max" => self.request.max_pages = number(value).map_err(wrong)?,
            "format" => self.form.format = Format::from_str(value).map_err(wrong)?,
            "columns" => self.form.columns = Column::list(value).map_err(wrong)?,
            "verify" => self.form.verify = yes_or_no(value).map_err(wrong)?,
            "snapshot" => self.snapshot = Some(value.to_owned()),
            _ => self.skip_bytes = number(value).map_err(wrong)?,
        }
        Ok(())
    }

    /// The same wish as a query: [`Ask::of_query`] reads it.
    pub fn to_query(&self) -> String {
        let mut out = form_urlencoded::Serializer::new(String::new());
        let StreamRequest { selection, order, part, from, max_pages, .. } = &self.request;
        for (name, values) in [
            ("site", &selection.sites),
            ("domain", &selection.domains),
            ("language", &selection.languages),
            ("mime", &selection.mime_types),
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
            ("part", Some(part.to_string())),
            ("from", from.map(|from| from.to_string())),
            ("max", (*max_pages < u64::MAX).then(|| max_pages.to_string())),
            ("format", Some(self.form.format.name().to_owned())),
            ("columns", Some(Column::names(&self.form.columns))),
            ("verify", self.form.verify.then(|| "1".to_owned())),
            ("snapshot", self.snapshot.clone()),
            ("skip", (self.skip_bytes > 0).then(|| self.skip_bytes.to_string())),
        ];
        out.extend_pairs(single.into_iter().filter_map(|(name, value)| Some((name, value?))));
        out.finish()
    }
}

fn status(value: &str) -> Result<u16, String> {
    let digits = value.strip_suffix("xx").filter(|digit| digit.len() == 1).unwrap_or(value);
    let status =
        digits.parse().ok().filter(|status| (1..=5).contains(status) || (100..=599).contains(status));
    status.ok_or_else(|| "it is a status of HTTP such as 404, or all of a kind: 4xx".to_owned())
}

/// A date, or Unix milliseconds as [`Ask::to_query`] writes them.
fn time_ms(value: &str) -> Result<i64, String> {
    let milliseconds = value.strip_suffix("ms").and_then(|number| number.parse().ok());
    let time = milliseconds.or_else(|| parse_date(value).and_then(|seconds| seconds.checked_mul(1_000)));
    time.ok_or_else(|| "it is a date such as 2026-11-15, or 2026-11-15T08:30:00Z".to_owned())
}

fn order(value: &str) -> Result<PageOrder, String> {
    match value {
        "crawl" => Ok(PageOrder::Crawl),
        "site" => Ok(PageOrder::Site),
        _ => Err("it is crawl or site".to_owned()),
    }
}

fn number(value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| "it is a number".to_owned())
}

fn yes_or_no(value: &str) -> Result<bool, String> {
    match value {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err("it is 1 or 0".to_owned()),
    }
}

fn shown(text: &str) -> String {
    text.chars().take(100).map(|char| if char.is_control() { '.' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_survives_as_a_query() {
        let query = "site=https%3A%2F%2Fa.test&site=b.test&domain=x.org&language=en&mime=text%2F*&status=2&status=404\
                     &since=1700000000000ms&before=2026-11-15&where=title+like+%27%25+%26+co%27&order=site&part=2%2F3&from=7.1.1024.5&max=9\
                     &format=text&columns=url%2Ctitle&verify=1&snapshot=before+the+storm&skip=77";
        let ask = Ask::of_query(query).unwrap();
        assert_eq!(ask.request.selection.sites, ["https://a.test", "b.test"]);
        assert_eq!(
            (ask.request.part.to_string(), ask.request.max_pages, ask.skip_bytes),
            ("2/3".to_owned(), 9, 77)
        );
        assert_eq!(Ask::of_query(&ask.to_query()), Ok(ask));
        assert_eq!(Ask::of_query(&Ask::default().to_query()), Ok(Ask::default()));
    }

    #[test]
    fn what_cannot_be_understood_is_told_in_a_sentence() {
        for (query, expected) in [
            ("colour=red", "`colour` cannot be asked for; there are site, domain"),
            ("status=600", "status cannot be `600`: it is a status"),
            ("part=3/2", "part cannot be `3/2`"),
            ("since=tomorrow", "it is a date such as"),
            ("from=1.2", "that is no position"),
            ("format=pdf", "format cannot be `pdf`: there are warc"),
            ("columns=url,colour", "there is no column `colour`"),
            ("max=-1", "it is a number"),
            (
                "where=status+%3D%3D+200",
                "where cannot be `status == 200`: at character 9: expected a number, found `=`",
            ),
        ] {
            let error = Ask::of_query(query).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(Ask::of_query(&"site=a&".repeat(1_001)), Err(WrongAsk::TooMany));
    }
}
