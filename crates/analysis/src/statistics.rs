//! What is a Web like, in numbers? All statistics of a report, from one pass over each table.
//!
//! Each statistic is a list entry: what is counted of which rows, what that means, and the SQL that gives the same numbers
//! from the Parquet tables. Four kinds serve nearly all: counts by a key ([`groups`]), distributions ([`distribution`]), the
//! first rows by a number ([`top`]) and figures about all rows, which make the summary ([`sheet`]).
//!
//! docs/statistics.md is written from [`describe_statistics`].

mod copies;
mod distribution;
mod groups;
mod of_domains;
mod of_pages;
mod of_sites;
mod over_time;
mod query_lines;
mod sheet;
mod top;

use store::{Rows, Snapshot, Statistic, Value};

use crate::cores::Cores;
use crate::error::Result;
use crate::survey::{Survey, Surveyed, derived};
use copies::Copies;
use over_time::OverTime;
use query_lines::in_lines;
use sheet::{Filled, Sheet};

/// What a statistic is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Its name.
    pub name: &'static str,
    /// Its columns.
    pub columns: Vec<String>,
    /// What it tells.
    pub meaning: String,
    /// The query that gives the same rows.
    pub sql: String,
}

const SUMMARY: &str = "summary";
const DIVERSITY: &str = "diversity";
const DIVERSITY_COLUMNS: [&str; 6] = ["statistic", "kinds", "n", "shannon", "simpson", "largest_share"];

/// Computes all statistics of a commit whose tables are written.
pub(crate) fn compute_statistics(
    snapshot: &Snapshot,
    cores: Cores,
    told: &mut dyn FnMut(Surveyed),
) -> Result<Vec<Statistic>> {
    let (pages, sites) = (of_pages::sheet(), of_sites::sheet());
    let survey = Survey::open(snapshot, cores)?;
    let analyzers = (pages.blank(), sites.blank(), Copies::default(), OverTime::default());
    let (pages, sites, copies, over_time) = survey.run(&analyzers, told)?;
    let sheets = [
        pages,
        sites,
        fill(&of_domains::domains(), snapshot)?,
        fill(&of_domains::components(), snapshot)?,
        fill(&of_domains::outside(), snapshot)?,
        fill(&of_domains::files(), snapshot)?,
    ];
    let mut all = vec![Statistic::default(), Statistic::default()];
    let (mut figures, mut diversity) = (Vec::new(), Vec::new());
    for sheet in sheets {
        figures.extend(sheet.figures);
        diversity.extend(sheet.diversity);
        all.extend(sheet.statistics);
    }
    all[0] = small(SUMMARY, &["figure", "value"], figures);
    all[1] = small(DIVERSITY, &DIVERSITY_COLUMNS, diversity);
    all.extend(copies);
    all.push(over_time);
    Ok(all)
}

/// What all statistics are, in the order in which they are computed.
pub fn describe_statistics() -> Vec<Description> {
    let (pages, sites) = (of_pages::sheet(), of_sites::sheet());
    let (domains, components) = (of_domains::domains(), of_domains::components());
    let (outside, files) = (of_domains::outside(), of_domains::files());
    let summary = [
        pages.summary_sql(),
        sites.summary_sql(),
        domains.summary_sql(),
        components.summary_sql(),
        outside.summary_sql(),
    ];
    let diversity = [pages.diversity_sql(), sites.diversity_sql(), domains.diversity_sql()];
    let united = |queries: Vec<String>| queries.join(" union all ");
    let mut all = vec![
        Description {
            name: SUMMARY,
            columns: ["figure", "value"].map(str::to_owned).to_vec(),
            meaning: "The collection in a few figures; times are Unix seconds.".to_owned(),
            sql: united(summary.concat()),
        },
        Description {
            name: DIVERSITY,
            columns: DIVERSITY_COLUMNS.map(str::to_owned).to_vec(),
            meaning: "How evenly the first count of some statistics is spread over their kinds: how many kinds there are, how \
                many were counted, the entropy of Shannon (natural logarithm), the index of Simpson (the chance that two \
                are of different kinds), and the share of the largest. What is of no kind is left out."
                .to_owned(),
            sql: united(diversity.concat()),
        },
    ];
    all.extend(pages.describe());
    all.extend(sites.describe());
    all.extend(domains.describe());
    all.extend(components.describe());
    all.extend(outside.describe());
    all.extend(files.describe());
    all.extend(copies::descriptions());
    all.push(over_time::description());
    all.iter_mut().for_each(|description| description.sql = in_lines(&description.sql));
    all
}

fn fill<R: Rows>(sheet: &Sheet<R>, snapshot: &Snapshot) -> Result<Filled> {
    sheet.fill(&derived(snapshot)?)
}

fn small(name: &str, columns: &[&str], rows: Vec<Vec<Value>>) -> Statistic {
    let columns = columns.iter().map(|column| (*column).to_owned()).collect();
    Statistic { name: name.to_owned(), columns, rows, ..Statistic::default() }
}
