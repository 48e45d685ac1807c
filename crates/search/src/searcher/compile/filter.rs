//! Filters on metadata of pages: fast fields, columns of the last analysis, lists of pages. They are checked for the pages that match the
//! rest of the query.

use std::borrow::Cow;
use std::sync::Arc;

use model::{SiteId, UrlRules};
use store::Snapshot;
use tantivy::query::doc_predicate_query::{DocPredicateQuery, FunctionPredicate};
use tantivy::query::{BooleanQuery, ConstScoreQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocId, Searcher, SegmentReader, Term};

use crate::error::Result;
use crate::query::{Comparison, Period};
use crate::searcher::SharedColumn;
use crate::searcher::compile::clause::NO_SCORE;

/// Predicate on the documents of a segment.
pub(crate) type DocPredicate = Box<dyn Fn(DocId) -> bool + Send + Sync>;

/// Opens the predicate of a segment.
type OpenSegment = dyn Fn(&SegmentReader) -> tantivy::Result<DocPredicate> + Send + Sync;

/// Condition that is checked page by page.
#[derive(Clone)]
pub(crate) struct PageFilter(Arc<OpenSegment>);

impl PageFilter {
    fn new(
        open: impl Fn(&SegmentReader) -> tantivy::Result<DocPredicate> + Send + Sync + 'static,
    ) -> PageFilter {
        PageFilter(Arc::new(open))
    }

    /// Opens the predicate of a segment.
    pub(crate) fn open(&self, reader: &SegmentReader) -> tantivy::Result<DocPredicate> {
        (self.0)(reader)
    }

    /// Converts the filter to a query of its own.
    pub(crate) fn into_query(self) -> Box<dyn Query> {
        let open = move |reader: &SegmentReader| self.open(reader);
        unscored(DocPredicateQuery::from(FunctionPredicate::from(open)))
    }
}

/// Filter on a column by page id.
pub(crate) fn page_column<V>(
    page_id: Field,
    column: SharedColumn<V>,
    comparison: Comparison,
    value: f64,
) -> PageFilter
where
    V: Copy + Into<f64> + Send + Sync + 'static,
{
    fast_field_filter(page_id, move |page| {
        column.get(page as usize).is_some_and(|number| comparison.holds((*number).into(), value))
    })
}

/// Filter on a list of pages.
pub(crate) fn page_list(page_id: Field, pages: &[u32], known: u32) -> PageFilter {
    fast_field_filter(page_id, bit_set_predicate(pages, known))
}

/// Filter on the sites of a domain and its subdomains.
pub(crate) fn under_domain(site_id: Field, snapshot: &Snapshot, domain: &str) -> PageFilter {
    let sites = matching_sites(snapshot, |host| {
        host.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    });
    fast_field_filter(site_id, bit_set_predicate(&sites, snapshot.urls.sites()))
}

/// Returns the sites whose host, without port, matches a predicate.
fn matching_sites(snapshot: &Snapshot, matches: impl Fn(&str) -> bool) -> Vec<u32> {
    let matches = |site: &u32| {
        let name = snapshot.urls.site_name(SiteId(*site)).unwrap_or_default();
        let host = name.split_once("://").map_or(name, |(_, host)| host);
        matches(host.rsplit_once(':').map_or(host, |(host, _)| host))
    };
    (0..snapshot.urls.sites()).filter(matches).collect()
}

/// Filter on a numeric fast field.
pub(crate) fn numeric_field(field: Field, comparison: Comparison, value: f64) -> PageFilter {
    fast_field_filter(field, move |number| comparison.holds(number as f64, value))
}

/// Filter on the date.
pub(crate) fn date(field: Field, comparison: Comparison, period: Period) -> PageFilter {
    let (start_ms, end_ms) = (period.start_ms(), period.end_ms());
    let holds = move |date_ms: i64| match comparison {
        Comparison::Equal => (start_ms..end_ms).contains(&date_ms),
        Comparison::Less => date_ms < start_ms,
        Comparison::LessOrEqual => date_ms < end_ms,
        Comparison::Greater => date_ms >= end_ms,
        Comparison::GreaterOrEqual => date_ms >= start_ms,
    };
    PageFilter::new(move |reader| {
        let column = reader.fast_fields().i64(reader.schema().get_field_name(field))?;
        Ok(Box::new(move |doc| column.first(doc).is_some_and(|date_s| holds(date_s.saturating_mul(1_000)))))
    })
}

