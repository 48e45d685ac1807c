//! A page that shows a comparison to somebody who was not there: what was found, the table, the pictures, the conditions.
//!
//! It needs nothing else, not even the pictures beside it.

use plot::escape;
use simulate::{Comparison, Entry, Experiment};

use super::{figures, sheet};

/// The page and the pictures that are in it.
pub(super) struct Page {
    pub(super) text: String,
    pub(super) pictures: Vec<(&'static str, String)>,
}

pub(super) fn page(comparison: &Comparison, what: &str, conditions: &[String]) -> Page {
    let pictures = figures::all(comparison, what);
    let figures: String = pictures.iter().map(|(_, svg)| format!("<figure>{svg}</figure>\n")).collect();
    let findings: String = findings(comparison)
        .iter()
        .map(|finding| format!("<p class=\"lead\">{}</p>\n", escape(finding)))
        .collect();
    let conditions: String =
        conditions.iter().map(|condition| format!("<li>{}</li>\n", escape(condition))).collect();
    let text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <title>Strategies compared</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>Strategies compared</h1>\n<p class=\"what\">On {what}</p>\n{findings}{figures}\
         <h2>All figures</h2>\n{table}<h2>How to read them</h2>\n{LEGEND}\
         <h2>Conditions</h2>\n<ul>\n{conditions}</ul>\n</main>\n</body>\n</html>\n",
        what = escape(what),
        table = table(comparison),
    );
    Page { text, pictures }
}

/// What a reader should take home.
fn findings(comparison: &Comparison) -> Vec<String> {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let best = |value: &dyn Fn(&Entry) -> Option<f64>| {
        let honest = comparison.entries.iter().filter(|entry| is_honest(entry));
        let with = honest.filter_map(|entry| Some((entry.experiment.as_str(), value(entry)?)));
        with.max_by(|a, b| a.1.total_cmp(&b.1))
    };
    let mut findings = Vec::new();
    if let Some((name, area)) = best(&|entry| entry.area_relative) {
        findings.push(format!("Best order: {name}, with {} of the omniscient order's area.", percent(area)));
    }
    let fresh = |entry: &Entry| entry.refresh.map(|refresh| refresh.freshness);
    if let Some((name, freshness)) = best(&fresh) {
        let oracle = comparison.entries.iter().find(|entry| entry.experiment == Experiment::OptimalRefresh);
        let share = oracle.and_then(fresh).map(|most| {
            format!(", {} of what can be had by who knows all change rates", percent(freshness / most))
        });
        findings.push(format!(
            "Freshest copies: {name}, with {} fresh{}.",
            percent(freshness),
            share.unwrap_or_default()
        ));
    }
    findings
}

/// Who knows nothing that a crawl could not.
fn is_honest(entry: &Entry) -> bool {
    !matches!(
        entry.experiment,
        Experiment::Omniscient | Experiment::OptimalRefresh | Experiment::Proportional
    )
}

fn table(comparison: &Comparison) -> String {
    let cells = |cells: &[String], tag: &str| -> String {
        cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect()
    };
    let rows: String = comparison
        .entries
        .iter()
        .map(|entry| {
            let class = if is_honest(entry) { "" } else { " class=\"oracle\"" };
            format!("<tr{class}>{}</tr>\n", cells(&sheet::answer(entry).cells(), "td"))
        })
        .collect();
    let heading = cells(&sheet::HEADING.map(str::to_owned), "th");
    format!(
        "<div class=\"wide\"><table>\n<thead><tr>{heading}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

const LEGEND: &str = "<dl>
<dt>area</dt><dd>The area under the curve of pages downloaded and PageRank downloaded with them, relative to the omniscient order: \
that order is bound to the same politeness and to the pages it has met, but knows the final PageRank of each.</dd>
<dt>at 10, 20, 50 %</dt><dd>How much of all PageRank had come with the first 10, 20 and 50 % of the pages.</dd>
<dt>H/T</dt><dd>Of the first fifth of the pages, how many are among as many with the most in-links.</dd>
<dt>τ</dt><dd>Kendall’s τ-b between the PageRank of those pages as it could be known then and as it is in the end.</dd>
<dt>fresh, age</dt><dd>How many copies are as their pages on average, and for how many days they have lacked a change, \
fresh ones counting 0.</dd>
<dt>in grey</dt><dd>Oracles know what no crawl can: the final PageRank, or all change rates.</dd>
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
