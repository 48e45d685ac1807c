//! Tree of conditions of a query.

use std::fmt;

use model::LinkRelation;

use super::Period;

/// Condition on a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// Conjunction of at least two conditions.
    All(Vec<Condition>),
    /// Disjunction of at least two conditions.
    Any(Vec<Condition>),
    /// Negation.
    Not(Box<Condition>),
    /// The text of the page matches a pattern.
    Text {
        /// Field; all fields with a weight if `None`.
        field: Option<QueryField>,
        /// Pattern.
        pattern: WordPattern,
    },
    /// Words or phrases near each other, in any order.
    Near {
        /// Words or phrases, at least two.
        operands: Vec<WordPattern>,
        /// Maximum distance in words of each operand from the previous one.
        max_distances: Vec<u16>,
    },
    /// Comparison of a number of the page.
    Number {
        /// Field.
        field: NumericField,
        /// Comparison.
        comparison: Comparison,
        /// Value.
        value: f64,
    },
    /// Comparison of the date of the page.
    Date {
        /// Comparison.
        comparison: Comparison,
        /// Period.
        period: Period,
    },
    /// Page of the site of this host.
    Site(String),
    /// Page of a host under this domain.
    Domain(String),
    /// Language code of the page.
    Language(String),
    /// MIME type of the page: `text/html`, or a part of it.
    MimeType(String),
    /// Relation of the page in the link graph.
    Link(LinkCondition),
}

/// Text field that a query can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryField {
    /// Title.
    Title,
    /// URL.
    Url,
    /// Anchor texts of inlinks.
    Anchor,
}

/// Pattern of words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordPattern {
    /// Word, stemmed.
    Word(String),
    /// Phrase: consecutive words.
    Phrase(String),
    /// Words with wildcards: `*` stands for any characters, or none.
    Wildcard(String),
}

/// Numeric field of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumericField {
    /// Link depth from the entry page of its site.
    Depth,
    /// HTTP status.
    Status,
    /// Number of pages that link to it.
    Inlinks,
    /// Number of pages that it links to.
    Outlinks,
    /// PageRank; the sum over all pages is 1.
    PageRank,
    /// Size of the body in bytes.
    Size,
}

/// Comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=` or no operator.
    Equal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// Condition on links, which needs the link graph.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LinkCondition {
    /// Relation of the matching pages to the named page.
    pub relation: LinkRelation,
    /// URL of the named page, as written.
    pub url: String,
}

impl Condition {
    /// Collects the distinct link conditions.
    pub(super) fn collect_links(&self, found: &mut Vec<LinkCondition>) {
        match self {
            Condition::All(all) | Condition::Any(all) => {
                all.iter().for_each(|condition| condition.collect_links(found));
            }
            Condition::Not(not) => not.collect_links(found),
            Condition::Link(link) if !found.contains(link) => found.push(link.clone()),
            _ => {}
        }
    }

    /// Restricts all words and phrases without a field to a field; `false` if there is another condition.
    pub(super) fn set_field(&mut self, name: QueryField) -> bool {
        match self {
            Condition::All(all) | Condition::Any(all) => {
                all.iter_mut().all(|condition| condition.set_field(name))
            }
            Condition::Not(not) => not.set_field(name),
            Condition::Text { field: field @ None, .. } => {
                *field = Some(name);
                true
            }
            _ => false,
        }
    }

    /// The language of all matches, if the condition requires one.
    pub(crate) fn required_language(&self) -> Option<&str> {
        match self {
            Condition::Language(code) => Some(code),
            Condition::All(all) => all.iter().find_map(|condition| match condition {
                Condition::Language(code) => Some(code.as_str()),
                _ => None,
            }),
            _ => None,
        }
    }

