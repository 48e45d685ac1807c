//! Compilation of words, phrases and wildcards. A word becomes its stems in all fields.

use tantivy::Term;
use tantivy::query::{BooleanQuery, BoostQuery, ConstScoreQuery, Occur, Query};

use super::Compiler;
use super::clause::{Clause, OptionalClause, into_positive_query};
use super::filter;
use super::text_field::TextField;
use crate::error::{Error, Result};
use crate::query::{QueryField, WordPattern};
use crate::searcher::limit_hit::MAX_EXPANDED_TERMS;
use crate::searcher::scoring::proximity::{PhraseWord, TermPosition, query_variants};
use crate::searcher::scoring::term_set::TermSetQuery;
use crate::searcher::scoring::word_pairs::{ADJACENT_WEIGHT, MAX_NEAR_WORDS, NEAR_WEIGHT};
use crate::searcher::scoring::word_query::{WordQuery, WordTerm};
use crate::text::query_terms::{QueryWord, TermVariants, split_query, term_variants};
use crate::text::segmenter::TokenKind;
use crate::text::wildcard::WildcardPattern;

/// Queries with their descriptions.
pub(super) type DescribedQueries = Vec<(String, Box<dyn Query>)>;

impl Compiler<'_> {
    pub(super) fn text(&mut self, field: Option<QueryField>, pattern: &WordPattern) -> Result<Clause> {
        let fields = self.fields(field);
        match pattern {
            WordPattern::Wildcard(text) => self.wildcard(text, &fields),
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

    pub(super) fn near(&mut self, operands: &[WordPattern], max_distances: &[u16]) -> Result<Clause> {
        let words = |operand: &WordPattern| match operand {
            WordPattern::Word(text) | WordPattern::Phrase(text) | WordPattern::Wildcard(text) => {
                split_query(text)
            }
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
            return self.matching_terms(&WildcardPattern::infix(&word.text), fields);
        }
        let stop_word_in = self.stop_word_languages(word);
        let known = self
            .statistics
            .add_word(terms_by_field(&variants, fields), self.count_pages_in(&stop_word_in)?)?;
        let mut terms: Vec<WordTerm> = Vec::new();
        for (field, known) in fields.iter().zip(known).filter(|(_, known)| !known.is_empty()) {
            let TextField { weight, b, .. } = *field;
            let of_field: Vec<WordTerm> =
                known.into_iter().map(|term| WordTerm { term, weight, b }).collect();
            terms.extend_from_slice(&of_field);
            let description = format!("{} in the {}", word.text, field.name);
            self.add_leaf(description, &WordQuery { terms: of_field });
        }
        if !self.is_negated {
            self.highlight.add_word(&variants.terms);
        }
        let queries: Vec<Box<dyn Query>> =
            if terms.is_empty() { Vec::new() } else { vec![Box::new(WordQuery { terms })] };
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

    /// Phrases near each other.
    fn proximity(
        &mut self,
        groups: &[Vec<QueryWord>],
        max_distances: &[u16],
        fields: &[TextField],
    ) -> Result<Clause> {
        if !self.searcher.index.has_positions() {
            return Err(Error::NoPositions);
        }
        let mut queries = Vec::new();
        for (description, query) in self.proximity_queries(groups, max_distances, fields)? {
            self.add_leaf(description, query.as_ref());
            queries.push(query);
        }
        Ok(Clause::Any(queries))
    }

    /// Queries for phrases near each other, with their descriptions. Pages in a language with some of the words as stop words need only the
    /// other words, at their positions.
    fn proximity_queries(
        &mut self,
        groups: &[Vec<QueryWord>],
        max_distances: &[u16],
        fields: &[TextField],
    ) -> Result<DescribedQueries> {
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
            for (proximity, language) in
                query_variants((field.field, field.b), phrases, max_distances, self.deadline)
            {
                let mut query: Box<dyn Query> = Box::new(proximity);
                if let Some(language) = language {
                    let both = vec![(Occur::Must, query), (Occur::Must, self.in_languages(&[language]))];
                    query = Box::new(BooleanQuery::new(both));
                }
                let query: Box<dyn Query> = Box::new(BoostQuery::new(query, field.weight));
                queries.push((format!("{} in the {}", texts.join(" near "), field.name), query));
            }
        }
        Ok(queries)
    }

    /// A word with wildcards. In `foo-ba*` the wildcard applies to the last part; the others are words.
    fn wildcard(&mut self, text: &str, fields: &[TextField]) -> Result<Clause> {
        let is_part = |c: char| c == '*' || c.is_alphanumeric();
        let mut clauses = Vec::new();
        for part in text.split(|c: char| !is_part(c)).filter(|part| !part.is_empty()) {
            let words = split_query(part);
            // Bigrams of scripts without spaces match anywhere in a word: they need no wildcard.
            let has_bigrams = words.iter().any(|word| word.kind != TokenKind::Word);
            let clause = if part.contains('*') && !has_bigrams {
                self.matching_terms(&WildcardPattern::parse(part), fields)?
            } else {
                self.all_words(&words, fields)?
            };
            clauses.push((Occur::Must, into_positive_query(clause)));
        }
        match (clauses.len(), clauses.pop()) {
            (_, None) => Ok(Clause::Empty),
            (1, Some((_, only))) => Ok(Clause::Any(vec![only])),
            (_, Some(last)) => {
                clauses.push(last);
                Ok(Clause::Any(vec![Box::new(BooleanQuery::new(clauses))]))
            }
        }
    }

    /// Terms that match a pattern, and terms of the words of the vocabulary that match it: `*ing` matches `running`, which is indexed as
    /// `run`.
    fn matching_terms(&mut self, pattern: &WildcardPattern, fields: &[TextField]) -> Result<Clause> {
        let mut stems: Vec<String> = Vec::new();
        if let Some(vocabulary) = self.searcher.vocabulary()? {
            for word in vocabulary.matching(pattern, MAX_EXPANDED_TERMS) {
                stems.extend(split_query(word).iter().flat_map(|word| self.variants(word).terms));
            }
        }
        if let Some(prefix) = pattern.prefix() {
            stems.extend(split_query(prefix).iter().flat_map(|word| self.variants(word).terms));
        }
        stems.sort_unstable();
        stems.dedup();
        let mut queries: Vec<Box<dyn Query>> = Vec::new();
        for field in fields {
            let mut terms = self.wildcards.terms(self.index, field.field, pattern)?;
            terms.extend(stems.iter().map(|term| Term::from_field_text(field.field, term)));
            let term_set = TermSetQuery { field: field.field, terms, deadline: self.deadline.clone() };
            let query: Box<dyn Query> = Box::new(ConstScoreQuery::new(Box::new(term_set), field.weight));
            self.add_leaf(format!("words like {pattern} in the {}", field.name), query.as_ref());
            queries.push(query);
        }
        if !self.is_negated {
            self.highlight.add_pattern(pattern, &stems);
        }
        Ok(Clause::Any(queries))
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

    /// Queries for adjacent words of the query: adjacent in a page, and near each other.
    pub(super) fn pairs(&mut self, pairs: &[[String; 2]]) -> Result<DescribedQueries> {
        let mut queries = Vec::new();
        if !self.searcher.index.has_positions() {
            return Ok(queries);
        }
        for [first, second] in pairs {
            let words: Vec<QueryWord> = split_query(&format!("{first} {second}"));
            // Bigrams of scripts without spaces overlap: they are adjacent anyway.
            let [one, other] = words.as_slice() else { continue };
            let near = [vec![one.clone()], vec![QueryWord { position: 0, ..other.clone() }]];
            let fields = |weight: f32| {
                let mut fields = self.fields(None);
                fields.iter_mut().for_each(|field| field.weight *= weight);
                fields
            };
            let (adjacent_fields, near_fields) = (fields(ADJACENT_WEIGHT), fields(NEAR_WEIGHT));
            queries.extend(self.proximity_queries(std::slice::from_ref(&words), &[], &adjacent_fields)?);
            queries.extend(self.proximity_queries(&near, &[MAX_NEAR_WORDS], &near_fields)?);
        }
        Ok(queries)
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
