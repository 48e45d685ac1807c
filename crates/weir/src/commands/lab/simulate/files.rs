//! Output files of a simulation: CSV tables, SVG figures and an HTML page.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::Context;
use simulate::Comparison;

use super::html::Page;
use super::summary::{self, StrategyOutput};

/// File name of the HTML page.
pub(crate) const PAGE: &str = "comparison.html";

/// Writes all files into a directory, which is created if needed.
pub(crate) fn write(dir: &Path, comparison: &Comparison, page: &Page) -> anyhow::Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let write = |name: &str, text: &str| {
        let path = dir.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    for (name, svg) in &page.figures {
        write(name, svg)?;
    }
    write("table.csv", &table(comparison))?;
    write("curves.csv", &curves(comparison))?;
    write(PAGE, &page.text)
}

fn table(comparison: &Comparison) -> String {
    let mut csv =
        "strategy,relative_auc,pagerank_at_10,pagerank_at_20,pagerank_at_50,top_inlinks_share,kendall_tau,seconds_to_half,seconds_to_all,freshness,age_days,requests\n"
            .to_owned();
    for result in &comparison.results {
        let StrategyOutput {
            strategy,
            relative_auc,
            pagerank_at_10,
            pagerank_at_20,
            pagerank_at_50,
            top_inlinks_share,
            kendall_tau,
            seconds_to_half,
            seconds_to_all,
            freshness,
            age_days,
            requests,
        } = summary::output(result);
        let scores =
            [relative_auc, pagerank_at_10, pagerank_at_20, pagerank_at_50, top_inlinks_share, kendall_tau];
        let numbers = scores.into_iter().chain([seconds_to_half, seconds_to_all, freshness, age_days]);
        csv.push_str(strategy);
        for number in numbers {
            csv.push(',');
            // Writing to a string cannot fail.
            let _ = number.map_or(Ok(()), |number| write!(csv, "{number:.6}"));
        }
        csv.push(',');
        csv.push_str(&requests.map_or(String::new(), |requests| requests.to_string()));
        csv.push('\n');
    }
    csv
}

fn curves(comparison: &Comparison) -> String {
    let mut csv = "strategy,downloaded,pagerank\n".to_owned();
    let orders = comparison
        .results
        .iter()
        .filter_map(|result| Some((result.experiment.as_str(), result.order.as_ref()?.curve.as_slice())));
    let bound = [("upper-bound", comparison.upper_bound.as_slice())];
    for (name, points) in orders.chain(bound) {
        for (downloaded, rank) in points {
            let _ = writeln!(csv, "{name},{downloaded:.6},{rank:.6}");
        }
    }
    csv
}
