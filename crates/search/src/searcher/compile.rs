//! What does a query mean to the index? Conditions become queries of tantivy: a word all of its forms in all fields.

use tantivy::query::{BooleanQuery, BoostQuery, ConstScoreQuery, EmptyQuery, Occur, Query, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{Searcher as IndexSearcher, Term};

use super::clause::{Clause, Wish, every_page, one_of, positive};
use super::cut::Cut;
use super::deadline::Deadline;
use super::expansion::{Expansion, Pattern};
use super::marks::Marks;
use super::placed::{PlacedWord, Slot, placements};
use super::predicate::Filter;
use super::ranks::Ranks;
use super::statistics::WordStatistics;
use super::text_field::TextField;
use super::word_set::WordSetQuery;
use super::{LinkAnswers, Searcher, predicate};
use crate::error::{Error, Result};
use crate::forms::{Forms, QueryWord, forms, query_words};
use crate::query::{Compare, Condition, Measure, Part, Words};

/// A query as the index understands it.
pub(super) struct Compiled {
    pub(super) query: Box<dyn Query>,
    /// What pages that fit the query have to fit besides.
    pub(super) filters: Vec<Filter>,
    pub(super) statistics: WordStatistics,
    /// What adds to scores, with its name.
    pub(super) leaves: Vec<(String, Box<dyn Query>)>,
    pub(super) marks: Marks,
    /// What stars stand for and was left out.
    pub(super) cuts: Vec<Cut>,
}

/// Compiles one query.
pub(super) struct Compiler<'s> {
    searcher: &'s Searcher,
    index: &'s IndexSearcher,
    ranks: &'s Ranks,
    links: &'s LinkAnswers,
    deadline: &'s Deadline,
    languages: Vec<String>,
    statistics: WordStatistics,
    leaves: Vec<(String, Box<dyn Query>)>,
    marks: Marks,
    expansion: Expansion,
    /// Whether pages must not have what is compiled now.
    is_negated: bool,
    /// How often what is compiled now was asked for: so much more it counts.
    times: f32,
}

