//! Conditions of a predicate: columns, comparisons, and the separation of conditions on documents.

use std::borrow::Cow;

/// Boolean combination of comparisons.
#[derive(Debug, Clone)]
pub(super) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Comparison(Comparison),
}

/// Comparison on one column.
#[derive(Debug, Clone)]
pub(super) struct Comparison {
    pub(super) column: FilterColumn,
    pub(super) operator: Operator,
}

/// Operator of a comparison with its operands.
#[derive(Debug, Clone)]
pub(super) enum Operator {
    Compare(CompareOp, Literal<'static>),
    OneOf(Vec<Literal<'static>>),
    Like(Vec<char>),
    IsNull,
}

/// Comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompareOp {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Value of a column: a number (for a time, Unix milliseconds) or a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal<'a> {
    Number(f64),
    Text(Cow<'a, str>),
}

/// Type of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LiteralType {
    Number,
    Text,
    Time,
}

/// Source of the value of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnSource {
    /// State record of the page, and the name of its site.
    State,
    /// Table `documents`.
    Documents,
    /// Stored record, which must be read.
    Record,
}

macro_rules! columns {
    ($($FilterColumn:ident, $name:literal, $LiteralType:ident, $ColumnSource:ident;)*) => {
        /// Column of a predicate.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum FilterColumn {
            $($FilterColumn,)*
        }

        impl FilterColumn {
            pub(super) const ALL: &[(&str, FilterColumn)] = &[$(($name, FilterColumn::$FilterColumn),)*];

            pub(super) fn name(self) -> &'static str {
                match self { $(FilterColumn::$FilterColumn => $name,)* }
            }

            pub(super) fn source(self) -> ColumnSource {
                match self { $(FilterColumn::$FilterColumn => ColumnSource::$ColumnSource,)* }
            }

            pub(super) fn literal_type(self) -> LiteralType {
                match self { $(FilterColumn::$FilterColumn => LiteralType::$LiteralType,)* }
            }
        }
    };
}

columns! {
    Url, "url", Text, Record;
    Status, "status", Number, Record;
    MimeType, "mime_type", Text, Record;
    FetchTime, "fetch_time", Time, Record;
    PageId, "page_id", Number, State;
    Site, "site", Text, State;
    Host, "host", Text, State;
    Depth, "depth", Number, State;
    BodyBytes, "body_bytes", Number, State;
    Inlinks, "inlinks", Number, State;
    FetchCount, "fetch_count", Number, State;
    ChangeCount, "change_count", Number, State;
    FirstFetchTime, "first_fetch_time", Time, State;
    LastFetchTime, "last_fetch_time", Time, State;
    DuplicateOf, "duplicate_of", Number, State;
    Language, "language", Text, Documents;
    Title, "title", Text, Documents;
    Charset, "charset", Text, Documents;
    RobotsDirectives, "robots_directives", Text, Documents;
    WordCount, "word_count", Number, Documents;
    TextLength, "text_length", Number, Documents;
    InternalLinks, "internal_links", Number, Documents;
    ExternalLinks, "external_links", Number, Documents;
    PublishedTime, "published_time", Time, Documents;
    ModifiedTime, "modified_time", Time, Documents;
}

/// Node of a compiled condition.
pub(super) enum EvalNode {
    All(Vec<EvalNode>),
    Any(Vec<EvalNode>),
    Not(Box<EvalNode>),
    Comparison(Comparison),
    /// Index of a condition on documents.
    Documents(usize),
}

/// Number of separate conditions on documents.
pub(super) fn document_condition_count(condition: &Condition) -> usize {
    let mut conditions = Vec::new();
    split_document_conditions(condition, &mut conditions);
    conditions.len()
}

/// Compiles a condition; appends the conditions on documents alone to `documents`. Adjacent ones are combined.
pub(super) fn split_document_conditions(condition: &Condition, documents: &mut Vec<Condition>) -> EvalNode {
    if sources(condition) == [ColumnSource::Documents] {
        documents.push(condition.clone());
        return EvalNode::Documents(documents.len() - 1);
    }
    let mut split_list = |list: &[Condition], join: fn(Vec<Condition>) -> Condition| {
        let of_documents = |one: &&Condition| sources(one) == [ColumnSource::Documents];
        let (adjacent, others): (Vec<&Condition>, Vec<&Condition>) = list.iter().partition(of_documents);
        let mut nodes: Vec<EvalNode> =
            others.into_iter().map(|one| split_document_conditions(one, documents)).collect();
        if !adjacent.is_empty() {
            nodes.push(split_document_conditions(&join(adjacent.into_iter().cloned().collect()), documents));
        }
        nodes
    };
    match condition {
        Condition::All(list) => EvalNode::All(split_list(list, Condition::All)),
        Condition::Any(list) => EvalNode::Any(split_list(list, Condition::Any)),
        Condition::Not(one) => EvalNode::Not(Box::new(split_document_conditions(one, documents))),
        Condition::Comparison(comparison) => EvalNode::Comparison(comparison.clone()),
    }
}

/// Sources of the columns of a condition, each once.
pub(super) fn sources(condition: &Condition) -> Vec<ColumnSource> {
    let mut sources = Vec::new();
    for_each_comparison(condition, &mut |comparison| {
        if !sources.contains(&comparison.column.source()) {
            sources.push(comparison.column.source());
        }
    });
    sources
}

/// Calls `visit` with every comparison of a condition.
pub(super) fn for_each_comparison(condition: &Condition, visit: &mut dyn FnMut(&Comparison)) {
    match condition {
        Condition::All(list) | Condition::Any(list) => {
            list.iter().for_each(|one| for_each_comparison(one, visit));
        }
        Condition::Not(one) => for_each_comparison(one, visit),
        Condition::Comparison(comparison) => visit(comparison),
    }
}

/// Host and port of a site name.
pub(super) fn host_and_port(site: &str) -> &str {
    site.split_once("://").map_or(site, |(_, rest)| rest)
}

/// Host of a site name, without the port.
pub(super) fn host(site: &str) -> &str {
    let host = host_and_port(site);
    match host.rsplit_once(':') {
        // The last group of an IPv6 address is not a port.
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !host.ends_with(']') => name,
        _ => host,
    }
}
