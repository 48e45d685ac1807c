//! Which pages fit a condition that is no word? What the index or an analysis knows of a page is looked up for those pages
//! that fit the rest of the query.

use std::borrow::Cow;
use std::sync::Arc;

use model::{SiteId, UrlRules};
use store::Snapshot;
use tantivy::query::doc_predicate_query::{DocPredicateQuery, FunctionPredicate};
use tantivy::query::{BooleanQuery, ConstScoreQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, Searcher, SegmentReader, Term};

use super::Shared;
use super::clause::NO_SCORE;
use crate::error::Result;
use crate::query::{Compare, Period};

/// Tells of each page of a segment whether it fits.
pub(super) type Fits = Box<dyn Fn(DocId) -> bool + Send + Sync>;

/// Makes ready what is looked up for the pages of a segment.
type Open = dyn Fn(&SegmentReader) -> tantivy::Result<Fits> + Send + Sync;

/// A condition that is looked up page by page.
#[derive(Clone)]
pub(super) struct Filter(Arc<Open>);

impl Filter {
    fn new(open: impl Fn(&SegmentReader) -> tantivy::Result<Fits> + Send + Sync + 'static) -> Filter {
        Filter(Arc::new(open))
    }

    /// For the pages of a segment.
    pub(super) fn open(&self, reader: &SegmentReader) -> tantivy::Result<Fits> {
        (self.0)(reader)
    }

    /// As part of a query.
    pub(super) fn into_query(self) -> Box<dyn Query> {
        let open = move |reader: &SegmentReader| self.open(reader);
        unscored(DocPredicateQuery::from(FunctionPredicate::from(open)))
    }
}

/// Pages whose number in a column by page id compares so with a value.
pub(super) fn ranked<V>(page_id: Field, column: Shared<V>, compare: Compare, value: f64) -> Filter
where
    V: Copy + Into<f64> + Send + Sync + 'static,
{
    by_number(page_id, move |page| {
        column.get(page as usize).is_some_and(|number| compare.holds((*number).into(), value))
    })
}

/// Pages of a list.
pub(super) fn listed(page_id: Field, pages: &[u32], known: u32) -> Filter {
    by_number(page_id, in_set(pages, known))
}

/// Pages of all sites under a domain, itself included.
pub(super) fn under_domain(site_id: Field, snapshot: &Snapshot, domain: &str) -> Filter {
    let sites = sites(snapshot, |host| {
        host.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    });
    by_number(site_id, in_set(&sites, snapshot.urls.sites()))
}

/// The sites whose host, without a port, is as wanted.
fn sites(snapshot: &Snapshot, is_wanted: impl Fn(&str) -> bool) -> Vec<u32> {
    let is_wanted = |site: &u32| {
        let name = snapshot.urls.site_name(SiteId(*site)).unwrap_or_default();
        let host = name.split_once("://").map_or(name, |(_, host)| host);
        is_wanted(host.rsplit_once(':').map_or(host, |(host, _)| host))
    };
    (0..snapshot.urls.sites()).filter(is_wanted).collect()
}

/// Pages with a number in the index that compares so with a value.
pub(super) fn number(field: Field, compare: Compare, value: f64) -> Filter {
    by_number(field, move |number| compare.holds(number as f64, value))
}

/// Pages of a time.
pub(super) fn dated(field: Field, compare: Compare, period: Period) -> Filter {
    let (start_ms, end_ms) = (period.start_ms(), period.end_ms());
    let holds = move |date_ms: i64| match compare {
        Compare::Equal => (start_ms..end_ms).contains(&date_ms),
        Compare::Less => date_ms < start_ms,
        Compare::AtMost => date_ms < end_ms,
        Compare::More => date_ms >= end_ms,
        Compare::AtLeast => date_ms >= start_ms,
    };
    Filter::new(move |reader| {
        let column = reader.fast_fields().i64(reader.schema().get_field_name(field))?;
        Ok(Box::new(move |doc| column.first(doc).is_some_and(|date_s| holds(date_s.saturating_mul(1_000)))))
    })
}