impl<'s> Compiler<'s> {
    pub(super) fn new(
        searcher: &'s Searcher,
        index: &'s IndexSearcher,
        ranks: &'s Ranks,
        links: &'s LinkAnswers,
        condition: &Condition,
        deadline: &'s Deadline,
    ) -> Result<Compiler<'s>> {
        let named = named_language(condition).map(|code| vec![code.to_owned()]);
        Ok(Compiler {
            languages: named.map_or_else(|| searcher.index.languages(), Ok)?,
            statistics: WordStatistics::new(index)?,
            leaves: Vec::new(),
            marks: Marks::default(),
            expansion: Expansion::new(deadline),
            is_negated: false,
            times: 1.0,
            searcher,
            index,
            ranks,
            links,
            deadline,
        })
    }

    pub(super) fn compile(mut self, condition: &Condition) -> Result<Compiled> {
        let (filters, rest) = self.split(condition)?;
        let (query, filters) = match self.clause(&rest)? {
            Clause::Any(queries) => (one_of(queries), filters),
            Clause::Nothing if filters.is_empty() => (Box::new(EmptyQuery) as Box<dyn Query>, filters),
            clause if filters.is_empty() => (positive(clause), filters),
            // Beside frequent words, or what must not be, the filters are what is required.
            clause => {
                let filters = filters.into_iter().map(|filter| (Occur::Must, filter.into_query()));
                let mut clauses: Vec<(Occur, Box<dyn Query>)> = filters.collect();
                match clause {
                    Clause::Wishes(wishes) => {
                        clauses.extend(wishes.into_iter().map(|wish| (Occur::Must, wish.fulfilled())));
                    }
                    Clause::Not(query) => clauses.push((Occur::MustNot, query)),
                    Clause::Nothing | Clause::Any(_) => {}
                }
                (Box::new(BooleanQuery::new(clauses)) as Box<dyn Query>, Vec::new())
            }
        };
        let Compiler { statistics, leaves, marks, expansion, .. } = self;
        Ok(Compiled { query, filters, statistics, leaves, marks, cuts: expansion.cuts })
    }

    /// Takes the filters out of what all has to hold: for a page that has the words they are looked up faster than by going
    /// through the index with two fingers.
    fn split(&self, condition: &Condition) -> Result<(Vec<Filter>, Condition)> {
        let (mut filters, mut others) = (Vec::new(), Vec::new());
        if let Condition::All(all) = condition {
            for condition in all {
                match self.filter(condition)? {
                    Some(filter) => filters.push(filter),
                    None => others.push(condition.clone()),
                }
            }
        }
        Ok(match others.len() {
            0 => (Vec::new(), condition.clone()),
            1 => (filters, others.remove(0)),
            _ => (filters, Condition::All(others)),
        })
    }

    fn clause(&mut self, condition: &Condition) -> Result<Clause> {
        if let Some(filter) = self.filter(condition)? {
            return Ok(Clause::Any(vec![filter.into_query()]));
        }
        match condition {
            Condition::All(all) => self.all(all),
            Condition::Any(any) => self.any(any),
            Condition::Not(not) => self.not(not),
            Condition::Text { part, words } => self.text(*part, words),
            Condition::Near { words, within } => self.near(words, within),
            chosen => Ok(Clause::Any(vec![predicate::any_term(self.terms(chosen)?.into_iter())])),
        }
    }

    /// The terms one of which a page has that fits a condition on what it is, rather than on its words.
    fn terms(&self, condition: &Condition) -> Result<Vec<Term>> {
        let (fields, snapshot) = (&self.searcher.index.fields, &self.searcher.snapshot);
        Ok(match condition {
            Condition::Site(host) => predicate::sites_of(fields.site_id, snapshot, host),
            Condition::Domain(domain) => {
                vec![Term::from_field_text(fields.domain, &predicate::in_ascii(domain))]
            }
            Condition::Language(code) => vec![Term::from_field_text(fields.language, code)],
            Condition::Type(wanted) => predicate::types(self.index, fields.mime, wanted)?,
            _ => Vec::new(),
        })
    }

    /// What has to be looked up page by page.
    fn filter(&self, condition: &Condition) -> Result<Option<Filter>> {
        let (fields, snapshot) = (&self.searcher.index.fields, &self.searcher.snapshot);
        Ok(Some(match condition {
            Condition::Number { measure, compare, value } => self.number(*measure, *compare, *value)?,
            Condition::Date { compare, period } => predicate::dated(fields.date, *compare, *period),
            Condition::Link(link) => {
                let pages = self.links.pages(link);
                let pages =
                    pages.ok_or_else(|| Error::LinksUnanswered { condition: condition.to_string() })?;
                predicate::listed(fields.page_id, pages, snapshot.urls.pages())
            }
            // Registered domains are terms; others are found by the names of sites.
            Condition::Domain(domain) if !predicate::is_registered(&predicate::in_ascii(domain)) => {
                predicate::under_domain(fields.site_id, snapshot, &predicate::in_ascii(domain))
            }
            _ => return Ok(None),
        }))
    }

    fn number(&self, measure: Measure, compare: Compare, value: f64) -> Result<Filter> {
        let (fields, ranks) = (&self.searcher.index.fields, self.ranks);
        Ok(match measure {
            Measure::Depth => predicate::ranked(fields.page_id, self.searcher.depths()?, compare, value),
            Measure::Status => predicate::number(fields.status, compare, value),
            Measure::Size => predicate::number(fields.size, compare, value),
            Measure::InLinks => predicate::ranked(fields.page_id, ranks.all_in_links()?, compare, value),
            Measure::OutLinks => predicate::ranked(fields.page_id, ranks.all_out_links()?, compare, value),
            Measure::PageRank => predicate::ranked(fields.page_id, ranks.pageranks()?, compare, value),
        })
    }

    /// What a condition becomes that was written so many times.
    fn repeated_clause(&mut self, condition: &Condition, times: f32) -> Result<Clause> {
        let outer = self.times;
        self.times *= times;
        let clause = self.clause(condition);
        self.times = outer;
        clause
    }

    fn all(&mut self, all: &[Condition]) -> Result<Clause> {
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        let mut wishes = Vec::new();
        for (condition, times) in repeated(all) {
            match self.repeated_clause(condition, times)? {
                Clause::Nothing => {}
                Clause::Wishes(more) => wishes.extend(more),
                Clause::Any(queries) => clauses.push((Occur::Must, one_of(queries))),
                Clause::Not(query) => clauses.push((Occur::MustNot, query)),
            }
        }
        let has_required = clauses.iter().any(|(occur, _)| *occur == Occur::Must);
        match (has_required, wishes.is_empty(), clauses.is_empty()) {
            (_, true, true) => return Ok(Clause::Nothing),
            (_, false, true) => return Ok(Clause::Wishes(wishes)),
            // Nothing but frequent words: one of them has to be there.
            (false, false, false) => clauses.push((Occur::Must, one_of(Wish::surely(wishes)))),
            (false, true, false) => clauses.push((Occur::Must, every_page())),
            (true, ..) => {
                clauses.extend(wishes.into_iter().map(|wish| (Occur::Must, wish.fulfilled())));
            }
        }
        Ok(Clause::Any(vec![Box::new(BooleanQuery::new(clauses))]))
    }

    fn any(&mut self, any: &[Condition]) -> Result<Clause> {
        let mut queries = Vec::new();
        for (condition, times) in repeated(any) {
            match self.repeated_clause(condition, times)? {
                Clause::Nothing => {}
                // Who asks for this or that does not want all pages of a language.
                Clause::Wishes(wishes) => queries.extend(Wish::surely(wishes)),
                Clause::Any(more) => queries.extend(more),
                not @ Clause::Not(_) => queries.push(positive(not)),
            }
        }
        Ok(Clause::Any(queries))
    }

    fn not(&mut self, not: &Condition) -> Result<Clause> {
        self.is_negated = !self.is_negated;
        let clause = self.clause(not);
        self.is_negated = !self.is_negated;
        Ok(match clause? {
            Clause::Nothing => Clause::Nothing,
            Clause::Not(query) => Clause::Any(vec![query]),
            Clause::Wishes(wishes) => {
                let all = wishes.into_iter().map(|wish| (Occur::Must, wish.fulfilled())).collect();
                Clause::Not(Box::new(BooleanQuery::new(all)))
            }
            clause => Clause::Not(positive(clause)),
        })
    }

    fn text(&mut self, part: Option<Part>, words: &Words) -> Result<Clause> {
        let fields = self.fields(part);
        match words {
            Words::Prefix(start) => self.expanded(start, Pattern::Start, &fields),
            Words::Within(piece) => self.expanded(piece, Pattern::Within, &fields),
            Words::Word(text) => {
                let words = query_words(text);
                match words.as_slice() {
                    [] => Ok(Clause::Nothing),
                    [word] => self.word(word, &fields),
                    // An index without positions still knows pages with all parts of `foo-bar`.
                    words if !self.searcher.index.has_positions() => self.each(words, &fields),
                    _ => self.placed(&[words], &[], &fields),
                }
            }
            Words::Phrase(text) => {
                let words = query_words(text);
                match words.as_slice() {
                    [] => Ok(Clause::Nothing),
                    [word] => self.word(word, &fields),
                    _ => self.placed(&[words], &[], &fields),
                }
            }
        }
    }

    fn near(&mut self, words: &[Words], within: &[u16]) -> Result<Clause> {
        let text = |words: &Words| match words {
            Words::Word(text) | Words::Phrase(text) | Words::Prefix(text) | Words::Within(text) => {
                query_words(text)
            }
        };
        let groups: Vec<Vec<QueryWord>> = words.iter().map(text).collect();
        if groups.iter().any(Vec::is_empty) {
            // Nothing is near a hyphen; the other words are wanted all the same.
            let others = groups.concat();
            let fields = self.fields(None);
            return self.each(&others, &fields);
        }
        self.placed(&groups, within, &self.fields(None))
    }

    /// All of some words.
    fn each(&mut self, words: &[QueryWord], fields: &[TextField]) -> Result<Clause> {
        let mut clauses = Vec::new();
        let mut wishes = Vec::new();
        for word in words {
            match self.word(word, fields)? {
                Clause::Wishes(more) => wishes.extend(more),
                clause => clauses.push((Occur::Must, positive(clause))),
            }
        }
        if clauses.is_empty() {
            return Ok(if wishes.is_empty() { Clause::Nothing } else { Clause::Wishes(wishes) });
        }
        clauses.extend(wishes.into_iter().map(|wish| (Occur::Must, wish.fulfilled())));
        Ok(Clause::Any(vec![Box::new(BooleanQuery::new(clauses))]))
    }

    fn forms(&self, word: &QueryWord) -> Forms {
        let languages: Vec<&str> = self.languages.iter().map(String::as_str).collect();
        forms(word, &languages)
    }

    fn word(&mut self, word: &QueryWord, fields: &[TextField]) -> Result<Clause> {
        let forms = self.forms(word);
        if forms.is_single {
            return self.expanded(&word.text, Pattern::Within, fields);
        }
        let leaving = self.leaving_out(word);
        let known = self.statistics.add_word(terms_by_field(&forms, fields), self.pages_in(&leaving)?)?;
        let mut queries: Vec<Box<dyn Query>> = Vec::new();
        for (field, terms) in fields.iter().zip(known) {
            for term in terms {
                let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
                let query: Box<dyn Query> = Box::new(BoostQuery::new(Box::new(query), field.weight));
                self.add_leaf(format!("{} in the {}", word.text, field.name), query.as_ref());
                queries.push(query);
            }
        }
        if !self.is_negated {
            self.marks.add_word(&forms.terms);
        }
        if leaving.is_empty() {
            return Ok(Clause::Any(queries));
        }
        Ok(Clause::Wishes(vec![Wish { queries, excused: self.in_languages(&leaving) }]))
    }

    /// The languages that leave a word out of the index.
    fn leaving_out(&self, word: &QueryWord) -> Vec<String> {
        let leaves_out = |code: &&String| forms(word, &[code.as_str()]).is_stop_word;
        self.languages.iter().filter(leaves_out).cloned().collect()
    }

    fn in_languages(&self, codes: &[String]) -> Box<dyn Query> {
        let field = self.searcher.index.fields.language;
        predicate::any_term(codes.iter().map(|code| Term::from_field_text(field, code)))
    }

    fn pages_in(&self, codes: &[String]) -> Result<u64> {
        let field = self.searcher.index.fields.language;
        let pages = |code: &String| self.index.doc_freq(&Term::from_field_text(field, code));
        Ok(codes.iter().map(pages).sum::<tantivy::Result<u64>>()?)
    }

    /// Words in a row, and rows near each other. Where a language leaves words out, its pages need the others, in their places.
    fn placed(&mut self, groups: &[Vec<QueryWord>], within: &[u16], fields: &[TextField]) -> Result<Clause> {
        if !self.searcher.index.has_positions() {
            return Err(Error::NoPositions);
        }
        let mut rows_by_field: Vec<Vec<Vec<PlacedWord>>> = vec![Vec::new(); fields.len()];
        for group in groups {
            rows_by_field.iter_mut().for_each(|rows| rows.push(Vec::new()));
            for word in group {
                let (forms, leaving) = (self.forms(word), self.leaving_out(word));
                let left_out = self.pages_in(&leaving)?;
                let known = self.statistics.add_word(terms_by_field(&forms, fields), left_out)?;
                for (row, terms) in rows_by_field.iter_mut().filter_map(|rows| rows.last_mut()).zip(known) {
                    let slot = Slot { offset: word.position, terms };
                    row.push(PlacedWord { slot, left_out_by: leaving.clone() });
                }
                if !self.is_negated {
                    self.marks.add_word(&forms.terms);
                }
            }
        }
        let texts: Vec<String> = groups.iter().map(|group| written(group)).collect();
        let mut queries = Vec::new();
        for (field, rows) in fields.iter().zip(&rows_by_field) {
            for (placed, language) in placements(field.field, rows, within, self.deadline) {
                let mut query: Box<dyn Query> = Box::new(placed);
                if let Some(language) = language {
                    let both = vec![(Occur::Must, query), (Occur::Must, self.in_languages(&[language]))];
                    query = Box::new(BooleanQuery::new(both));
                }
                let query: Box<dyn Query> = Box::new(BoostQuery::new(query, field.weight));
                self.add_leaf(format!("{} in the {}", texts.join(" near "), field.name), query.as_ref());
                queries.push(query);
            }
        }
        Ok(Clause::Any(queries))
    }

    fn expanded<'p>(
        &mut self,
        text: &'p str,
        pattern: impl Fn(&'p str) -> Pattern<'p>,
        fields: &[TextField],
    ) -> Result<Clause> {
        let words = query_words(text);
        let Some(last) = words.last() else { return Ok(Clause::Nothing) };
        // `foo-ba*`: the words before the last are words, the last one is cut short.
        let plain = self.plain(last);
        let forms = self.forms(last);
        let is_start = matches!(pattern(text), Pattern::Start(_));
        let mut queries: Vec<Box<dyn Query>> = Vec::new();
        for field in fields {
            let pattern = if is_start { Pattern::Start(&plain) } else { Pattern::Within(&plain) };
            let mut terms = self.expansion.terms(self.index, field.field, pattern)?;
            if is_start {
                // `running*` means running, too, which the index knows as `run`.
                terms.extend(forms.terms.iter().map(|term| Term::from_field_text(field.field, term)));
            }
            let words = WordSetQuery { field: field.field, terms, deadline: self.deadline.clone() };
            let query: Box<dyn Query> = Box::new(ConstScoreQuery::new(Box::new(words), field.weight));
            self.add_leaf(format!("words with {plain} in the {}", field.name), query.as_ref());
            queries.push(query);
        }
        if !self.is_negated {
            if is_start {
                self.marks.add_start(&plain);
            } else {
                self.marks.add_piece(&plain);
            }
        }
        let expanded = Clause::Any(queries);
        match words.len() {
            1 => Ok(expanded),
            count => {
                let before = self.each(&words[..count - 1], fields)?;
                let both = vec![(Occur::Must, positive(before)), (Occur::Must, positive(expanded))];
                Ok(Clause::Any(vec![Box::new(BooleanQuery::new(both))]))
            }
        }
    }

    /// A word as terms are written that no language has changed.
    fn plain(&self, word: &QueryWord) -> String {
        forms(word, &[]).terms.into_iter().next().unwrap_or_else(|| word.text.clone())
    }

    /// Where words are looked for, and how much they count now.
    fn fields(&self, part: Option<Part>) -> Vec<TextField> {
        let (fields, ranking) = (&self.searcher.index.fields, &self.searcher.ranking);
        let mut fields = match part {
            Some(part) => vec![TextField::of(part, fields, ranking)],
            None => TextField::everywhere(fields, ranking),
        };
        fields.iter_mut().for_each(|field| field.weight *= self.times);
        fields
    }

    fn add_leaf(&mut self, what: String, query: &dyn Query) {
        if !self.is_negated {
            self.leaves.push((what, query.box_clone()));
        }
    }
}

/// Different conditions, and how often each was written.
fn repeated(conditions: &[Condition]) -> Vec<(&Condition, f32)> {
    let mut counts: Vec<(&Condition, f32)> = Vec::with_capacity(conditions.len());
    for condition in conditions {
        match counts.iter_mut().find(|(known, _)| *known == condition) {
            Some((_, times)) => *times += 1.0,
            None => counts.push((condition, 1.0)),
        }
    }
    counts
}

/// The language that every page found is in, if the query says so.
fn named_language(condition: &Condition) -> Option<&str> {
    match condition {
        Condition::Language(code) => Some(code),
        Condition::All(all) => all.iter().find_map(|condition| match condition {
            Condition::Language(code) => Some(code.as_str()),
            _ => None,
        }),
        _ => None,
    }
}

fn terms_by_field(forms: &Forms, fields: &[TextField]) -> Vec<Vec<Term>> {
    let of_field =
        |field: &TextField| forms.terms.iter().map(|term| Term::from_field_text(field.field, term)).collect();
    fields.iter().map(of_field).collect()
}

/// The words of a row, for people.
fn written(words: &[QueryWord]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<&str>>().join(" ")
}
