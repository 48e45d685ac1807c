//! Compiler of conditions to queries of tantivy. A word becomes the disjunction of its stems in all fields.

use tantivy::query::{BooleanQuery, BoostQuery, ConstScoreQuery, EmptyQuery, Occur, Query, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{Searcher as IndexSearcher, Term};

use super::LinkMatches;
use super::Searcher;
use super::bm25_statistics::TermStatistics;
use super::clause::Clause;
use super::clause::OptionalClause;
use super::clause::all_pages;
use super::clause::any_of;
use super::clause::into_positive_query;
use super::deadline::Deadline;
use super::filter;
use super::filter::PageFilter;
use super::highlight::HighlightTerms;
use super::limit_hit::LimitHit;
use super::proximity::PhraseWord;
use super::proximity::TermPosition;
use super::proximity::query_variants;
use super::rank_cache::RankSnapshot;
use super::term_set::TermSetQuery;
use super::text_field::TextField;
use super::wildcard::{Pattern, WildcardExpander};
use crate::error::{Error, Result};
use crate::query::{Comparison, Condition, NumericField, QueryField, WordPattern};
use crate::text::query_terms::{QueryWord, TermVariants, split_query, term_variants};

/// Compiled query.
pub(super) struct Compiled {
    pub(super) query: Box<dyn Query>,
    /// Filters that matches of the query have to pass.
    pub(super) filters: Vec<PageFilter>,
    pub(super) statistics: TermStatistics,
    /// Scoring queries with their descriptions.
    pub(super) leaves: Vec<(String, Box<dyn Query>)>,
    pub(super) highlight: HighlightTerms,
    /// Limits hit by wildcards.
    pub(super) limits_hit: Vec<LimitHit>,
}

/// Compiler of one query.
pub(super) struct Compiler<'s> {
    searcher: &'s Searcher,
    index: &'s IndexSearcher,
    ranks: &'s RankSnapshot,
    links: &'s LinkMatches,
    deadline: &'s Deadline,
    languages: Vec<String>,
    statistics: TermStatistics,
    leaves: Vec<(String, Box<dyn Query>)>,
    highlight: HighlightTerms,
    wildcards: WildcardExpander,
    /// Whether the current condition is negated.
    is_negated: bool,
    /// Number of repetitions of the current condition in the query, a factor of its score.
    repetitions: f32,
}

