//! Evaluation of a predicate for the pages of a commit: as far as possible without the stored record, and finally with it.
//!
//! The table `documents` is in another order than the scan of the pages. Conditions on documents alone are therefore evaluated
//! by one pass over the table, before the stream begins: two bits per page for each of them.

use std::borrow::Cow;

use model::PageId;

use super::condition::{
    ColumnSource, CompareOp, Comparison, Condition, EvalNode, FilterColumn, Literal, Operator,
    for_each_comparison, host, sources, split_document_conditions,
};
use super::predicate::Predicate;
use crate::cancellation::Cancellation;
use crate::error::Result;
use crate::page_set::PageSet;
use crate::pages::StoredPage;
use crate::snapshot::Snapshot;
use crate::state::page::PageRecord;
use crate::tables::{DocumentRow, DocumentRows, NewestRows, TableReader};

/// Predicate compiled for the pages of one commit.
pub(super) struct PredicateEvaluator {
    root: EvalNode,
    documents: Vec<DocumentCondition>,
    pub(super) needs_record: bool,
}

/// Values of a page.
pub(super) struct PageValues<'a> {
    pub(super) page: PageId,
    pub(super) record: &'a PageRecord,
    pub(super) site: &'a str,
    /// Stored record, if it was read.
    pub(super) stored: Option<&'a StoredPage>,
}

/// Condition on documents, with the pages for which it is true and false; for the others it is unknown.
struct DocumentCondition {
    condition: Condition,
    is_true: PageSet,
    is_false: PageSet,
}

impl PredicateEvaluator {
    /// Compiles a predicate; evaluates its conditions on documents.
    pub(super) fn new(
        predicate: &Predicate,
        snapshot: &Snapshot,
        cancellation: &Cancellation,
    ) -> Result<PredicateEvaluator> {
        let mut parts = Vec::new();
        let root = split_document_conditions(&predicate.condition, &mut parts);
        let needs_record = sources(&predicate.condition).contains(&ColumnSource::Record);
        let pages = snapshot.page_state.pages() as usize;
        let mut documents: Vec<DocumentCondition> =
            parts.into_iter().map(|condition| DocumentCondition::new(condition, pages)).collect();
        read_documents(&mut documents, snapshot, cancellation)?;
        Ok(PredicateEvaluator { root, documents, needs_record })
    }

    /// Whether a page may match before its record is read; if no record is needed, whether it matches.
    pub(super) fn may_match(&self, values: &PageValues<'_>) -> bool {
        match self.holds(&self.root, values) {
            Some(holds) => holds,
            None => self.needs_record,
        }
    }

    /// Whether a page matches whose record was read.
    pub(super) fn matches(&self, values: &PageValues<'_>) -> bool {
        self.holds(&self.root, values) == Some(true)
    }

    fn holds(&self, node: &EvalNode, values: &PageValues<'_>) -> Option<bool> {
        match node {
            EvalNode::All(list) => all(list.iter().map(|one| self.holds(one, values))),
            EvalNode::Any(list) => any(list.iter().map(|one| self.holds(one, values))),
            EvalNode::Not(one) => self.holds(one, values).map(|holds| !holds),
            // Before the record is read it is unknown even whether a value is null.
            EvalNode::Comparison(comparison)
                if comparison.column.source() == ColumnSource::Record && values.stored.is_none() =>
            {
                None
            }
            EvalNode::Comparison(comparison) => comparison.evaluate(values.value(comparison.column).as_ref()),
            EvalNode::Documents(index) => self.documents.get(*index)?.holds(values.page),
        }
    }
}

impl PageValues<'_> {
    /// Value of a column, except of documents.
    fn value(&self, column: FilterColumn) -> Option<Literal<'_>> {
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
    /// Creates the condition; for a page without a document all columns are null.
    fn new(condition: Condition, pages: usize) -> DocumentCondition {
        let without = holds(&condition, &|comparison| comparison.evaluate(None));
        DocumentCondition {
            is_true: PageSet::new(pages, without == Some(true)),
            is_false: PageSet::new(pages, without == Some(false)),
            condition,
        }
    }

    fn update(&mut self, row: &DocumentRow<'_>) {
        let holds = holds(&self.condition, &|comparison| {
            comparison.evaluate(document_value(row, comparison.column).as_ref())
        });
        self.is_true.set(PageId(row.page_id), holds == Some(true));
        self.is_false.set(PageId(row.page_id), holds == Some(false));
    }

    fn holds(&self, page: PageId) -> Option<bool> {
        if self.is_true.contains(page) { Some(true) } else { self.is_false.contains(page).then_some(false) }
    }
}

