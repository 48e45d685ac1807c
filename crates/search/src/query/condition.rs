//! What does a page have to be like? A tree of conditions, and how it is written.

use std::fmt;

use model::Neighbours;

use super::Period;

/// A condition on a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// All of them hold; at least two.
    All(Vec<Condition>),
    /// At least one of them holds; at least two.
    Any(Vec<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
    /// The page has the words.
    Text {
        /// Where; anywhere if nowhere is named.
        part: Option<Part>,
        /// Which.
        words: Words,
    },
    /// Words follow each other closely, in any order.
    Near {
        /// Words or phrases, at least two.
        words: Vec<Words>,
        /// How many words away each is at most from the one before; one fewer than the words.
        within: Vec<u16>,
    },
    /// A number of the page compares so with a value.
    Number {
        /// Which number.
        measure: Measure,
        /// How it compares.
        compare: Compare,
        /// With what.
        value: f64,
    },
    /// The page is of a time.
    Date {
        /// Before, in or after.
        compare: Compare,
        /// The time.
        period: Period,
    },
    /// The page lies on the site of this host.
    Site(String),
    /// The page lies under this domain.
    Domain(String),
    /// The page is in the language of this code.
    Language(String),
    /// The content is of this type: `text/html`, or the part after the slash.
    Type(String),
    /// The page has a place in the link graph.
    Link(LinkCondition),
}

/// A part of a page, or of what others say of it, that words can be looked for in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The title.
    Title,
    /// The URL.
    Url,
    /// The words of links to the page.
    Anchor,
}

/// Words to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Words {
    /// One word in any of its forms.
    Word(String),
    /// Words in a row.
    Phrase(String),
    /// Words that begin so.
    Prefix(String),
    /// Words that have this somewhere within.
    Within(String),
}

/// A number that a page has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Links from where its site was entered.
    Depth,
    /// The status of HTTP.
    Status,
    /// Pages that link to it.
    InLinks,
    /// Pages that it links to.
    OutLinks,
    /// Its PageRank; all together are 1.
    PageRank,
    /// Bytes of its content.
    Size,
}

/// How two values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// `=`, or nothing.
    Equal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
}

/// A condition that only the link graph can answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LinkCondition {
    /// How the pages wanted relate to the one named.
    pub kind: Neighbours,
    /// The page named, as the user wrote it.
    pub url: String,
}

impl Condition {
    /// The conditions on links, each once.
    pub(super) fn gather_links(&self, found: &mut Vec<LinkCondition>) {
        match self {
            Condition::All(all) | Condition::Any(all) => {
                all.iter().for_each(|condition| condition.gather_links(found));
            }
            Condition::Not(not) => not.gather_links(found),
            Condition::Link(link) if !found.contains(link) => found.push(link.clone()),
            _ => {}
        }
    }

    /// Whether it has to stand in parentheses beside others that must hold.
    fn is_list(&self) -> bool {
        matches!(self, Condition::All(_) | Condition::Any(_))
    }
}

impl Compare {
    /// Whether a value compares so with another.
    pub fn holds(self, value: f64, other: f64) -> bool {
        match self {
            Compare::Equal => value == other,
            Compare::Less => value < other,
            Compare::AtMost => value <= other,
            Compare::More => value > other,
            Compare::AtLeast => value >= other,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Compare::Equal => "",
            Compare::Less => "<",
            Compare::AtMost => "<=",
            Compare::More => ">",
            Compare::AtLeast => ">=",
        }
    }
}

impl Part {
    /// As in queries.
    pub fn as_str(self) -> &'static str {
        match self {
            Part::Title => "title",
            Part::Url => "url",
            Part::Anchor => "anchor",
        }
    }
}

impl Measure {
    /// As in queries.
    pub fn as_str(self) -> &'static str {
        match self {
            Measure::Depth => "depth",
            Measure::Status => "status",
            Measure::InLinks => "inlinks",
            Measure::OutLinks => "outlinks",
            Measure::PageRank => "pagerank",
            Measure::Size => "size",
        }
    }
}

impl fmt::Display for Words {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Words::Word(word) => out.write_str(word),
            Words::Phrase(words) => write!(out, "\"{words}\""),
            Words::Prefix(start) => write!(out, "{start}*"),
            Words::Within(part) => write!(out, "*{part}*"),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::All(all) => write_list(out, all, " ", Condition::is_list),
            Condition::Any(any) => {
                write_list(out, any, " OR ", |condition| matches!(condition, Condition::Any(_)))
            }
            Condition::Not(not) => {
                let is_more = |not: &Condition| not.is_list() || matches!(not, Condition::Near { .. });
                out.write_str("-")?;
                write_one(out, not, is_more(not))
            }
            Condition::Text { part: None, words } => words.fmt(out),
            Condition::Text { part: Some(part), words } => write!(out, "{}:{words}", part.as_str()),
            Condition::Near { words, within } => {
                let first = words.first().into_iter().try_for_each(|first| first.fmt(out));
                let mut others = words.iter().skip(1).zip(within);
                first
                    .and_then(|()| others.try_for_each(|(next, within)| write!(out, " NEAR/{within} {next}")))
            }
            Condition::Number { measure, compare, value } => {
                write!(out, "{}:{}{value}", measure.as_str(), compare.as_str())
            }
            Condition::Date { compare, period } => write!(out, "date:{}{period}", compare.as_str()),
            Condition::Site(site) => write!(out, "site:{site}"),
            Condition::Domain(domain) => write!(out, "domain:{domain}"),
            Condition::Language(code) => write!(out, "lang:{code}"),
            Condition::Type(kind) => write!(out, "type:{kind}"),
            Condition::Link(LinkCondition { kind, url }) => write!(out, "{}:\"{url}\"", kind.as_str()),
        }
    }
}

fn write_list(
    out: &mut fmt::Formatter<'_>,
    conditions: &[Condition],
    between: &str,
    in_parentheses: impl Fn(&Condition) -> bool,
) -> fmt::Result {
    for (place, condition) in conditions.iter().enumerate() {
        if place > 0 {
            out.write_str(between)?;
        }
        write_one(out, condition, in_parentheses(condition))?;
    }
    Ok(())
}

fn write_one(out: &mut fmt::Formatter<'_>, condition: &Condition, in_parentheses: bool) -> fmt::Result {
    if in_parentheses { write!(out, "({condition})") } else { write!(out, "{condition}") }
}