impl<'s> Compiler<'s> {
    pub(super) fn new(
        searcher: &'s Searcher,
        index: &'s IndexSearcher,
        ranks: &'s RankSnapshot,
        links: &'s LinkMatches,
        condition: &Condition,
        deadline: &'s Deadline,
    ) -> Result<Compiler<'s>> {
        let required = condition.required_language().map(|code| vec![code.to_owned()]);
        Ok(Compiler {
            languages: required.map_or_else(|| searcher.index.languages(), Ok)?,
            statistics: TermStatistics::new(index)?,
            leaves: Vec::new(),
            highlight: HighlightTerms::default(),
            wildcards: WildcardExpander::new(deadline),
            is_negated: false,
            repetitions: 1.0,
            searcher,
            index,
            ranks,
            links,
            deadline,
        })
    }

    pub(super) fn compile(mut self, condition: &Condition) -> Result<Compiled> {
        let (filters, rest) = self.split_filters(condition)?;
        let (query, filters) = match self.clause(&rest)? {
            Clause::Any(queries) => (any_of(queries), filters),
            Clause::Empty if filters.is_empty() => (Box::new(EmptyQuery) as Box<dyn Query>, filters),
            clause if filters.is_empty() => (into_positive_query(clause), filters),
            // Without a required text clause, the filters become required clauses.
            clause => {
                let filters = filters.into_iter().map(|filter| (Occur::Must, filter.into_query()));
                let mut clauses: Vec<(Occur, Box<dyn Query>)> = filters.collect();
                match clause {
                    Clause::Optional(optional) => {
                        clauses.extend(optional.into_iter().map(|clause| (Occur::Must, clause.into_query())));
                    }
                    Clause::Not(query) => clauses.push((Occur::MustNot, query)),
                    Clause::Empty | Clause::Any(_) => {}
                }
                (Box::new(BooleanQuery::new(clauses)) as Box<dyn Query>, Vec::new())
            }
        };
        let Compiler { statistics, leaves, highlight, wildcards, .. } = self;
        Ok(Compiled { query, filters, statistics, leaves, highlight, limits_hit: wildcards.limits_hit })
    }

    /// Splits the filters off a conjunction. Checking them only for the matches of the rest is faster than intersecting posting lists.
    fn split_filters(&self, condition: &Condition) -> Result<(Vec<PageFilter>, Condition)> {
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
            Condition::Text { field, pattern } => self.text(*field, pattern),
            Condition::Near { operands, max_distances } => self.near(operands, max_distances),
            keyword => Ok(Clause::Any(vec![filter::any_term(self.terms(keyword)?.into_iter())])),
        }
    }

    /// Terms of a condition on a keyword field.
    fn terms(&self, condition: &Condition) -> Result<Vec<Term>> {
        let (fields, snapshot) = (&self.searcher.index.fields, &self.searcher.snapshot);
        Ok(match condition {
            Condition::Site(host) => filter::site_terms(fields.site_id, snapshot, host),
            Condition::Domain(domain) => {
                vec![Term::from_field_text(fields.domain, &filter::host_to_ascii(domain))]
            }
            Condition::Language(code) => vec![Term::from_field_text(fields.language, code)],
            Condition::MimeType(requested) => {
                filter::mime_type_terms(self.index, fields.mime_type, requested)?
            }
            _ => Vec::new(),
        })
    }

    /// Returns the filter of a condition that is checked page by page.
    fn filter(&self, condition: &Condition) -> Result<Option<PageFilter>> {
        let (fields, snapshot) = (&self.searcher.index.fields, &self.searcher.snapshot);
        Ok(Some(match condition {
            Condition::Number { field, comparison, value } => self.number(*field, *comparison, *value)?,
            Condition::Date { comparison, period } => filter::date(fields.date, *comparison, *period),
            Condition::Link(link) => {
                let pages = self.links.pages(link);
                let pages =
                    pages.ok_or_else(|| Error::LinksNotResolved { condition: condition.to_string() })?;
                filter::page_list(fields.page_id, pages, snapshot.urls.pages())
            }
            // Registered domains are indexed as terms; other domains are resolved to sites.
            Condition::Domain(domain) if !filter::is_registered_domain(&filter::host_to_ascii(domain)) => {
                filter::under_domain(fields.site_id, snapshot, &filter::host_to_ascii(domain))
            }
            _ => return Ok(None),
        }))
    }

    fn number(&self, field: NumericField, comparison: Comparison, value: f64) -> Result<PageFilter> {
        let (fields, ranks) = (&self.searcher.index.fields, self.ranks);
        Ok(match field {
            NumericField::Depth => {
                filter::page_column(fields.page_id, self.searcher.depths()?, comparison, value)
            }
            NumericField::Status => filter::numeric_field(fields.status, comparison, value),
            NumericField::Size => filter::numeric_field(fields.size, comparison, value),
            NumericField::Inlinks => {
                filter::page_column(fields.page_id, ranks.inlink_column()?, comparison, value)
            }
            NumericField::Outlinks => {
                filter::page_column(fields.page_id, ranks.outlink_column()?, comparison, value)
            }
            NumericField::PageRank => {
                filter::page_column(fields.page_id, ranks.pagerank_column()?, comparison, value)
            }
        })
    }

    /// Compiles a condition that is repeated in the query.
    fn repeated_clause(&mut self, condition: &Condition, repetitions: f32) -> Result<Clause> {
        let outer = self.repetitions;
        self.repetitions *= repetitions;
        let clause = self.clause(condition);
        self.repetitions = outer;
        clause
    }

    fn all(&mut self, all: &[Condition]) -> Result<Clause> {
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        let mut optional = Vec::new();
        for (condition, repetitions) in Condition::count_repetitions(all) {
            match self.repeated_clause(condition, repetitions)? {
                Clause::Empty => {}
                Clause::Optional(more) => optional.extend(more),
                Clause::Any(queries) => clauses.push((Occur::Must, any_of(queries))),
                Clause::Not(query) => clauses.push((Occur::MustNot, query)),
            }
        }
        let has_required = clauses.iter().any(|(occur, _)| *occur == Occur::Must);
        match (has_required, optional.is_empty(), clauses.is_empty()) {
            (_, true, true) => return Ok(Clause::Empty),
            (_, false, true) => return Ok(Clause::Optional(optional)),
            // Only stop words are positive: at least one of them has to match.
            (false, false, false) => clauses.push((Occur::Must, any_of(OptionalClause::required(optional)))),
            (false, true, false) => clauses.push((Occur::Must, all_pages())),
            (true, ..) => {
                clauses.extend(optional.into_iter().map(|clause| (Occur::Must, clause.into_query())));
            }
        }
        Ok(Clause::Any(vec![Box::new(BooleanQuery::new(clauses))]))
    }

    fn any(&mut self, any: &[Condition]) -> Result<Clause> {
        let mut queries = Vec::new();
        for (condition, repetitions) in Condition::count_repetitions(any) {
            match self.repeated_clause(condition, repetitions)? {
                Clause::Empty => {}
                // In a disjunction an exemption would match all pages of a language.
                Clause::Optional(optional) => queries.extend(OptionalClause::required(optional)),
                Clause::Any(more) => queries.extend(more),
                not @ Clause::Not(_) => queries.push(into_positive_query(not)),
            }
        }
        Ok(Clause::Any(queries))
    }

    fn not(&mut self, not: &Condition) -> Result<Clause> {
        self.is_negated = !self.is_negated;
        let clause = self.clause(not);
        self.is_negated = !self.is_negated;
        Ok(match clause? {
            Clause::Empty => Clause::Empty,
            Clause::Not(query) => Clause::Any(vec![query]),
            Clause::Optional(optional) => {
                let all = optional.into_iter().map(|clause| (Occur::Must, clause.into_query())).collect();
                Clause::Not(Box::new(BooleanQuery::new(all)))
            }
            clause => Clause::Not(into_positive_query(clause)),
        })
    }

    fn text(&mut self, field: Option<QueryField>, pattern: &WordPattern) -> Result<Clause> {
        let fields = self.fields(field);
        match pattern {
            WordPattern::Prefix(prefix) => self.wildcard(prefix, Pattern::Prefix, &fields),
            WordPattern::Infix(infix) => self.wildcard(infix, Pattern::Infix, &fields),
            WordPattern::Word(text) => {
                let words = split_query(text);
                match words.as_slice() {
                    [] => Ok(Clause::Empty),
                    [word] => self.word(word, &fields),
                    // Without positions, `foo-bar` matches pages with both words.
                    words if !self.searcher.index.has_positions() => self.all_words(words, &fields),
                    _ => self.proximity(&[words], &[], &fields),
                }
            }
            WordPattern::Phrase(text) => {
                let words = split_query(text);
                match words.as_slice() {
                    [] => Ok(Clause::Empty),
                    [word] => self.word(word, &fields),
                    _ => self.proximity(&[words], &[], &fields),
                }
            }
        }
    }

    fn near(&mut self, operands: &[WordPattern], max_distances: &[u16]) -> Result<Clause> {
        let words = |operand: &WordPattern| match operand {
            WordPattern::Word(text)
            | WordPattern::Phrase(text)
            | WordPattern::Prefix(text)
            | WordPattern::Infix(text) => split_query(text),
        };
        let groups: Vec<Vec<QueryWord>> = operands.iter().map(words).collect();
        if groups.iter().any(Vec::is_empty) {
            // An operand without words, such as a hyphen, has no position; the other words are still required.
            let others = groups.concat();
            let fields = self.fields(None);
            return self.all_words(&others, &fields);
        }
        self.proximity(&groups, max_distances, &self.fields(None))
    }

    /// Conjunction of words.
    fn all_words(&mut self, words: &[QueryWord], fields: &[TextField]) -> Result<Clause> {
        let mut clauses = Vec::new();
        let mut optional = Vec::new();
        for word in words {
            match self.word(word, fields)? {
                Clause::Optional(more) => optional.extend(more),
                clause => clauses.push((Occur::Must, into_positive_query(clause))),
            }
        }
        if clauses.is_empty() {
            return Ok(if optional.is_empty() { Clause::Empty } else { Clause::Optional(optional) });
        }
        clauses.extend(optional.into_iter().map(|clause| (Occur::Must, clause.into_query())));
        Ok(Clause::Any(vec![Box::new(BooleanQuery::new(clauses))]))
    }

    fn variants(&self, word: &QueryWord) -> TermVariants {
        let languages: Vec<&str> = self.languages.iter().map(String::as_str).collect();
        term_variants(word, &languages)
    }

    fn word(&mut self, word: &QueryWord, fields: &[TextField]) -> Result<Clause> {
        let variants = self.variants(word);
        if variants.is_unigram {
            return self.wildcard(&word.text, Pattern::Infix, fields);
        }
        let stop_word_in = self.stop_word_languages(word);
        let known = self
            .statistics
            .add_word(terms_by_field(&variants, fields), self.count_pages_in(&stop_word_in)?)?;
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
            self.highlight.add_word(&variants.terms);
        }
        if stop_word_in.is_empty() {
            return Ok(Clause::Any(queries));
        }
        Ok(Clause::Optional(vec![OptionalClause { queries, exempt: self.in_languages(&stop_word_in) }]))
    }

    /// Languages in which a word is a stop word.
    fn stop_word_languages(&self, word: &QueryWord) -> Vec<String> {
        let is_stop_word = |code: &&String| term_variants(word, &[code.as_str()]).is_stop_word;
        self.languages.iter().filter(is_stop_word).cloned().collect()
    }

    fn in_languages(&self, codes: &[String]) -> Box<dyn Query> {
        let field = self.searcher.index.fields.language;
        filter::any_term(codes.iter().map(|code| Term::from_field_text(field, code)))
    }

    fn count_pages_in(&self, codes: &[String]) -> Result<u64> {
        let field = self.searcher.index.fields.language;
        let pages = |code: &String| self.index.doc_freq(&Term::from_field_text(field, code));
        Ok(codes.iter().map(pages).sum::<tantivy::Result<u64>>()?)
    }

    /// Phrases near each other. Pages in a language with some of the words as stop words need only the other words, at their positions.
    fn proximity(
        &mut self,
        groups: &[Vec<QueryWord>],
        max_distances: &[u16],
        fields: &[TextField],
    ) -> Result<Clause> {
        if !self.searcher.index.has_positions() {
            return Err(Error::NoPositions);
        }
        let mut phrases_by_field: Vec<Vec<Vec<PhraseWord>>> = vec![Vec::new(); fields.len()];
        for group in groups {
            phrases_by_field.iter_mut().for_each(|phrases| phrases.push(Vec::new()));
            for word in group {
                let (variants, stop_word_in) = (self.variants(word), self.stop_word_languages(word));
                let stop_word_pages = self.count_pages_in(&stop_word_in)?;
                let known = self.statistics.add_word(terms_by_field(&variants, fields), stop_word_pages)?;
                for (phrase, terms) in
                    phrases_by_field.iter_mut().filter_map(|phrases| phrases.last_mut()).zip(known)
                {
                    let position = TermPosition { offset: word.position, terms };
                    phrase.push(PhraseWord { position, stop_word_in: stop_word_in.clone() });
                }
                if !self.is_negated {
                    self.highlight.add_word(&variants.terms);
                }
            }
        }
        let texts: Vec<String> = groups.iter().map(|group| phrase_text(group)).collect();
        let mut queries = Vec::new();
        for (field, phrases) in fields.iter().zip(&phrases_by_field) {
            for (proximity, language) in query_variants(field.field, phrases, max_distances, self.deadline) {
                let mut query: Box<dyn Query> = Box::new(proximity);
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

    fn wildcard<'p>(
        &mut self,
        text: &'p str,
        pattern: impl Fn(&'p str) -> Pattern<'p>,
        fields: &[TextField],
    ) -> Result<Clause> {
        let words = split_query(text);
        let Some(last) = words.last() else { return Ok(Clause::Empty) };
        // `foo-ba*`: the wildcard applies to the last word.
        let plain = self.unstemmed(last);
        let variants = self.variants(last);
        let is_prefix = matches!(pattern(text), Pattern::Prefix(_));
        let mut queries: Vec<Box<dyn Query>> = Vec::new();
        for field in fields {
            let pattern = if is_prefix { Pattern::Prefix(&plain) } else { Pattern::Infix(&plain) };
            let mut terms = self.wildcards.terms(self.index, field.field, pattern)?;
            if is_prefix {
                // `running*` also matches `running`, which is indexed as `run`.
                terms.extend(variants.terms.iter().map(|term| Term::from_field_text(field.field, term)));
            }
            let term_set = TermSetQuery { field: field.field, terms, deadline: self.deadline.clone() };
            let query: Box<dyn Query> = Box::new(ConstScoreQuery::new(Box::new(term_set), field.weight));
            self.add_leaf(format!("words with {plain} in the {}", field.name), query.as_ref());
            queries.push(query);
        }
        if !self.is_negated {
            if is_prefix {
                self.highlight.add_prefix(&plain);
            } else {
                self.highlight.add_infix(&plain);
            }
        }
        let expanded = Clause::Any(queries);
        match words.len() {
            1 => Ok(expanded),
            count => {
                let before = self.all_words(&words[..count - 1], fields)?;
                let both = vec![
                    (Occur::Must, into_positive_query(before)),
                    (Occur::Must, into_positive_query(expanded)),
                ];
                Ok(Clause::Any(vec![Box::new(BooleanQuery::new(both))]))
            }
        }
    }

    /// The term of a word without stemming.
    fn unstemmed(&self, word: &QueryWord) -> String {
        term_variants(word, &[]).terms.into_iter().next().unwrap_or_else(|| word.text.clone())
    }

    /// Fields to search, with weights multiplied by the repetitions.
    fn fields(&self, field: Option<QueryField>) -> Vec<TextField> {
        let (fields, ranking) = (&self.searcher.index.fields, &self.searcher.ranking);
        let mut fields = match field {
            Some(field) => vec![TextField::named(field, fields, ranking)],
            None => TextField::default_fields(fields, ranking),
        };
        fields.iter_mut().for_each(|field| field.weight *= self.repetitions);
        fields
    }

    fn add_leaf(&mut self, description: String, query: &dyn Query) {
        if !self.is_negated {
            self.leaves.push((description, query.box_clone()));
        }
    }
}

fn terms_by_field(variants: &TermVariants, fields: &[TextField]) -> Vec<Vec<Term>> {
    let of_field = |field: &TextField| {
        variants.terms.iter().map(|term| Term::from_field_text(field.field, term)).collect()
    };
    fields.iter().map(of_field).collect()
}

/// Text of a phrase, for descriptions.
fn phrase_text(words: &[QueryWord]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<&str>>().join(" ")
}
