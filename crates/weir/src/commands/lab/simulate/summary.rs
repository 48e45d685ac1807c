//! Results of a simulation: one table row or one JSON object per strategy.

use serde::Serialize;
use simulate::{Comparison, ExperimentResult};

use crate::human;
use crate::output::{Printer, TextStyle};

/// JSON output: one strategy. Values that an experiment does not measure are null.
#[derive(Serialize)]
pub(crate) struct StrategyOutput {
    pub(crate) strategy: &'static str,
    /// Area under the curve of PageRank over pages downloaded, relative to the omniscient order.
    pub(crate) relative_auc: Option<f64>,
    /// Share of PageRank downloaded after 10, 20 and 50 % of the pages.
    pub(crate) pagerank_at_10: Option<f64>,
    pub(crate) pagerank_at_20: Option<f64>,
    pub(crate) pagerank_at_50: Option<f64>,
    /// Share of the first 20 % of the pages that are among the 20 % with the most inlinks.
    pub(crate) top_inlinks_share: Option<f64>,
    /// Kendall's τ-b between the PageRank of those pages at that time and at the end.
    pub(crate) kendall_tau: Option<f64>,
    /// Time until half of the pages, and until all pages, are downloaded.
    pub(crate) seconds_to_half: Option<f64>,
    pub(crate) seconds_to_all: Option<f64>,
    /// Mean share of fresh copies.
    pub(crate) freshness: Option<f64>,
    /// Mean age of the copies; fresh copies have age 0.
    pub(crate) age_days: Option<f64>,
    /// Requests while freshness was measured.
    pub(crate) requests: Option<u64>,
}

pub(crate) fn output(result: &ExperimentResult) -> StrategyOutput {
    let order = result.order.as_ref();
    let at = |index: usize| order.map(|order| order.pagerank_at[index]);
    StrategyOutput {
        strategy: result.experiment.as_str(),
        relative_auc: result.relative_auc,
        pagerank_at_10: at(0),
        pagerank_at_20: at(1),
        pagerank_at_50: at(2),
        top_inlinks_share: order.map(|order| order.top_inlinks_share),
        kendall_tau: order.map(|order| order.kendall_tau),
        seconds_to_half: order.map(|order| order.time_to_half_ms as f64 / 1_000.0),
        seconds_to_all: order.map(|order| order.time_to_all_ms as f64 / 1_000.0),
        freshness: result.refresh.map(|refresh| refresh.freshness),
        age_days: result.refresh.map(|refresh| refresh.age_days),
        requests: result.refresh.map(|refresh| refresh.requests),
    }
}

impl StrategyOutput {
    /// Cells of the text table.
    pub(crate) fn cells(&self) -> [String; 10] {
        let percent =
            |share: Option<f64>| share.map_or("–".to_owned(), |share| format!("{:.1} %", share * 100.0));
        [
            self.strategy.to_owned(),
            percent(self.relative_auc),
            percent(self.pagerank_at_10),
            percent(self.pagerank_at_20),
            percent(self.pagerank_at_50),
            percent(self.top_inlinks_share),
            self.kendall_tau.map_or("–".to_owned(), |tau| format!("{tau:.3}")),
            percent(self.freshness),
            self.age_days.map_or("–".to_owned(), |age| format!("{age:.1} d")),
            self.requests.map_or("–".to_owned(), human::number),
        ]
    }
}

/// Column headings.
pub(crate) const HEADING: [&str; 10] =
    ["strategy", "AUC", "PR@10 %", "PR@20 %", "PR@50 %", "H/T", "τ", "freshness", "age", "requests"];

/// Prints the text table.
pub(crate) fn print(comparison: &Comparison, title: &str, printer: &mut Printer) -> anyhow::Result<()> {
    printer.line(&format!(
        "Simulation on {title}:
"
    ))?;
    printer.line(&printer.style(TextStyle::Dim, &row(&HEADING.map(str::to_owned))))?;
    for result in &comparison.results {
        printer.line(&row(&output(result).cells()))?;
    }
    let remark = "\nAUC: area under the curve of PageRank over pages, relative to the omniscient order; PR@10 %: share of \
                  PageRank\nafter 10 % of the pages; H/T: share of the first 20 % of the pages that are among the most linked; \
                  τ: Kendall's τ-b\nbetween their PageRank at that time and at the end; freshness, age: of copies, measured after a year of learning";
    printer.line(&printer.style(TextStyle::Dim, remark))
}

fn row(cells: &[String; 10]) -> String {
    let [strategy, auc, at_10, at_20, at_50, top_inlinks, tau, freshness, age, requests] = cells;
    format!(
        "{strategy:18}  {auc:>7}  {at_10:>7}  {at_20:>7}  {at_50:>7}  {top_inlinks:>7}  {tau:>6}  {freshness:>9}  \
         {age:>7}  {requests:>9}"
    )
}
