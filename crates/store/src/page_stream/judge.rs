//! Does a page meet a predicate? As far as that is known without its record, before it is read; and for good afterwards.
//!
//! What documents say is in a table in another order than the pages are looked through. So the parts of a predicate that are about
//! documents alone are answered by one pass over it, before the stream begins: two bits a page for each part.

use std::borrow::Cow;

use model::PageId;

use super::predicate::{Cell, Column, Condition, Order, Predicate, Question, Source, Test};
use super::selection::host;
use crate::error::Result;
use crate::page_set::PageSet;
use crate::page_state::PageRecord;
use crate::page_store::StoredPage;
use crate::snapshot::Snapshot;
use crate::tables::{DocumentRow, DocumentRows, TableReader};

/// A predicate, ready to be asked about the pages of one commit.
pub(super) struct Judge {
    question: Node,
    documents: Vec<DocumentPart>,
    pub(super) needs_record: bool,
}

/// What is known of a page.
pub(super) struct Known<'a> {
    pub(super) page: PageId,
    pub(super) record: &'a PageRecord,
    pub(super) site: &'a str,
    /// Its record, if it was read.
    pub(super) stored: Option<&'a StoredPage>,
}

enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Test(Test),
    /// One of the parts about documents.
    Documents(usize),
}

/// A part about documents, with the pages of which it is true, and of which it is false; of others nobody knows.
struct DocumentPart {
    condition: Condition,
    is_true: PageSet,
    is_false: PageSet,
}

impl Judge {
    /// Looks up what documents say.
    pub(super) fn new(predicate: &Predicate, snapshot: &Snapshot) -> Result<Judge> {
        let mut parts = Vec::new();
        let question = take_apart(&predicate.condition, &mut parts);
        let needs_record = sources(&predicate.condition).contains(&Source::Record);
        let pages = snapshot.pages.pages() as usize;
        let mut documents: Vec<DocumentPart> =
            parts.into_iter().map(|condition| DocumentPart::new(condition, pages)).collect();
        read_documents(&mut documents, snapshot)?;
        Ok(Judge { question, documents, needs_record })
    }

    /// Whether a page may be meant whose record was not read; if no record is needed, whether it is.
    pub(super) fn may_mean(&self, known: &Known<'_>) -> bool {
        match self.holds(&self.question, known) {
            Some(holds) => holds,
            None => self.needs_record,
        }
    }

    /// Whether a page is meant whose record was read.
    pub(super) fn means(&self, known: &Known<'_>) -> bool {
        self.holds(&self.question, known) == Some(true)
    }

    fn holds(&self, node: &Node, known: &Known<'_>) -> Option<bool> {
        match node {
            Node::All(list) => all(list.iter().map(|one| self.holds(one, known))),
            Node::Any(list) => any(list.iter().map(|one| self.holds(one, known))),
            Node::Not(one) => self.holds(one, known).map(|holds| !holds),
            // Of a record that was not read, not even that something is missing is known.
            Node::Test(test) if test.column.source() == Source::Record && known.stored.is_none() => None,
            Node::Test(test) => test.passes(known.cell(test.column).as_ref()),
            Node::Documents(place) => self.documents.get(*place)?.holds(known.page),
        }
    }
}

/// How many parts of it are about documents, with others between them.
pub(super) fn document_parts(condition: &Condition) -> usize {
    let mut parts = Vec::new();
    take_apart(condition, &mut parts);
    parts.len()
}

impl Known<'_> {
    /// What the page has in a column; columns of documents are not known here.
    fn cell(&self, column: Column) -> Option<Cell<'_>> {
        let record = self.record;
        let number = |number: u32| Some(Cell::Number(f64::from(number)));
        match column {
            Column::Url => text(self.stored?.url()),
            Column::Status => number(u32::from(self.stored?.status()?)),
            Column::Mime => {
                let mime = self.stored?.mime_type().to_ascii_lowercase();
                (!mime.is_empty()).then_some(Cell::Text(mime.into()))
            }
            Column::Time => Some(Cell::Number(self.stored?.fetched_at_ms() as f64)),
            Column::PageId => number(self.page.0),
            Column::Site => text(self.site),
            Column::Host => text(host(self.site)),
            Column::Depth => number(u32::from(record.depth)),
            Column::Size => number(record.content_bytes),
            Column::InLinks => number(record.in_links),
            Column::Visits => number(u32::from(record.visits)),
            Column::Changes => number(u32::from(record.changes)),
            Column::FirstVisit => seconds(record.first_visit_s),
            Column::LastVisit => seconds(record.last_visit_s),
            Column::DuplicateOf => number(record.duplicate_of?.0),
            _ => None,
        }
    }
}

