//! What is told about each strategy: one row of a table, or one object.

use serde::Serialize;
use simulate::{Comparison, Entry};

use crate::printer::{Meaning, Printer};
use crate::words::count;

/// Scripts rely on the names. What an experiment was not about is null.
#[derive(Serialize)]
pub(super) struct Answer {
    pub(super) strategy: &'static str,
    /// Area under the curve of downloads and PageRank, relative to that of the omniscient order.
    pub(super) area_relative: Option<f64>,
    /// The share of PageRank when 10, 20 and 50 % of the pages had come.
    pub(super) at_10: Option<f64>,
    pub(super) at_20: Option<f64>,
    pub(super) at_50: Option<f64>,
    /// Of the first 20 % of the pages, those that are among as many with the most in-links.
    pub(super) important_share: Option<f64>,
    /// Of their PageRank then and in the end.
    pub(super) kendall_tau: Option<f64>,
    /// How many seconds it took until half of the pages had come, and until all had.
    pub(super) seconds_half: Option<f64>,
    pub(super) seconds_all: Option<f64>,
    /// Share of the copies that are as their pages.
    pub(super) freshness: Option<f64>,
    /// In days.
    pub(super) age: Option<f64>,
    /// While freshness was measured.
    pub(super) requests: Option<u64>,
}

pub(super) fn answer(entry: &Entry) -> Answer {
    let order = entry.order.as_ref();
    let at = |index: usize| order.map(|order| order.at[index]);
    Answer {
        strategy: entry.experiment.as_str(),
        area_relative: entry.area_relative,
        at_10: at(0),
        at_20: at(1),
        at_50: at(2),
        important_share: order.map(|order| order.important_share),
        kendall_tau: order.map(|order| order.kendall_tau),
        seconds_half: order.map(|order| order.half_ms as f64 / 1_000.0),
        seconds_all: order.map(|order| order.all_ms as f64 / 1_000.0),
        freshness: entry.refresh.map(|refresh| refresh.freshness),
        age: entry.refresh.map(|refresh| refresh.age_days),
        requests: entry.refresh.map(|refresh| refresh.requests),
    }
}

impl Answer {
    /// The cells of a table for people.
    pub(super) fn cells(&self) -> [String; 10] {
        let percent =
            |share: Option<f64>| share.map_or("–".to_owned(), |share| format!("{:.1} %", share * 100.0));
        [
            self.strategy.to_owned(),
            percent(self.area_relative),
            percent(self.at_10),
            percent(self.at_20),
            percent(self.at_50),
            percent(self.important_share),
            self.kendall_tau.map_or("–".to_owned(), |tau| format!("{tau:.3}")),
            percent(self.freshness),
            self.age.map_or("–".to_owned(), |age| format!("{age:.1} d")),
            self.requests.map_or("–".to_owned(), count),
        ]
    }
}

/// What the columns are called.
pub(super) const HEADING: [&str; 10] =
    ["strategy", "area", "at 10 %", "at 20 %", "at 50 %", "H/T", "τ", "fresh", "age", "requests"];

/// The table at the terminal.
pub(super) fn print(comparison: &Comparison, what: &str, printer: &mut Printer) -> anyhow::Result<()> {
    printer.line(&format!("On {what}:\n"))?;
    printer.line(&printer.paint(Meaning::Aside, &row(&HEADING.map(str::to_owned))))?;
    for entry in &comparison.entries {
        printer.line(&row(&answer(entry).cells()))?;
    }
    let remark = "\narea: under the curve of pages and PageRank, of that of the omniscient order; at: the share of \
                  PageRank\nwhen so many pages had come; H/T: pages of the first 20 % that are among the most linked; \
                  τ: of their PageRank\nthen and in the end; fresh, age: of copies, with revisits after a year of learning";
    printer.line(&printer.paint(Meaning::Aside, remark))
}

fn row(cells: &[String; 10]) -> String {
    let [strategy, area, at_10, at_20, at_50, important, tau, fresh, age, requests] = cells;
    format!(
        "{strategy:18}  {area:>7}  {at_10:>7}  {at_20:>7}  {at_50:>7}  {important:>7}  {tau:>6}  {fresh:>7}  \
         {age:>7}  {requests:>9}"
    )
}
