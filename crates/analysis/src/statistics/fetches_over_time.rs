//! Fetches, failed fetches and bytes over time, with as many points as a figure can show.
//!
//! Time is divided into spans of a power of two seconds, from 1970. Spans are joined when there are too many; finally
//! they are as short as possible with at most [`MAX_SPANS`] from the first fetch to the last.

use std::collections::BTreeMap;

use store::{FetchRow, Statistic, StatisticValue};

use super::description::Description;
use crate::scan::analyzer::{Analyzer, Inputs};

const NAME: &str = "fetches-over-time";
const COLUMNS: [&str; 4] = ["start", "fetches", "failed", "bytes"];
/// Maximum number of spans of the result.
const MAX_SPANS: i64 = 120;
/// Maximum number of spans in memory; the resulting spans are joined from them.
const MAX_STORED_SPANS: usize = 8_192;

/// Fetches over time.
#[derive(Debug, Clone, Default)]
pub(super) struct FetchesOverTime {
    /// Base-2 logarithm of the length of a span in seconds.
    log2_s: u32,
    /// Spans by number.
    spans: BTreeMap<i64, Span>,
    first_s: Option<i64>,
    last_s: Option<i64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Span {
    fetches: u64,
    failed: u64,
    bytes: i64,
}

impl FetchesOverTime {
    fn add(&mut self, number: i64, more: Span) {
        let span = self.spans.entry(number).or_default();
        span.fetches += more.fetches;
        span.failed += more.failed;
        span.bytes += more.bytes;
        if self.spans.len() > MAX_STORED_SPANS {
            self.widen(self.log2_s + 1);
        }
    }

    /// Joins spans to this length.
    fn widen(&mut self, log2_s: u32) {
        let by = log2_s.saturating_sub(self.log2_s);
        self.log2_s += by;
        for (number, span) in std::mem::take(&mut self.spans) {
            let joined = self.spans.entry(number >> by).or_default();
            joined.fetches += span.fetches;
            joined.failed += span.failed;
            joined.bytes += span.bytes;
        }
    }

    fn shown_log2_s(&self) -> u32 {
        let (Some(first_s), Some(last_s)) = (self.first_s, self.last_s) else { return 0 };
        (0..62).find(|log2| (last_s - first_s) >> log2 < MAX_SPANS).unwrap_or(62)
    }
}

impl Analyzer for FetchesOverTime {
    const INPUTS: Inputs = Inputs::FETCHES;
    type Output = Statistic;

    fn fetch(&mut self, fetch: &FetchRow<'_>) {
        let second = fetch.fetch_time.div_euclid(1_000);
        self.first_s = Some(self.first_s.map_or(second, |first| first.min(second)));
        self.last_s = Some(self.last_s.map_or(second, |last| last.max(second)));
        let failed = !matches!(fetch.outcome, "ok" | "not_modified" | "redirect");
        let span = Span { fetches: 1, failed: u64::from(failed), bytes: fetch.content_length };
        self.add(second >> self.log2_s, span);
    }

    fn merge(&mut self, mut other: FetchesOverTime) {
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
        let row = |(number, span): (&i64, &Span)| -> Vec<StatisticValue> {
            let start = number << log2_s;
            vec![
                StatisticValue::Integer(start),
                span.fetches.into(),
                span.failed.into(),
                StatisticValue::Integer(span.bytes),
            ]
        };
        Statistic {
            name: NAME.to_owned(),
            columns: COLUMNS.map(str::to_owned).to_vec(),
            rows: self.spans.iter().map(row).collect(),
            power_law_fit: None,
            summary: BTreeMap::from([("span_s".to_owned(), (1i64 << log2_s) as f64)]),
        }
    }
}

pub(super) fn description() -> Description {
    let sql = format!(
        "with t as (select cast(floor(extract(epoch from fetch_time)) as bigint) as s, outcome, content_length from fetches), \
         w as (select cast(power(2, greatest(0, floor(log2(greatest(1, max(s) - min(s)) / {MAX_SPANS}.0)) + 1)) as bigint) \
         as w from t) \
         select cast(floor(s / cast(w as double)) as bigint) * w as start, count(*) as fetches, \
         sum(case when outcome in ('ok', 'not_modified', 'redirect') then 0 else 1 end) as failed, \
         sum(content_length) as bytes from t cross join w group by 1 order by 1"
    );
    Description {
        name: NAME,
        columns: COLUMNS.map(str::to_owned).to_vec(),
        meaning:
            "Fetches, failed fetches and bytes by time: spans of `span_s` seconds (in `summary`) that start at \
            `start` in Unix seconds."
                .to_owned(),
        sql,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fetch_at(fetch_time: i64) -> FetchRow<'static> {
        FetchRow {
            fetch_time,
            fetch_status: 200,
            outcome: if fetch_time % 3 == 0 { "no_response" } else { "ok" },
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
            let (mut first, mut second, mut at_once) = (FetchesOverTime::default(), FetchesOverTime::default(), FetchesOverTime::default());
            for (index, time) in times.iter().enumerate() {
                if index < cut { first.fetch(&fetch_at(*time)) } else { second.fetch(&fetch_at(*time)) }
                at_once.fetch(&fetch_at(times[times.len() - 1 - index]));
            }
            first.merge(second);
            let (found, at_once) = (first.finish(), at_once.finish());
            prop_assert_eq!(&found, &at_once);
            prop_assert!(found.rows.len() <= MAX_SPANS as usize + 1);
            let fetches: f64 = found.rows.iter().filter_map(|row| row[1].as_f64()).sum();
            prop_assert_eq!(fetches, times.len() as f64);
        }
    }
}
