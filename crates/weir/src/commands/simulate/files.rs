//! Where a comparison is kept: tables as CSV, pictures as SVG, and a page with all of it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::Context;
use simulate::Comparison;

use super::html::Page;
use super::sheet::{self, Answer};

/// The page to begin with.
pub(super) const PAGE: &str = "comparison.html";

/// Writes all files of a comparison into a folder, which is made if it is not there.
pub(super) fn write(folder: &Path, comparison: &Comparison, page: &Page) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let put = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    for (name, svg) in &page.pictures {
        put(name, svg)?;
    }
    put("table.csv", &table(comparison))?;
    put("curves.csv", &curves(comparison))?;
    put(PAGE, &page.text)
}

fn table(comparison: &Comparison) -> String {
    let mut csv =
        "strategy,area_relative,at_10,at_20,at_50,important_share,kendall_tau,seconds_half,seconds_all,freshness,age,requests\n"
            .to_owned();
    for entry in &comparison.entries {
        let Answer {
            strategy,
            area_relative,
            at_10,
            at_20,
            at_50,
            important_share,
            kendall_tau,
            seconds_half,
            seconds_all,
            freshness,
            age,
            requests,
        } = sheet::answer(entry);
        let scores = [area_relative, at_10, at_20, at_50, important_share, kendall_tau];
        let numbers = scores.into_iter().chain([seconds_half, seconds_all, freshness, age]);
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
        .entries
        .iter()
        .filter_map(|entry| Some((entry.experiment.as_str(), entry.order.as_ref()?.curve.as_slice())));
    let bound = [("bound", comparison.ceiling.as_slice())];
    for (name, points) in orders.chain(bound) {
        for (downloaded, rank) in points {
            let _ = writeln!(csv, "{name},{downloaded:.6},{rank:.6}");
        }
    }
    csv
}