/// Whether a domain is a registered domain, which all its pages have as a term. Pages under a public suffix such as `github.io` have longer
/// ones.
pub(crate) fn is_registered_domain(domain: &str) -> bool {
    let url = UrlRules::default().canonical(&format!("http://{domain}/"));
    url.is_ok_and(|url| url.registered_domain() == Some(domain))
}

/// Converts a host to ASCII as in URLs: `bücher.example` to `xn--bcher-kva.example`. Scheme and port are kept.
pub(crate) fn host_to_ascii(host: &str) -> Cow<'_, str> {
    if host.is_ascii() {
        return Cow::Borrowed(host);
    }
    let has_scheme = host.contains("://");
    let text = if has_scheme { host.to_owned() } else { format!("http://{host}") };
    let Ok(url) = UrlRules::default().canonical(&text) else { return Cow::Borrowed(host) };
    let site = url.site();
    Cow::Owned(if has_scheme { site } else { site.trim_start_matches("http://") }.to_owned())
}

/// Terms of the sites of a host: all schemes, or the one that is named. If the host is known only with other ports, these match.
pub(crate) fn site_terms(site_id: Field, snapshot: &Snapshot, host: &str) -> Vec<Term> {
    let host = host_to_ascii(host.trim_end_matches('/'));
    let names = match host.contains("://") {
        true => vec![host.clone().into_owned()],
        false => ["https", "http", "ftp", "gopher"].map(|scheme| format!("{scheme}://{host}")).into(),
    };
    let mut found: Vec<u32> =
        names.iter().filter_map(|name| snapshot.urls.find_site(name)).map(|site| site.0).collect();
    if found.is_empty() {
        found = matching_sites(snapshot, |known| known == host);
    }
    found.into_iter().map(|site| Term::from_field_u64(site_id, site.into())).collect()
}

/// Query for any of some terms.
pub(crate) fn any_term(terms: impl Iterator<Item = Term>) -> Box<dyn Query> {
    let query = |term| Box::new(TermQuery::new(term, IndexRecordOption::Basic)) as Box<dyn Query>;
    unscored(BooleanQuery::union(terms.map(query).collect()))
}

/// Terms of the MIME types that match a name: `text/html` itself, `html` and `xhtml` for `html`, all text types for `text`.
pub(crate) fn mime_type_terms(searcher: &Searcher, mime_type: Field, requested: &str) -> Result<Vec<Term>> {
    let matches = |name: &str| {
        let (main, sub) = name.split_once('/').unwrap_or((name, ""));
        let mut parts = sub.split(['+', '.', '-']);
        name == requested
            || main == requested
            || sub == requested
            || parts.any(|part| part == requested || part.strip_prefix('x') == Some(requested))
    };
    let mut found = Vec::new();
    for segment in searcher.segment_readers() {
        let terms = segment.inverted_index(mime_type)?;
        let mut stream = terms.terms().stream().map_err(tantivy::TantivyError::from)?;
        while let Some((term, _)) = stream.next() {
            let name = String::from_utf8_lossy(term);
            if matches(&name) {
                found.push(Term::from_field_text(mime_type, &name));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Filter on the value of a fast field.
fn fast_field_filter(field: Field, fits: impl Fn(u64) -> bool + Send + Sync + 'static) -> PageFilter {
    let fits = Arc::new(fits);
    PageFilter::new(move |reader| {
        let name = reader.schema().get_field_name(field);
        let column = reader.fast_fields().column_first_or_default::<u64>(name)?;
        let fits = Arc::clone(&fits);
        Ok(Box::new(move |doc| fits(column.get_val(doc))))
    })
}

/// Predicate that is true for a set of numbers below a limit, as a bit set.
fn bit_set_predicate(numbers: &[u32], limit: u32) -> impl Fn(u64) -> bool + Send + Sync + use<> {
    let mut words = vec![0_u64; (limit as usize).div_ceil(64)];
    for number in numbers.iter().copied() {
        if let Some(word) = words.get_mut(number as usize / 64) {
            *word |= 1 << (number % 64);
        }
    }
    move |number| words.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
}

/// Removes the score of a query: a filter does not rank.
fn unscored(query: impl Query) -> Box<dyn Query> {
    Box::new(ConstScoreQuery::new(Box::new(query), NO_SCORE))
}
