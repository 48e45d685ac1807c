//! Does a page meet a predicate? As far as that is known without its record, before it is read; and for good afterwards.
//!
//! What documents say is in a table in another order than the pages are looked through. So the parts of a predicate that are about
//! documents alone are answered by one pass over it, before the stream begins: two bits a page for each part.

use std::borrow::Cow;

use model::PageId;

use super::filter::host;
use super::predicate::{
    ColumnSource, CompareOp, Comparison, Condition, FilterColumn, Literal, Operator, Predicate,
};
use crate::error::Result;
use crate::page_set::PageSet;
use crate::pages::StoredPage;
use crate::snapshot::Snapshot;
use crate::state::page::PageRecord;
use crate::tables::{DocumentRow, DocumentRows, TableReader};

/// A predicate, ready to be asked about the pages of one commit.
pub(super) struct PredicateEvaluator {
    question: EvalNode,
    documents: Vec<DocumentCondition>,
    pub(super) needs_record: bool,
}

/// What is known of a page.
pub(super) struct PageValues<'a> {
    pub(super) page: PageId,
    pub(super) record: &'a PageRecord,
    pub(super) site: &'a str,
    /// Its record, if it was read.
    pub(super) stored: Option<&'a StoredPage>,
}

enum EvalNode {
    All(Vec<EvalNode>),
    Any(Vec<EvalNode>),
    Not(Box<EvalNode>),
    Comparison(Comparison),
    /// One of the parts about documents.
    Documents(usize),
}

/// A part about documents, with the pages of which it is true, and of which it is false; of others nobody knows.
struct DocumentCondition {
    condition: Condition,
    is_true: PageSet,
    is_false: PageSet,
}

impl PredicateEvaluator {
    /// Looks up what documents say.
    pub(super) fn new(predicate: &Predicate, snapshot: &Snapshot) -> Result<PredicateEvaluator> {
        let mut parts = Vec::new();
        let question = split_document_conditions(&predicate.condition, &mut parts);
        let needs_record = sources(&predicate.condition).contains(&ColumnSource::Record);
        let pages = snapshot.page_state.pages() as usize;
        let mut documents: Vec<DocumentCondition> =
            parts.into_iter().map(|condition| DocumentCondition::new(condition, pages)).collect();
        read_documents(&mut documents, snapshot)?;
        Ok(PredicateEvaluator { question, documents, needs_record })
    }

    /// Whether a page may be meant whose record was not read; if no record is needed, whether it is.
    pub(super) fn may_match(&self, known: &PageValues<'_>) -> bool {
        match self.holds(&self.question, known) {
            Some(holds) => holds,
            None => self.needs_record,
        }
    }

    /// Whether a page is meant whose record was read.
    pub(super) fn matches(&self, known: &PageValues<'_>) -> bool {
        self.holds(&self.question, known) == Some(true)
    }

    fn holds(&self, node: &EvalNode, known: &PageValues<'_>) -> Option<bool> {
        match node {
            EvalNode::All(list) => all(list.iter().map(|one| self.holds(one, known))),
            EvalNode::Any(list) => any(list.iter().map(|one| self.holds(one, known))),
            EvalNode::Not(one) => self.holds(one, known).map(|holds| !holds),
            // Of a record that was not read, not even that something is missing is known.
            EvalNode::Comparison(test)
                if test.column.source() == ColumnSource::Record && known.stored.is_none() =>
            {
                None
            }
            EvalNode::Comparison(test) => test.passes(known.cell(test.column).as_ref()),
            EvalNode::Documents(place) => self.documents.get(*place)?.holds(known.page),
        }
    }
}

/// How many parts of it are about documents, with others between them.
pub(super) fn document_parts(condition: &Condition) -> usize {
    let mut parts = Vec::new();
    split_document_conditions(condition, &mut parts);
    parts.len()
}

impl PageValues<'_> {
    /// What the page has in a column; columns of documents are not known here.
    fn cell(&self, column: FilterColumn) -> Option<Literal<'_>> {
        let record = self.record;
        let number = |number: u32| Some(Literal::Number(f64::from(number)));
        match column {
            FilterColumn::Url => text(self.stored?.url()),
            FilterColumn::Status => number(u32::from(self.stored?.status()?)),
            FilterColumn::MimeType => {
                let mime = self.stored?.mime_type().to_ascii_lowercase();
                (!mime.is_empty()).then_some(Literal::Text(mime.into()))
            }
            FilterColumn::FetchTime => Some(Literal::Number(self.stored?.fetched_at_ms() as f64)),
            FilterColumn::PageId => number(self.page.0),
            FilterColumn::Site => text(self.site),
            FilterColumn::Host => text(host(self.site)),
            FilterColumn::Depth => number(u32::from(record.depth)),
            FilterColumn::BodyBytes => number(record.content_bytes),
            FilterColumn::Inlinks => number(record.inlinks),
            FilterColumn::FetchCount => number(u32::from(record.fetch_count)),
            FilterColumn::ChangeCount => number(u32::from(record.change_count)),
            FilterColumn::FirstFetchTime => seconds(record.first_visit_s),
            FilterColumn::LastFetchTime => seconds(record.last_visit_s),
            FilterColumn::DuplicateOf => number(record.duplicate_of?.0),
            _ => None,
        }
    }
}

