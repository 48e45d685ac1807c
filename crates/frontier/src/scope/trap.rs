//! Detection of crawler traps: URLs that look like one of an infinite series.
//!
//! Relative links on pages that exist at any path grow `/a/b/a/b/a/b/`; programs that link to themselves grow queries;
//! calendars have no end. The rules detect these forms only. A trap whose URLs look ordinary is ended by the limits on depth
//! and pages per site and by the budget of its domain.

use std::ops::RangeInclusive;

use model::CanonicalUrl;

/// Limits that URLs of traps exceed. Each is the maximum that is still accepted; the largest number disables the rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrapLimits {
    /// Length of the URL in bytes. 1,024, half of the maximum length of any URL.
    pub url_bytes: usize,
    /// Number of path segments. 20.
    pub path_segments: usize,
    /// Occurrences of the same segment in the path. 3: a date or a repeated category has two or three.
    pub segment_repeats: usize,
    /// Consecutive repetitions of a sequence of two or more segments. 2: `/a/b/a/b` is accepted, a third `a/b` is not.
    pub segment_run_repeats: usize,
    /// Number of query parameters. 12, more than an ordinary form sends.
    pub query_parameters: usize,
    /// Years in which calendars are followed. 1990 to 2035; `None` disables the rule.
    ///
    /// Only dates at the end of the path (`/events/2051/03/`, `/2051-03-01`) or in the query (`?date=2051-03`,
    /// `?year=2051`) count, because articles about the past have a title after their date. A number more than a hundred years
    /// outside the range is not treated as a year; a calendar followed page by page cannot skip these hundred years.
    pub calendar_years: Option<RangeInclusive<u16>>,
}

/// Maximum number of segments that are compared; above any sensible limit on their number.
const COMPARED_SEGMENTS: usize = 64;

impl TrapLimits {
    /// Whether the URL exceeds one of the limits.
    pub fn matches(&self, url: &CanonicalUrl) -> bool {
        let (path, query) = (url.path().as_bytes(), url.query().unwrap_or_default().as_bytes());
        url.as_str().len() > self.url_bytes
            || self.path_grows(path)
            || parameters(query).count() > self.query_parameters
            || self.calendar_years.as_ref().is_some_and(|years| has_date_outside(path, query, years))
    }

    fn path_grows(&self, path: &[u8]) -> bool {
        // Nearly all paths are too short to exceed a limit.
        let max_segments = path.iter().filter(|byte| **byte == b'/').count();
        if max_segments
            <= self.path_segments.min(self.segment_repeats).min(self.segment_run_repeats.saturating_mul(2))
        {
            return false;
        }
        let mut hashes = [0; COMPARED_SEGMENTS];
        let mut count = 0;
        for segment in segments(path) {
            if let Some(hash) = hashes.get_mut(count) {
                *hash = segment_hash(segment);
            }
            count += 1;
        }
        let hashes = &hashes[..count.min(COMPARED_SEGMENTS)];
        count > self.path_segments
            || exceeds_segment_repeats(hashes, self.segment_repeats)
            || exceeds_run_repeats(hashes, self.segment_run_repeats)
    }
}

impl Default for TrapLimits {
    fn default() -> TrapLimits {
        TrapLimits {
            url_bytes: 1_024,
            path_segments: 20,
            segment_repeats: 3,
            segment_run_repeats: 2,
            query_parameters: 12,
            calendar_years: Some(1990..=2035),
        }
    }
}

/// Path segments that are not empty.
fn segments(path: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    // On bytes: segments are too short for the setup cost of a string search.
    path.split(|byte| *byte == b'/').filter(|segment| !segment.is_empty())
}

fn parameters(query: &[u8]) -> impl Iterator<Item = &[u8]> {
    query.split(|byte| *byte == b'&').filter(|parameter| !parameter.is_empty())
}

