//! What can speak for a page, and how much does each of it count?
//!
//! The names and the weights alone. What the facts of a page are is in [`PageFacts`](crate::PageFacts); how they become scores,
//! and scores a quality, in [`Quality`](crate::Quality).

use std::fmt;
use std::ops::Index;

/// Something that speaks for a page. Each has a score from 0 to 1 over the collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Term {
    /// Few links away from where its site was entered.
    Depth,
    /// A page that lies on the server's disk, by its URL, rather than one made by a program.
    Static,
    /// Links to it from known pages.
    InLinks,
    /// Links to its site from other sites.
    SiteInLinks,
    /// Pages of its site that were not fetched yet.
    SitePending,
    /// OPIC: the importance that the pages that link to it have passed on.
    Cash,
    /// How promising its URL is, by its host and its words.
    Location,
    /// How well it meets the driving query.
    Relevance,
    /// Nothing: a number drawn from its id, to compare with.
    Random,
    /// PageRank.
    PageRank,
    /// HITS: it links to good authorities.
    Hub,
    /// HITS: good hubs link to it.
    Authority,
    /// PageRank with links weighted by where they stand.
    LinkRank,
    /// PageRank of its site, among sites.
    SiteRank,
}

/// How much each term counts. Only the proportions matter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights([f32; Term::ALL.len()]);

impl Term {
    /// All there are.
    pub const ALL: [Term; 14] = [
        Term::Depth,
        Term::Static,
        Term::InLinks,
        Term::SiteInLinks,
        Term::SitePending,
        Term::Cash,
        Term::Location,
        Term::Relevance,
        Term::Random,
        Term::PageRank,
        Term::Hub,
        Term::Authority,
        Term::LinkRank,
        Term::SiteRank,
    ];

    /// Those that an analysis of the links has to find out first, in the order of [`PageFacts::ranks`](crate::PageFacts::ranks).
    pub const RANKS: [Term; 5] = [Term::PageRank, Term::Hub, Term::Authority, Term::LinkRank, Term::SiteRank];

    /// Its name in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Term::Depth => "depth",
            Term::Static => "static",
            Term::InLinks => "in-links",
            Term::SiteInLinks => "site-in-links",
            Term::SitePending => "site-pending",
            Term::Cash => "cash",
            Term::Location => "location",
            Term::Relevance => "relevance",
            Term::Random => "random",
            Term::PageRank => "pagerank",
            Term::Hub => "hub",
            Term::Authority => "authority",
            Term::LinkRank => "link-rank",
            Term::SiteRank => "site-rank",
        }
    }

    /// As an index into a table of all terms.
    pub fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Term {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl Weights {
    /// No weight is larger, so that their sum is a number.
    pub const MOST: f32 = 1e6;

    /// The same, with another weight for one term. What is no number from 0 to [`Weights::MOST`] is moved there; settings
    /// are checked before.
    pub fn with(mut self, term: Term, weight: f32) -> Weights {
        self.0[term.index()] = if weight > 0.0 { weight.min(Weights::MOST) } else { 0.0 };
        self
    }

    /// Terms that count, with their weights.
    pub fn iter(&self) -> impl Iterator<Item = (Term, f32)> + '_ {
        Term::ALL.into_iter().map(|term| (term, self[term])).filter(|(_, weight)| *weight > 0.0)
    }

    /// All weights together.
    pub fn sum(&self) -> f32 {
        self.0.iter().sum()
    }
}

impl Default for Weights {
    /// Nothing counts.
    fn default() -> Weights {
        Weights([0.0; Term::ALL.len()])
    }
}

impl FromIterator<(Term, f32)> for Weights {
    fn from_iter<T: IntoIterator<Item = (Term, f32)>>(weights: T) -> Weights {
        weights.into_iter().fold(Weights::default(), |all, (term, weight)| all.with(term, weight))
    }
}

impl Index<Term> for Weights {
    type Output = f32;

    fn index(&self, term: Term) -> &f32 {
        &self.0[term.index()]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn terms_stand_at_their_index_and_have_names_of_their_own() {
        assert!(Term::ALL.iter().enumerate().all(|(index, term)| term.index() == index));
        let names: HashSet<&str> = Term::ALL.iter().map(|term| term.as_str()).collect();
        assert_eq!(names.len(), Term::ALL.len());
    }

    #[test]
    fn weights_are_numbers_that_can_be_added() {
        let hostile = [f32::NAN, f32::NEG_INFINITY, -1.0, f32::INFINITY, f32::MAX];
        let weights: Weights = Term::ALL.into_iter().zip(hostile).collect();
        let found: Vec<f32> = weights.iter().map(|(_, weight)| weight).collect();
        assert_eq!(found, [Weights::MOST; 2]);
        assert_eq!(weights.sum(), 2e6);
    }
}