impl DocumentCondition {
    /// Of a page of which there is no document, nothing is known.
    fn new(condition: Condition, pages: usize) -> DocumentCondition {
        let without = holds(&condition, &|test| test.passes(None));
        DocumentCondition {
            is_true: PageSet::new(pages, without == Some(true)),
            is_false: PageSet::new(pages, without == Some(false)),
            condition,
        }
    }

    fn take(&mut self, row: &DocumentRow<'_>) {
        let holds = holds(&self.condition, &|test| test.passes(document_cell(row, test.column).as_ref()));
        self.is_true.set(PageId(row.page_id), holds == Some(true));
        self.is_false.set(PageId(row.page_id), holds == Some(false));
    }

    fn holds(&self, page: PageId) -> Option<bool> {
        if self.is_true.contains(page) { Some(true) } else { self.is_false.contains(page).then_some(false) }
    }
}

/// Rows are in the order of the crawl: the last one of a page is about what is stored.
fn read_documents(parts: &mut [DocumentCondition], snapshot: &Snapshot) -> Result<()> {
    let mut columns = vec!["page_id"];
    let mut add = |test: &Comparison| columns.push(test.column.name());
    parts.iter().for_each(|part| for_each_test(&part.condition, &mut add));
    if parts.is_empty() {
        return Ok(());
    }
    let documents = TableReader::<DocumentRows>::open_committed(snapshot.dir(), &snapshot.manifest)?;
    documents.with_columns(&columns).for_each_row(|row| parts.iter_mut().for_each(|part| part.take(row)))
}

fn document_cell<'a>(row: &DocumentRow<'a>, column: FilterColumn) -> Option<Literal<'a>> {
    let number = |number: i64| Some(Literal::Number(number as f64));
    match column {
        FilterColumn::Language => text(row.language?),
        FilterColumn::Title => text(row.title?),
        FilterColumn::Charset => text(row.charset?),
        FilterColumn::WordCount => number(i64::from(row.word_count)),
        FilterColumn::TextLength => number(row.text_length),
        FilterColumn::InternalLinks => number(i64::from(row.internal_links)),
        FilterColumn::ExternalLinks => number(i64::from(row.external_links)),
        FilterColumn::PublishedTime => number(row.published_time?),
        FilterColumn::ModifiedTime => number(row.modified_time?),
        _ => None,
    }
}

fn text(text: &str) -> Option<Literal<'_>> {
    Some(Literal::Text(Cow::Borrowed(text)))
}

/// 0 stands for never.
fn seconds(unix_s: u32) -> Option<Literal<'static>> {
    (unix_s > 0).then(|| Literal::Number(f64::from(unix_s) * 1_000.0))
}

/// Puts the parts about documents aside; those that stand side by side are one.
fn split_document_conditions(condition: &Condition, parts: &mut Vec<Condition>) -> EvalNode {
    if sources(condition) == [ColumnSource::Documents] {
        parts.push(condition.clone());
        return EvalNode::Documents(parts.len() - 1);
    }
    let mut list_apart = |list: &[Condition], join: fn(Vec<Condition>) -> Condition| {
        let of_documents = |one: &&Condition| sources(one) == [ColumnSource::Documents];
        let (documents, others): (Vec<&Condition>, Vec<&Condition>) = list.iter().partition(of_documents);
        let mut nodes: Vec<EvalNode> =
            others.into_iter().map(|one| split_document_conditions(one, parts)).collect();
        if !documents.is_empty() {
            nodes.push(split_document_conditions(&join(documents.into_iter().cloned().collect()), parts));
        }
        nodes
    };
    match condition {
        Condition::All(list) => EvalNode::All(list_apart(list, Condition::All)),
        Condition::Any(list) => EvalNode::Any(list_apart(list, Condition::Any)),
        Condition::Not(one) => EvalNode::Not(Box::new(split_document_conditions(one, parts))),
        Condition::Comparison(test) => EvalNode::Comparison(test.clone()),
    }
}