/// Hash of a segment, eight bytes at a time. A rare collision only makes two segments look equal.
fn segment_hash(segment: &[u8]) -> u64 {
    let (words, rest) = segment.as_chunks::<8>();
    let rest = rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    words.chain([rest]).fold(segment.len() as u64, mix)
}

/// Whether one segment occurs more than `max` times.
fn exceeds_segment_repeats(hashes: &[u64], max: usize) -> bool {
    let occurs_later = |(at, hash): (usize, &u64)| hashes[at..].iter().filter(|other| *other == hash).count();
    hashes.len() > max && hashes.iter().enumerate().map(occurs_later).any(|times| times > max)
}

/// Whether a sequence of two or more segments is repeated consecutively more than `max` times.
fn exceeds_run_repeats(hashes: &[u64], max: usize) -> bool {
    let max_length = hashes.len() / max.saturating_add(1).max(1);
    (2..=max_length).any(|length| {
        // `max` further repetitions: this many consecutive segments equal the one `length` before them.
        let needed = length * max;
        let mut equal = 0;
        hashes.iter().zip(&hashes[length..]).any(|(earlier, later)| {
            equal = if earlier == later { equal + 1 } else { 0 };
            equal >= needed
        })
    })
}

fn has_date_outside(path: &[u8], query: &[u8], years: &RangeInclusive<u16>) -> bool {
    let is_outside = |year: u16| is_year(year, years) && !years.contains(&year);
    path_year(path).is_some_and(is_outside) || parameters(query).filter_map(query_year).any(is_outside)
}

/// Whether a number is plausible as a year.
fn is_year(number: u16, years: &RangeInclusive<u16>) -> bool {
    (years.start().saturating_sub(100)..=years.end().saturating_add(100)).contains(&number)
}

/// Year of a date at the end of a path: `/2051/03/01`, `/2051/03`, `/2051-03-01`, `/2051-03`.
fn path_year(path: &[u8]) -> Option<u16> {
    let mut last = segments(path).rev();
    // Nearly all paths return here.
    let third = last.next().filter(|segment| segment.last().is_some_and(u8::is_ascii_digit))?;
    let (second, first) = (last.next(), last.next());
    if let Some(year) = dashed_year(third) {
        return Some(year);
    }
    if let (Some(year), Some(_), Some(_)) = (first.and_then(year), second.and_then(month), day(third)) {
        return Some(year);
    }
    // Without a day, the month must have two digits: `/thread/1987/2` is page two of a thread.
    let is_month = third.len() == 2 && month(third).is_some();
    second.and_then(year).filter(|_| is_month)
}

/// Year in a parameter: `date=2051-03-01`, `year=2051`.
fn query_year(parameter: &[u8]) -> Option<u16> {
    let equals = parameter.iter().position(|byte| *byte == b'=')?;
    let (name, value) = (&parameter[..equals], &parameter[equals + 1..]);
    let ends_in_year = name.last_chunk::<4>().is_some_and(|end| end.eq_ignore_ascii_case(b"year"));
    if ends_in_year { year(value) } else { dashed_year(value) }
}

/// Year of `2051-03-01` or `2051-03`.
fn dashed_year(text: &[u8]) -> Option<u16> {
    let mut parts = text.split(|byte| *byte == b'-');
    let (first, second, third, fourth) = (parts.next()?, parts.next()?, parts.next(), parts.next());
    let is_date =
        month(second).is_some() && third.is_none_or(|third| day(third).is_some()) && fourth.is_none();
    year(first).filter(|_| is_date)
}

fn year(text: &[u8]) -> Option<u16> {
    number(text).filter(|_| text.len() == 4)
}

fn month(text: &[u8]) -> Option<u16> {
    number(text).filter(|month| text.len() <= 2 && (1..=12).contains(month))
}

fn day(text: &[u8]) -> Option<u16> {
    number(text).filter(|day| text.len() <= 2 && (1..=31).contains(day))
}

