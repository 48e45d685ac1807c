//! Compiler of conditions to queries of tantivy. A word becomes the disjunction of its stems in all fields.

mod clause;
pub(super) mod filter;
mod text;
mod text_field;
mod wildcard;

use tantivy::query::{BooleanQuery, EmptyQuery, Occur, Query};
use tantivy::{Searcher as IndexSearcher, Term};

use self::clause::{Clause, OptionalClause, all_pages, any_of, into_positive_query};
use self::filter::PageFilter;
use self::text::DescribedQueries;
use self::wildcard::WildcardExpander;
use super::LinkMatches;
use super::Searcher;
use super::deadline::Deadline;
use super::highlight::HighlightTerms;
use super::limit_hit::LimitHit;
use super::rank_cache::RankSnapshot;
use super::scoring::bm25_statistics::TermStatistics;
use crate::error::{Error, Result};
use crate::query::{Comparison, Condition, NumericField, Query as SearchQuery};

/// Compiled query.
pub(super) struct Compiled {
    pub(super) query: Box<dyn Query>,
    /// Filters that matches of the query have to pass.
    pub(super) filters: Vec<PageFilter>,
    pub(super) statistics: TermStatistics,
    /// Scoring queries with their descriptions.
    pub(super) leaves: DescribedQueries,
    /// Queries for adjacent words, which add to the score of the best hits, with their descriptions.
    pub(super) pairs: DescribedQueries,
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
    leaves: DescribedQueries,
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

    pub(super) fn compile(mut self, search_query: &SearchQuery) -> Result<Compiled> {
        let (filters, rest) = self.split_filters(search_query.condition())?;
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
        let pairs = self.pairs(search_query.pairs())?;
        let Compiler { statistics, leaves, highlight, wildcards, .. } = self;
        Ok(Compiled {
            query,
            filters,
            statistics,
            leaves,
            pairs,
            highlight,
            limits_hit: wildcards.limits_hit,
        })
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

    fn add_leaf(&mut self, description: String, query: &dyn Query) {
        if !self.is_negated {
            self.leaves.push((description, query.box_clone()));
        }
    }
}
