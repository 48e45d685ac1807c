//! Self-contained HTML page of a simulation: findings, figures, table, parameters.

use plot::escape;
use simulate::{Comparison, Experiment, ExperimentResult};

use super::{figures, summary};

/// Generator named in the page, by which a later simulation recognises an earlier one.
pub(crate) const GENERATOR: &str = "weir simulate";

/// HTML page and its figures, each with a file name.
pub(crate) struct Page {
    pub(crate) text: String,
    pub(crate) figures: Vec<(&'static str, String)>,
}

pub(crate) fn page(comparison: &Comparison, title: &str, conditions: &[String]) -> Page {
    let figures = figures::all(comparison, title);
    let figures_html: String = figures.iter().map(|(_, svg)| format!("<figure>{svg}</figure>\n")).collect();
    let findings: String = findings(comparison)
        .iter()
        .map(|finding| format!("<p class=\"lead\">{}</p>\n", escape(finding)))
        .collect();
    let conditions: String =
        conditions.iter().map(|condition| format!("<li>{}</li>\n", escape(condition))).collect();
    let text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"generator\" content=\"{GENERATOR}\">\n\
         <title>Comparison of crawl strategies</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>Comparison of crawl strategies</h1>\n<p class=\"what\">Simulation on {title}</p>\n{findings}{figures_html}\
         <h2>Results</h2>\n{table}<h2>Legend</h2>\n{LEGEND}\
         <h2>Parameters</h2>\n<ul>\n{conditions}</ul>\n</main>\n</body>\n</html>\n",
        title = escape(title),
        table = table(comparison),
    );
    Page { text, figures }
}

/// Main findings.
fn findings(comparison: &Comparison) -> Vec<String> {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let best = |value: &dyn Fn(&ExperimentResult) -> Option<f64>| {
        let feasible = comparison.results.iter().filter(|result| is_feasible(result));
        let with = feasible.filter_map(|result| Some((result.experiment.as_str(), value(result)?)));
        with.max_by(|a, b| a.1.total_cmp(&b.1))
    };
    let mut findings = Vec::new();
    if let Some((name, area)) = best(&|result| result.relative_auc) {
        findings.push(format!("Best order: {name}, AUC {} of the omniscient order.", percent(area)));
    }
    let fresh = |result: &ExperimentResult| result.refresh.map(|refresh| refresh.freshness);
    if let Some((name, freshness)) = best(&fresh) {
        let oracle = comparison.results.iter().find(|result| result.experiment == Experiment::OptimalRefresh);
        let share = oracle
            .and_then(fresh)
            .map(|best| format!(", {} of the optimum with known change rates", percent(freshness / best)));
        findings.push(format!(
            "Best refresh policy: {name}, freshness {}{}.",
            percent(freshness),
            share.unwrap_or_default()
        ));
    }
    findings
}

/// Whether the strategy uses only information that a crawl has.
fn is_feasible(result: &ExperimentResult) -> bool {
    !matches!(
        result.experiment,
        Experiment::Omniscient | Experiment::OptimalRefresh | Experiment::Proportional
    )
}

fn table(comparison: &Comparison) -> String {
    let cells = |cells: &[String], tag: &str| -> String {
        cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect()
    };
    let rows: String = comparison
        .results
        .iter()
        .map(|result| {
            let class = if is_feasible(result) { "" } else { " class=\"oracle\"" };
            format!("<tr{class}>{}</tr>\n", cells(&summary::output(result).cells(), "td"))
        })
        .collect();
    let heading = cells(&summary::HEADING.map(str::to_owned), "th");
    format!(
        "<div class=\"wide\"><table>\n<thead><tr>{heading}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

const LEGEND: &str = "<dl>
<dt>AUC</dt><dd>Area under the curve of PageRank over pages downloaded, relative to the omniscient order, which obeys the same \
politeness and sees only discovered pages, but knows their final PageRank.</dd>
<dt>PR@10, 20, 50 %</dt><dd>Share of PageRank downloaded with the first 10, 20 and 50 % of the pages.</dd>
<dt>H/T</dt><dd>Share of the first 20 % of the pages that are among the 20 % with the most inlinks.</dd>
<dt>τ</dt><dd>Kendall’s τ-b between the PageRank of those pages at that time and at the end.</dd>
<dt>freshness, age</dt><dd>Mean share of fresh copies, and mean time in days since a copy became outdated; fresh copies have age 0.</dd>
<dt>in grey</dt><dd>Oracles, which know the final PageRank or all change rates.</dd>
</dl>
";

const STYLE: &str = "
:root{color-scheme:light dark;--ground:#fff;--ink:#1c2024;--dim:#5d6670;--rule:#e4e7eb}
@media (prefers-color-scheme:dark){:root{--ground:#14171a;--ink:#e6e9ec;--dim:#9aa4ae;--rule:#2b3138}}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',Arial,sans-serif}
main{max-width:48rem;margin:0 auto;padding:2.5rem 1.25rem 4rem}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .3rem}
h2{font-size:1.15rem;margin:2.6rem 0 .6rem}
.what{color:var(--dim);margin:0 0 1.6rem}
.lead{font-size:1.15rem;margin:.3rem 0}
figure{margin:2rem 0}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.82rem;font-variant-numeric:tabular-nums;white-space:nowrap;width:100%}
th,td{padding:.34rem .5rem;text-align:right;border-bottom:1px solid var(--rule)}
th{color:var(--dim);font-weight:500}
th:first-child,td:first-child{text-align:left;padding-left:0}
.oracle td{color:var(--dim)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.35rem 1.2rem;font-size:.92rem;margin:0}
dt{color:var(--dim)}
dd{margin:0}
li{margin:.2rem 0;font-size:.92rem}
ul{padding-left:1.1rem;margin:0}
";