impl DocumentPart {
    /// Of a page of which there is no document, nothing is known.
    fn new(condition: Condition, pages: usize) -> DocumentPart {
        let without = holds(&condition, &|test| test.passes(None));
        DocumentPart {
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
        if self.is_true.has(page) { Some(true) } else { self.is_false.has(page).then_some(false) }
    }
}

/// Rows are in the order of the crawl: the last one of a page is about what is stored.
fn read_documents(parts: &mut [DocumentPart], snapshot: &Snapshot) -> Result<()> {
    let mut columns = vec!["page_id"];
    let mut add = |test: &Test| columns.push(test.column.name());
    parts.iter().for_each(|part| for_each_test(&part.condition, &mut add));
    if parts.is_empty() {
        return Ok(());
    }
    let documents = TableReader::<DocumentRows>::committed(snapshot.folder(), &snapshot.manifest)?;
    documents.with_columns(&columns).for_each_row(|row| parts.iter_mut().for_each(|part| part.take(row)))
}

fn document_cell<'a>(row: &DocumentRow<'a>, column: Column) -> Option<Cell<'a>> {
    let number = |number: i64| Some(Cell::Number(number as f64));
    match column {
        Column::Language => text(row.language?),
        Column::Title => text(row.title?),
        Column::Charset => text(row.charset?),
        Column::Words => number(i64::from(row.words)),
        Column::TextLength => number(row.text_length),
        Column::LinksInternal => number(i64::from(row.links_internal)),
        Column::LinksExternal => number(i64::from(row.links_external)),
        Column::Published => number(row.published?),
        Column::Modified => number(row.modified?),
        _ => None,
    }
}

fn text(text: &str) -> Option<Cell<'_>> {
    Some(Cell::Text(Cow::Borrowed(text)))
}

/// 0 stands for never.
fn seconds(unix_s: u32) -> Option<Cell<'static>> {
    (unix_s > 0).then(|| Cell::Number(f64::from(unix_s) * 1_000.0))
}

/// Puts the parts about documents aside; those that stand side by side are one.
fn take_apart(condition: &Condition, parts: &mut Vec<Condition>) -> Node {
    if sources(condition) == [Source::Documents] {
        parts.push(condition.clone());
        return Node::Documents(parts.len() - 1);
    }
    let mut list_apart = |list: &[Condition], join: fn(Vec<Condition>) -> Condition| {
        let of_documents = |one: &&Condition| sources(one) == [Source::Documents];
        let (documents, others): (Vec<&Condition>, Vec<&Condition>) = list.iter().partition(of_documents);
        let mut nodes: Vec<Node> = others.into_iter().map(|one| take_apart(one, parts)).collect();
        if !documents.is_empty() {
            nodes.push(take_apart(&join(documents.into_iter().cloned().collect()), parts));
        }
        nodes
    };
    match condition {
        Condition::All(list) => Node::All(list_apart(list, Condition::All)),
        Condition::Any(list) => Node::Any(list_apart(list, Condition::Any)),
        Condition::Not(one) => Node::Not(Box::new(take_apart(one, parts))),
        Condition::Test(test) => Node::Test(test.clone()),
    }
}

/// Where its columns come from, each source once.
fn sources(condition: &Condition) -> Vec<Source> {
    let mut sources = Vec::new();
    for_each_test(condition, &mut |test| {
        if !sources.contains(&test.column.source()) {
            sources.push(test.column.source());
        }
    });
    sources
}

fn for_each_test(condition: &Condition, each: &mut dyn FnMut(&Test)) {
    match condition {
        Condition::All(list) | Condition::Any(list) => list.iter().for_each(|one| for_each_test(one, each)),
        Condition::Not(one) => for_each_test(one, each),
        Condition::Test(test) => each(test),
    }
}

fn holds(condition: &Condition, answer: &dyn Fn(&Test) -> Option<bool>) -> Option<bool> {
    match condition {
        Condition::All(list) => all(list.iter().map(|one| holds(one, answer))),
        Condition::Any(list) => any(list.iter().map(|one| holds(one, answer))),
        Condition::Not(one) => holds(one, answer).map(|holds| !holds),
        Condition::Test(test) => answer(test),
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

impl Test {
    /// Whether a page that has this in the column passes; nobody knows where nothing is known of it.
    fn passes(&self, cell: Option<&Cell<'_>>) -> Option<bool> {
        match (&self.question, cell) {
            (Question::IsNull, cell) => Some(cell.is_none()),
            (_, None) => None,
            (Question::Compare(order, value), Some(cell)) => Some(order.is_met(cell, value)),
            (Question::OneOf(values), Some(cell)) => Some(values.contains(cell)),
            (Question::Like(pattern), Some(Cell::Text(text))) => Some(is_like(text, pattern)),
            (Question::Like(_), Some(Cell::Number(_))) => None,
        }
    }
}

impl Order {
    fn is_met(self, cell: &Cell<'_>, value: &Cell<'_>) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let found = match (cell, value) {
            (Cell::Number(cell), Cell::Number(value)) => cell.partial_cmp(value).unwrap_or(Less),
            (Cell::Text(cell), Cell::Text(value)) => cell.cmp(value),
            // The parser lets nobody compare one with the other.
            (Cell::Number(_), Cell::Text(_)) => Less,
            (Cell::Text(_), Cell::Number(_)) => Greater,
        };
        match self {
            Order::Equal => found == Equal,
            Order::Unequal => found != Equal,
            Order::Less => found == Less,
            Order::AtMost => found != Greater,
            Order::More => found == Greater,
            Order::AtLeast => found != Less,
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