/// Whether all pages under a domain have it for a term: those under a public suffix, such as `github.io`, have longer ones.
pub(super) fn is_registered(domain: &str) -> bool {
    let url = UrlRules::default().canonical(&format!("http://{domain}/"));
    url.is_ok_and(|url| url.registered_domain() == Some(domain))
}

/// A host as URLs have it: `xn--bcher-kva.example` for `bücher.example`. With a protocol before it or a port behind it, or both.
pub(super) fn in_ascii(host: &str) -> Cow<'_, str> {
    if host.is_ascii() {
        return Cow::Borrowed(host);
    }
    let has_protocol = host.contains("://");
    let text = if has_protocol { host.to_owned() } else { format!("http://{host}") };
    let Ok(url) = UrlRules::default().canonical(&text) else { return Cow::Borrowed(host) };
    let site = url.site();
    Cow::Owned(if has_protocol { site } else { site.trim_start_matches("http://") }.to_owned())
}

/// The sites of a host, by any protocol, or the one site that is named with its protocol. A host that is known at
/// unusual ports only is meant at these.
pub(super) fn sites_of(site_id: Field, snapshot: &Snapshot, host: &str) -> Vec<Term> {
    let host = in_ascii(host.trim_end_matches('/'));
    let names = match host.contains("://") {
        true => vec![host.clone().into_owned()],
        false => ["https", "http", "ftp", "gopher"].map(|protocol| format!("{protocol}://{host}")).into(),
    };
    let mut found: Vec<u32> =
        names.iter().filter_map(|name| snapshot.urls.find_site(name)).map(|site| site.0).collect();
    if found.is_empty() {
        found = sites(snapshot, |known| known == host);
    }
    found.into_iter().map(|site| Term::from_field_u64(site_id, site.into())).collect()
}

/// Pages with any of some terms.
pub(super) fn any_term(terms: impl Iterator<Item = Term>) -> Box<dyn Query> {
    let query = |term| Box::new(TermQuery::new(term, IndexRecordOption::Basic)) as Box<dyn Query>;
    unscored(BooleanQuery::union(terms.map(query).collect()))
}

/// The types that a word means: `text/html` itself, `html` and `xhtml` for `html`, all texts for `text`.
pub(super) fn types(searcher: &Searcher, mime: Field, wanted: &str) -> Result<Vec<Term>> {
    let is_meant = |name: &str| {
        let (main, sub) = name.split_once('/').unwrap_or((name, ""));
        let mut parts = sub.split(['+', '.', '-']);
        name == wanted
            || main == wanted
            || sub == wanted
            || parts.any(|part| part == wanted || part.strip_prefix('x') == Some(wanted))
    };
    let mut found = Vec::new();
    for segment in searcher.segment_readers() {
        let terms = segment.inverted_index(mime)?;
        let mut stream = terms.terms().stream().map_err(tantivy::TantivyError::from)?;
        while let Some((term, _)) = stream.next() {
            let name = String::from_utf8_lossy(term);
            if is_meant(&name) {
                found.push(Term::from_field_text(mime, &name));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Pages whose number in a column of the index fits.
fn by_number(field: Field, fits: impl Fn(u64) -> bool + Send + Sync + 'static) -> Filter {
    let fits = Arc::new(fits);
    Filter::new(move |reader| {
        let name = reader.schema().get_field_name(field);
        let column = reader.fast_fields().column_first_or_default::<u64>(name)?;
        let fits = Arc::clone(&fits);
        Ok(Box::new(move |doc| fits(column.get_val(doc))))
    })
}

/// Whether a number is among some below a limit; one bit each.
fn in_set(numbers: &[u32], limit: u32) -> impl Fn(u64) -> bool + Send + Sync + use<> {
    let mut words = vec![0_u64; (limit as usize).div_ceil(64)];
    for number in numbers.iter().copied() {
        if let Some(word) = words.get_mut(number as usize / 64) {
            *word |= 1 << (number % 64);
        }
    }
    move |number| words.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
}

/// A condition says nothing of how well a page fits.
fn unscored(query: impl Query) -> Box<dyn Query> {
    Box::new(ConstScoreQuery::new(Box::new(query), NO_SCORE))
}