/// Number of one to four digits.
fn number(text: &[u8]) -> Option<u16> {
    let is_number = (1..=4).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    is_number.then(|| text.iter().fold(0, |number, digit| 10 * number + u16::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use model::UrlRules;
    use proptest::prelude::*;

    use super::*;

    fn is_trap(path_and_query: &str) -> bool {
        let url = UrlRules::default().canonical(&format!("http://example.com{path_and_query}")).unwrap();
        TrapLimits::default().matches(&url)
    }

    #[test]
    fn ordinary_urls_are_not_traps() {
        for path in [
            "/",
            "/a/b/a/b",
            "/de/de/de/index.html",
            "/2024/05/05/05",
            "/wiki/List_of_lists_of_lists",
            "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20",
            "/?a=1&b=2&c=3&d=4&e=5&f=6&g=7&h=8&i=9&j=10&k=11&l=12",
            "/news/1987/05/12/a-title.html",
            "/1923/05/12/archives/title-of-the-day/",
            "/events/2024/05/",
            "/events/2035-12-31",
            "/events?date=1990-01&year=2035",
            "/forum/1987/2",
            "/forum/4711/12",
            "/product/1850",
            "/1987",
            "/call/555-1987-12",
            "/a?id=1987&phone=1987-13",
            "//////////////////////////////////////////////////a",
        ] {
            assert!(!is_trap(path), "{path}");
        }
    }

    #[test]
    fn growing_paths_are_traps() {
        for path in [
            "/a/b/a/b/a/b",
            "/x/a/b/a/b/a/b/y.html",
            "/a/b/c/a/b/c/a/b/c/",
            "/a/a/a/a",
            "/a/1/a/2/a/3/a/4",
            "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21",
            "/?a=1&b=2&c=3&d=4&e=5&f=6&g=7&h=8&i=9&j=10&k=11&l=12&m=13",
            &format!("/{}", "x".repeat(1_024)),
            &"/x/y".repeat(200),
        ] {
            assert!(is_trap(path), "{path}");
        }
    }

    #[test]
    fn calendars_outside_their_years_are_traps() {
        for path in [
            "/events/2051/03/",
            "/events/2036/1/1",
            "/events/1989-12",
            "/events/2036-01-31/",
            "/events?date=2051-03-01",
            "/events?a=b&YEAR=1971",
            "/events?startYear=2036&month=1",
        ] {
            assert!(is_trap(path), "{path}");
        }
    }

    #[test]
    fn each_rule_can_be_disabled() {
        let unlimited = usize::MAX;
        let off = TrapLimits {
            url_bytes: unlimited,
            path_segments: unlimited,
            segment_repeats: unlimited,
            segment_run_repeats: unlimited,
            query_parameters: unlimited,
            calendar_years: None,
        };
        let long = format!("http://example.com/{}/2051/03?{}", "a/a/b/".repeat(300), "a=1&".repeat(40));
        let url = UrlRules::default().canonical(&long).unwrap();
        assert!(!off.matches(&url) && TrapLimits::default().matches(&url));
    }

    proptest! {
        #[test]
        fn repeated_sequences_are_found_at_any_position(
            before in prop::collection::btree_set(100u64..200, 0..5), run in prop::collection::btree_set(0u64..50, 2..5),
            times in 1usize..5, after in prop::collection::btree_set(200u64..300, 0..5), max in 1usize..4,
        ) {
            let run: Vec<u64> = run.into_iter().collect();
            let hashes: Vec<u64> = before.into_iter().chain(run.repeat(times)).chain(after).collect();
            prop_assert_eq!(exceeds_run_repeats(&hashes, max), times > max);
        }

        #[test]
        fn every_url_can_be_checked(path in "[/a0-9?&=-]{0,200}") {
            if let Ok(url) = UrlRules::default().canonical(&format!("http://example.com/{path}")) {
                TrapLimits::default().matches(&url);
                TrapLimits { segment_repeats: 0, segment_run_repeats: 0, calendar_years: Some(0..=u16::MAX), ..TrapLimits::default() }.matches(&url);
            }
        }
    }
}