    /// Distinct conditions of a list with their numbers of repetitions.
    pub(crate) fn count_repetitions(conditions: &[Condition]) -> Vec<(&Condition, f32)> {
        let mut counts: Vec<(&Condition, f32)> = Vec::with_capacity(conditions.len());
        for condition in conditions {
            match counts.iter_mut().find(|(known, _)| *known == condition) {
                Some((_, repetitions)) => *repetitions += 1.0,
                None => counts.push((condition, 1.0)),
            }
        }
        counts
    }

    /// Whether the condition needs parentheses in a conjunction.
    fn needs_parentheses(&self) -> bool {
        matches!(self, Condition::All(_) | Condition::Any(_))
    }
}

impl Comparison {
    /// Whether the comparison of two values holds.
    pub fn holds(self, value: f64, other: f64) -> bool {
        match self {
            Comparison::Equal => value == other,
            Comparison::Less => value < other,
            Comparison::LessOrEqual => value <= other,
            Comparison::Greater => value > other,
            Comparison::GreaterOrEqual => value >= other,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Comparison::Equal => "",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }
}

impl QueryField {
    /// Name in queries.
    pub fn as_str(self) -> &'static str {
        match self {
            QueryField::Title => "title",
            QueryField::Url => "url",
            QueryField::Anchor => "anchor",
        }
    }
}

impl NumericField {
    /// Name in queries.
    pub fn as_str(self) -> &'static str {
        match self {
            NumericField::Depth => "depth",
            NumericField::Status => "status",
            NumericField::Inlinks => "inlinks",
            NumericField::Outlinks => "outlinks",
            NumericField::PageRank => "pagerank",
            NumericField::Size => "size",
        }
    }
}

impl fmt::Display for WordPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WordPattern::Word(word) | WordPattern::Wildcard(word) => out.write_str(word),
            WordPattern::Phrase(words) => write!(out, "\"{words}\""),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::All(all) => write_list(out, all, " ", Condition::needs_parentheses),
            Condition::Any(any) => {
                write_list(out, any, " OR ", |condition| matches!(condition, Condition::Any(_)))
            }
            Condition::Not(not) => {
                let is_more =
                    |not: &Condition| not.needs_parentheses() || matches!(not, Condition::Near { .. });
                out.write_str("-")?;
                write_condition(out, not, is_more(not))
            }
            Condition::Text { field: None, pattern } => pattern.fmt(out),
            Condition::Text { field: Some(field), pattern } => write!(out, "{}:{pattern}", field.as_str()),
            Condition::Near { operands, max_distances } => {
                let first = operands.first().into_iter().try_for_each(|first| first.fmt(out));
                let mut others = operands.iter().skip(1).zip(max_distances);
                first.and_then(|()| {
                    others.try_for_each(|(next, distance)| write!(out, " NEAR/{distance} {next}"))
                })
            }
            Condition::Number { field, comparison, value } => {
                write!(out, "{}:{}{value}", field.as_str(), comparison.as_str())
            }
            Condition::Date { comparison, period } => write!(out, "date:{}{period}", comparison.as_str()),
            Condition::Site(site) => write!(out, "site:{site}"),
            Condition::Domain(domain) => write!(out, "domain:{domain}"),
            Condition::Language(code) => write!(out, "lang:{code}"),
            Condition::MimeType(mime_type) => write!(out, "type:{mime_type}"),
            Condition::Link(LinkCondition { relation, url }) => {
                write!(out, "{}:\"{url}\"", relation.as_str())
            }
        }
    }
}

fn write_list(
    out: &mut fmt::Formatter<'_>,
    conditions: &[Condition],
    between: &str,
    in_parentheses: impl Fn(&Condition) -> bool,
) -> fmt::Result {
    for (index, condition) in conditions.iter().enumerate() {
        if index > 0 {
            out.write_str(between)?;
        }
        write_condition(out, condition, in_parentheses(condition))?;
    }
    Ok(())
}

fn write_condition(out: &mut fmt::Formatter<'_>, condition: &Condition, in_parentheses: bool) -> fmt::Result {
    if in_parentheses { write!(out, "({condition})") } else { write!(out, "{condition}") }
}
