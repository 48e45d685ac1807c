//! How did the crawl go? Visits, failures and bytes over time, in as many steps as a picture can show.
//!
//! Time is cut into spans of a power of two seconds, from the beginning of 1970. While visits come, spans are joined when
//! there are too many; in the end they are as short as gives no more than [`MOST_SPANS`] from the first visit to the last.

use std::collections::BTreeMap;

use store::{FetchRow, Statistic, Value};

use super::Description;
use crate::analyzer::{Analyzer, Reads};

const NAME: &str = "fetches-over-time";
const COLUMNS: [&str; 4] = ["start", "visits", "failed", "bytes"];
/// So many are shown.
const MOST_SPANS: i64 = 120;
/// So many are kept, so that those shown can be made of them.
const MOST_KEPT: usize = 8_192;

/// Visits over time.
#[derive(Debug, Clone, Default)]
pub(super) struct OverTime {
    /// The logarithm of how many seconds a span has.
    log2_s: u32,
    /// By number.
    spans: BTreeMap<i64, Span>,
    first_s: Option<i64>,
    last_s: Option<i64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Span {
    visits: u64,
    failed: u64,
    bytes: i64,
}

impl OverTime {
    fn add(&mut self, number: i64, more: Span) {
        let span = self.spans.entry(number).or_default();
        span.visits += more.visits;
        span.failed += more.failed;
        span.bytes += more.bytes;
        if self.spans.len() > MOST_KEPT {
            self.widen(self.log2_s + 1);
        }
    }

    /// Makes spans so long.
    fn widen(&mut self, log2_s: u32) {
        let by = log2_s.saturating_sub(self.log2_s);
        self.log2_s += by;
        for (number, span) in std::mem::take(&mut self.spans) {
            let joined = self.spans.entry(number >> by).or_default();
            joined.visits += span.visits;
            joined.failed += span.failed;
            joined.bytes += span.bytes;
        }
    }

    fn shown_log2_s(&self) -> u32 {
        let (Some(first_s), Some(last_s)) = (self.first_s, self.last_s) else { return 0 };
        (0..62).find(|log2| (last_s - first_s) >> log2 < MOST_SPANS).unwrap_or(62)
    }
}

impl Analyzer for OverTime {
    const READS: Reads = Reads::FETCHES;
    type Finding = Statistic;

    fn fetch(&mut self, fetch: &FetchRow<'_>) {
        let second = fetch.fetch_time.div_euclid(1_000);
        self.first_s = Some(self.first_s.map_or(second, |first| first.min(second)));
        self.last_s = Some(self.last_s.map_or(second, |last| last.max(second)));
        let failed = !matches!(fetch.outcome, "ok" | "not_modified" | "redirect");
        let span = Span { visits: 1, failed: u64::from(failed), bytes: fetch.content_length };
        self.add(second >> self.log2_s, span);
    }

    fn merge(&mut self, mut other: OverTime) {
        let log2_s = self.log2_s.max(other.log2_s);
        self.widen(log2_s);
        other.widen(log2_s);
        for (number, span) in other.spans {
            self.add(number >> (self.log2_s - log2_s), span);
        }
        self.first_s = self.first_s.into_iter().chain(other.first_s).min();
        self.last_s = self.last_s.into_iter().chain(other.last_s).max();
    }

    fn finish(mut self) -> Statistic {
        let log2_s = self.shown_log2_s();
        self.widen(log2_s);
        let row = |(number, span): (&i64, &Span)| -> Vec<Value> {
            let start = number << log2_s;
            vec![Value::Integer(start), span.visits.into(), span.failed.into(), Value::Integer(span.bytes)]
        };
        Statistic {
            name: NAME.to_owned(),
            columns: COLUMNS.map(str::to_owned).to_vec(),
            rows: self.spans.iter().map(row).collect(),
            fit: None,
            notes: BTreeMap::from([("span_s".to_owned(), (1i64 << log2_s) as f64)]),
        }
    }
}

pub(super) fn description() -> Description {
    let sql = format!(
        "with t as (select cast(floor(extract(epoch from fetch_time)) as bigint) as s, outcome, content_length from fetches), \
         w as (select cast(power(2, greatest(0, floor(log2(greatest(1, max(s) - min(s)) / {MOST_SPANS}.0)) + 1)) as bigint) \
         as w from t) \
         select cast(floor(s / cast(w as double)) as bigint) * w as start, count(*) as visits, \
         sum(case when outcome in ('ok', 'not_modified', 'redirect') then 0 else 1 end) as failed, \
         sum(content_length) as bytes from t cross join w group by 1 order by 1"
    );
    Description {
        name: NAME,
        columns: COLUMNS.map(str::to_owned).to_vec(),
        meaning: "Visits, those that brought nothing, and bytes, by time: spans of `span_s` seconds (a note) that begin at \
            `start` in Unix seconds."
            .to_owned(),
        sql,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn visit(fetch_time: i64) -> FetchRow<'static> {
        FetchRow {
            fetch_time,
            fetch_status: 200,
            outcome: if fetch_time % 3 == 0 { "no_answer" } else { "ok" },
            content_length: 7,
            ..FetchRow::default()
        }
    }

    proptest! {
        #[test]
        fn spans_do_not_depend_on_the_order(
            times in prop::collection::vec(1_700_000_000_000i64..1_700_000_000_000 + (1 << 40), 1..300),
            dense in 0i64..20_000,
            cut in 0usize..300,
        ) {
            let times: Vec<i64> = times.into_iter().chain((0..dense).map(|s| 1_700_000_000_000 + s * 1_000)).collect();
            let (mut first, mut second, mut at_once) = (OverTime::default(), OverTime::default(), OverTime::default());
            for (place, time) in times.iter().enumerate() {
                if place < cut { first.fetch(&visit(*time)) } else { second.fetch(&visit(*time)) }
                at_once.fetch(&visit(times[times.len() - 1 - place]));
            }
            first.merge(second);
            let (found, at_once) = (first.finish(), at_once.finish());
            prop_assert_eq!(&found, &at_once);
            prop_assert!(found.rows.len() <= MOST_SPANS as usize + 1);
            let visits: f64 = found.rows.iter().filter_map(|row| row[1].as_f64()).sum();
            prop_assert_eq!(visits, times.len() as f64);
        }
    }
}
