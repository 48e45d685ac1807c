//! Statistics of a collection for the report, computed in one pass over each table.
//!
//! Each statistic is a list entry: what is counted in which rows, its meaning, and the SQL query that returns the same
//! numbers from the Parquet tables. Nearly all are of four kinds: counts by a key ([`groups`]), distributions
//! ([`distribution`]), the top rows by a number ([`top`]), and figures about all rows, which form the summary
//! ([`table_statistics`]).
//!
//! docs/statistics.md is generated from [`describe_statistics`].

mod description;
mod distribution;
mod domain_statistics;
mod duplicate_clusters;
mod fetches_over_time;
mod format_sql;
mod groups;
mod page_statistics;
mod site_statistics;
mod table_statistics;
mod top;

use store::{Rows, Snapshot, Statistic, StatisticValue};

use crate::error::Result;
use crate::scan::table_scan::{ScanProgress, TableScan, open_derived};
use crate::threads::Threads;
use duplicate_clusters::DuplicateClusters;
use fetches_over_time::FetchesOverTime;
use format_sql::format_sql;
use table_statistics::{Results, TableStatistics};

pub use description::Description;

const SUMMARY: &str = "summary";
const DIVERSITY: &str = "diversity";
const DIVERSITY_COLUMNS: [&str; 6] = ["statistic", "kinds", "n", "shannon", "simpson", "largest_share"];

/// Computes all statistics of a commit whose tables are written.
pub(crate) fn compute_statistics(
    snapshot: &Snapshot,
    threads: Threads,
    on_progress: &mut dyn FnMut(ScanProgress),
) -> Result<Vec<Statistic>> {
    let (pages, sites) = (page_statistics::page_statistics(), site_statistics::site_statistics());
    let scan = TableScan::open(snapshot, threads)?;
    let analyzers =
        (pages.start_pass(), sites.start_pass(), DuplicateClusters::default(), FetchesOverTime::default());
    let (pages, sites, clusters, over_time) = scan.run(&analyzers, on_progress)?;
    let results = [
        pages,
        sites,
        compute(&domain_statistics::domains(), snapshot)?,
        compute(&domain_statistics::components(), snapshot)?,
        compute(&domain_statistics::rejected_links(), snapshot)?,
        compute(&domain_statistics::files(), snapshot)?,
    ];
    let mut all = vec![Statistic::default(), Statistic::default()];
    let (mut figures, mut diversity) = (Vec::new(), Vec::new());
    for table in results {
        figures.extend(table.figures);
        diversity.extend(table.diversity);
        all.extend(table.statistics);
    }
    all[0] = small_statistic(SUMMARY, &["figure", "value"], figures);
    all[1] = small_statistic(DIVERSITY, &DIVERSITY_COLUMNS, diversity);
    all.extend(clusters);
    all.push(over_time);
    Ok(all)
}

/// Descriptions of all statistics, in the order in which they are computed.
pub fn describe_statistics() -> Vec<Description> {
    let (pages, sites) = (page_statistics::page_statistics(), site_statistics::site_statistics());
    let (domains, components) = (domain_statistics::domains(), domain_statistics::components());
    let (rejected, files) = (domain_statistics::rejected_links(), domain_statistics::files());
    let summary = [
        pages.summary_sql(),
        sites.summary_sql(),
        domains.summary_sql(),
        components.summary_sql(),
        rejected.summary_sql(),
    ];
    let diversity = [pages.diversity_sql(), sites.diversity_sql(), domains.diversity_sql()];
    let united = |queries: Vec<String>| queries.join(" union all ");
    let mut all = vec![
        Description {
            name: SUMMARY,
            columns: ["figure", "value"].map(str::to_owned).to_vec(),
            meaning: "Summary of the collection; times are Unix seconds.".to_owned(),
            sql: united(summary.concat()),
        },
        Description {
            name: DIVERSITY,
            columns: DIVERSITY_COLUMNS.map(str::to_owned).to_vec(),
            meaning: "Diversity of pages, sites and domains by kind, such as language or MIME type: number of kinds, number of rows, \
                Shannon entropy (natural logarithm), Simpson index (the probability that two random rows are of different kinds), \
                and the share of the largest kind. Rows without a kind are not counted."
                .to_owned(),
            sql: united(diversity.concat()),
        },
    ];
    all.extend(pages.describe());
    all.extend(sites.describe());
    all.extend(domains.describe());
    all.extend(components.describe());
    all.extend(rejected.describe());
    all.extend(files.describe());
    all.extend(duplicate_clusters::descriptions());
    all.push(fetches_over_time::description());
    all.iter_mut().for_each(|description| description.sql = format_sql(&description.sql));
    all
}

fn compute<R: Rows>(sheet: &TableStatistics<R>, snapshot: &Snapshot) -> Result<Results> {
    sheet.compute(&open_derived(snapshot)?)
}

fn small_statistic(name: &str, columns: &[&str], rows: Vec<Vec<StatisticValue>>) -> Statistic {
    let columns = columns.iter().map(|column| (*column).to_owned()).collect();
    Statistic { name: name.to_owned(), columns, rows, ..Statistic::default() }
}