/// Evaluates conditions for the newest document of each page.
fn read_documents(
    parts: &mut [DocumentCondition],
    snapshot: &Snapshot,
    cancellation: &Cancellation,
) -> Result<()> {
    let mut columns = vec!["page_id", "fetch_time"];
    let mut add = |comparison: &Comparison| columns.push(comparison.column.name());
    parts.iter().for_each(|part| for_each_comparison(&part.condition, &mut add));
    if parts.is_empty() {
        return Ok(());
    }
    let documents = TableReader::<DocumentRows>::open_committed(snapshot.dir(), &snapshot.manifest)?;
    let mut newest = NewestRows::new(snapshot.page_state.pages() as usize);
    documents.with_columns(&columns).for_each_row_until(cancellation, |row| {
        if newest.accept(row.page_id, row.fetch_time) {
            parts.iter_mut().for_each(|part| part.update(row));
        }
    })
}

fn document_value<'a>(row: &DocumentRow<'a>, column: FilterColumn) -> Option<Literal<'a>> {
    let number = |number: i64| Some(Literal::Number(number as f64));
    match column {
        FilterColumn::Language => text(row.language?),
        FilterColumn::Title => text(row.title?),
        FilterColumn::Charset => text(row.charset?),
        FilterColumn::RobotsDirectives => text(row.robots_directives?),
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

/// Converts seconds; 0 is null.
fn seconds(unix_s: u32) -> Option<Literal<'static>> {
    (unix_s > 0).then(|| Literal::Number(f64::from(unix_s) * 1_000.0))
}

/// Evaluates a condition in three-valued logic.
fn holds(condition: &Condition, evaluate: &dyn Fn(&Comparison) -> Option<bool>) -> Option<bool> {
    match condition {
        Condition::All(list) => all(list.iter().map(|one| holds(one, evaluate))),
        Condition::Any(list) => any(list.iter().map(|one| holds(one, evaluate))),
        Condition::Not(one) => holds(one, evaluate).map(|holds| !holds),
        Condition::Comparison(comparison) => evaluate(comparison),
    }
}

/// Conjunction in three-valued logic: one false decides.
fn all(answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    any(answers.map(|answer| answer.map(|holds| !holds))).map(|holds| !holds)
}

/// Disjunction in three-valued logic: one true decides.
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
    /// Evaluates the comparison for a value; unknown for null.
    fn evaluate(&self, value: Option<&Literal<'_>>) -> Option<bool> {
        match (&self.operator, value) {
            (Operator::IsNull, value) => Some(value.is_none()),
            (_, None) => None,
            (Operator::Compare(operator, operand), Some(value)) => Some(operator.is_met(value, operand)),
            (Operator::OneOf(operands), Some(value)) => Some(operands.contains(value)),
            (Operator::Like(pattern), Some(Literal::Text(text))) => Some(is_like(text, pattern)),
            (Operator::Like(_), Some(Literal::Number(_))) => None,
        }
    }
}

impl CompareOp {
    fn is_met(self, value: &Literal<'_>, operand: &Literal<'_>) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let found = match (value, operand) {
            (Literal::Number(value), Literal::Number(operand)) => value.partial_cmp(operand).unwrap_or(Less),
            (Literal::Text(value), Literal::Text(operand)) => value.cmp(operand),
            // Not reachable: the parser checks the types.
            (Literal::Number(_), Literal::Text(_)) => Less,
            (Literal::Text(_), Literal::Number(_)) => Greater,
        };
        match self {
            CompareOp::Equal => found == Equal,
            CompareOp::NotEqual => found != Equal,
            CompareOp::Less => found == Less,
            CompareOp::LessOrEqual => found != Greater,
            CompareOp::Greater => found == Greater,
            CompareOp::GreaterOrEqual => found != Less,
        }
    }
}

/// Whether the text matches a `like` pattern. `%` matches as little as possible, and more on backtracking.
fn is_like(text: &str, pattern: &[char]) -> bool {
    let (mut rest, mut at) = (text.chars(), 0);
    // Position of the last `%`, and the text that remained after its match, for backtracking.
    let mut star: Option<(usize, std::str::Chars<'_>)> = None;
    loop {
        let here = rest.clone();
        match (pattern.get(at), rest.next()) {
            (Some('%'), _) => {
                star = Some((at, here.clone()));
                (rest, at) = (here, at + 1);
            }
            (Some(expected), Some(found)) if *expected == '_' || *expected == found => at += 1,
            (None, None) => return true,
            _ => {
                let Some((position, remaining)) = &mut star else { return false };
                if remaining.next().is_none() {
                    return false;
                }
                (rest, at) = (remaining.clone(), *position + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Recursive definition, exponential in time.
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
        fn like_equals_its_definition(text in "[abü%_]{0,8}", pattern in "[abü%_]{0,6}") {
            let [letters, wanted]: [Vec<char>; 2] = [&text, &pattern].map(|text| text.chars().collect());
            prop_assert_eq!(is_like(&text, &wanted), is_like_by_definition(&letters, &wanted));
        }
    }
}