/// Where its columns come from, each source once.
fn sources(condition: &Condition) -> Vec<ColumnSource> {
    let mut sources = Vec::new();
    for_each_test(condition, &mut |test| {
        if !sources.contains(&test.column.source()) {
            sources.push(test.column.source());
        }
    });
    sources
}

fn for_each_test(condition: &Condition, each: &mut dyn FnMut(&Comparison)) {
    match condition {
        Condition::All(list) | Condition::Any(list) => list.iter().for_each(|one| for_each_test(one, each)),
        Condition::Not(one) => for_each_test(one, each),
        Condition::Comparison(test) => each(test),
    }
}

fn holds(condition: &Condition, answer: &dyn Fn(&Comparison) -> Option<bool>) -> Option<bool> {
    match condition {
        Condition::All(list) => all(list.iter().map(|one| holds(one, answer))),
        Condition::Any(list) => any(list.iter().map(|one| holds(one, answer))),
        Condition::Not(one) => holds(one, answer).map(|holds| !holds),
        Condition::Comparison(test) => answer(test),
    }
}

/// Of what is true, false or unknown: one that is false decides.
fn all(answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    any(answers.map(|answer| answer.map(|holds| !holds))).map(|holds| !holds)
}

/// One that is true decides.
fn any(answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut result = Some(false);
    for answer in answers {
        match answer {
            Some(true) => return Some(true),
            Some(false) => {}
            None => result = None,
        }
    }
    result
}

impl Comparison {
    /// Whether a page that has this in the column passes; nobody knows where nothing is known of it.
    fn passes(&self, cell: Option<&Literal<'_>>) -> Option<bool> {
        match (&self.operator, cell) {
            (Operator::IsNull, cell) => Some(cell.is_none()),
            (_, None) => None,
            (Operator::Compare(order, value), Some(cell)) => Some(order.is_met(cell, value)),
            (Operator::OneOf(values), Some(cell)) => Some(values.contains(cell)),
            (Operator::Like(pattern), Some(Literal::Text(text))) => Some(is_like(text, pattern)),
            (Operator::Like(_), Some(Literal::Number(_))) => None,
        }
    }
}

impl CompareOp {
    fn is_met(self, cell: &Literal<'_>, value: &Literal<'_>) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let found = match (cell, value) {
            (Literal::Number(cell), Literal::Number(value)) => cell.partial_cmp(value).unwrap_or(Less),
            (Literal::Text(cell), Literal::Text(value)) => cell.cmp(value),
            // The parser lets nobody compare one with the other.
            (Literal::Number(_), Literal::Text(_)) => Less,
            (Literal::Text(_), Literal::Number(_)) => Greater,
        };
        match self {
            CompareOp::Equal => found == Equal,
            CompareOp::Unequal => found != Equal,
            CompareOp::Less => found == Less,
            CompareOp::AtMost => found != Greater,
            CompareOp::More => found == Greater,
            CompareOp::AtLeast => found != Less,
        }
    }
}

/// Whether all of the text fits: `%` takes as little as it can, and more when the rest does not fit.
fn is_like(text: &str, pattern: &[char]) -> bool {
    let (mut rest, mut at) = (text.chars(), 0);
    // Where the last `%` stands, and what was left of the text when it had taken what it has.
    let mut star: Option<(usize, std::str::Chars<'_>)> = None;
    loop {
        let here = rest.clone();
        match (pattern.get(at), rest.next()) {
            (Some('%'), _) => {
                star = Some((at, here.clone()));
                (rest, at) = (here, at + 1);
            }
            (Some(wanted), Some(found)) if *wanted == '_' || *wanted == found => at += 1,
            (None, None) => return true,
            _ => {
                let Some((place, taken)) = &mut star else { return false };
                if taken.next().is_none() {
                    return false;
                }
                (rest, at) = (taken.clone(), *place + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, without care for time.
    fn is_like_by_definition(text: &[char], pattern: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('%', rest)) => (0..=text.len()).any(|taken| is_like_by_definition(&text[taken..], rest)),
            Some((wanted, rest)) => text.split_first().is_some_and(|(found, text)| {
                (*wanted == '_' || wanted == found) && is_like_by_definition(text, rest)
            }),
        }
    }

    proptest! {
        #[test]
        fn like_is_what_it_is_defined_to_be(text in "[abü%_]{0,8}", pattern in "[abü%_]{0,6}") {
            let [letters, wanted]: [Vec<char>; 2] = [&text, &pattern].map(|text| text.chars().collect());
            prop_assert_eq!(is_like(&text, &wanted), is_like_by_definition(&letters, &wanted));
        }
    }
}
