//! What does a figure say of itself? Its file in `figures/`: which statistic it shows, how it is drawn, its words. The query
//! that gives the same numbers belongs to the statistic, and comes with it.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::format::Format;

/// One figure or table of the report.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The name of its file, and of its files in the report.
    #[serde(skip)]
    pub name: String,
    /// Where in the report it stands.
    pub section: Section,
    /// Its heading.
    pub title: String,
    /// The statistic that it shows; a figure with a query of its own names none.
    #[serde(default)]
    pub statistic: String,
    /// Sentences beneath it. One with a number that is not there, such as `{mean}`, is left out.
    #[serde(default)]
    pub caption: Vec<String>,
    /// What is said instead if there is nothing to show.
    #[serde(default = "nothing")]
    pub empty: String,
    /// How it is drawn.
    pub draw: Drawing,
}

/// A part of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "they are called what they are")]
pub enum Section {
    Summary,
    Pages,
    Links,
    Sites,
    Domains,
    Structure,
    Importance,
    Change,
    Crawl,
}

impl Section {
    /// All, in the order of the report.
    pub const ALL: [Section; 9] = [
        Section::Summary,
        Section::Pages,
        Section::Links,
        Section::Sites,
        Section::Domains,
        Section::Structure,
        Section::Importance,
        Section::Change,
        Section::Crawl,
    ];

    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Section::Summary => "Summary",
            Section::Pages => "Pages",
            Section::Links => "Links",
            Section::Sites => "Sites",
            Section::Domains => "Domains",
            Section::Structure => "Structure",
            Section::Importance => "Importance",
            Section::Change => "Change",
            Section::Crawl => "Crawl",
        }
    }
}

/// How a statistic is drawn. Fields that are called after columns name columns of the statistic.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Drawing {
    /// A bar for each row.
    Bars(BarsOf),
    /// A histogram and how many lie above each value, with the power law that fits.
    Distribution(DistributionOf),
    /// Lines over one column.
    Lines(LinesOf),
    /// The bow tie of the link graph.
    BowTie(BowTieOf),
    /// The rows as they are.
    Table(TableOf),
    /// Chosen rows of names and numbers, each with its own words.
    Summary(SummaryOf),
}

impl Drawing {
    /// The columns that the statistic has to have.
    pub fn columns(&self) -> Vec<&str> {
        match self {
            Drawing::Bars(of) => vec![&of.name, &of.value],
            Drawing::Distribution(of) => vec!["from", "to", &of.of, "ccdf"],
            Drawing::Lines(of) => {
                of.lines.iter().map(|line| line.column.as_str()).chain([of.x.as_str()]).collect()
            }
            Drawing::BowTie(of) => vec![&of.part, &of.count],
            Drawing::Table(of) => of.columns.iter().map(|column| column.column.as_str()).collect(),
            Drawing::Summary(of) => vec![&of.name, &of.value],
        }
    }
}

/// Bars.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BarsOf {
    /// The column of the names.
    pub name: String,
    /// The column of the lengths.
    pub value: String,
    /// What they measure.
    pub axis: String,
    /// Whether they are shown as shares of their sum.
    #[serde(default)]
    pub shares: bool,
    /// What is written for some names; for a name that is not there, `none`.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// How lengths that are no shares are written.
    #[serde(default)]
    pub format: Format,
    /// So many at most; the sum of the rest is one more.
    #[serde(default = "most_bars")]
    pub most: usize,
}

/// A distribution.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DistributionOf {
    /// The values, with their unit.
    pub x: String,
    /// What has them, which is also the column of how many: `pages`.
    pub of: String,
    /// Whether values are whole numbers.
    #[serde(default)]
    pub whole: bool,
    /// What the histogram shows.
    #[serde(default)]
    pub histogram: Histogram,
    /// How values are written.
    #[serde(default)]
    pub format: Format,
}

/// How values become places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleOf {
    /// Equal steps are equally long.
    #[default]
    Linear,
    /// Equal factors are.
    Log,
}

/// What a histogram shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Histogram {
    /// The share in each bin.
    #[default]
    Shares,
    /// The share for each unit of the value, logarithmic: a power law is straight.
    Density,
}

/// Lines.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinesOf {
    /// The column from left to right.
    pub x: String,
    /// What that is, with its unit; without it the column is Unix time in seconds, shown from the first on.
    #[serde(default)]
    pub x_axis: Option<String>,
    /// What the lines measure, with its unit.
    pub y_axis: String,
    /// The columns, each with the name of its line.
    pub lines: Vec<LineOf>,
    /// The note of the statistic that values are divided by: how many seconds a row is about.
    #[serde(default)]
    pub per: Option<String>,
    /// How the values of the lines are written.
    #[serde(default)]
    pub format: Format,
    /// How they lie on their axis.
    #[serde(default)]
    pub scale: ScaleOf,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineOf {
    /// The column.
    pub column: String,
    /// The name at its end; it needs none if it is the only one.
    #[serde(default)]
    pub name: String,
}

/// A bow tie.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BowTieOf {
    /// The column of the parts' names.
    pub part: String,
    /// The column of how many belong to it.
    pub count: String,
    /// What they are: `pages`.
    pub of: String,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableOf {
    /// The columns that are shown.
    pub columns: Vec<ColumnOf>,
    /// So many rows at most.
    #[serde(default = "most_rows")]
    pub most: usize,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnOf {
    /// Of the statistic.
    pub column: String,
    /// Its heading.
    pub title: String,
    /// How its values are written.
    #[serde(default)]
    pub format: Format,
}

/// A table of chosen rows.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SummaryOf {
    /// The column of the names.
    pub name: String,
    /// The column of the numbers.
    pub value: String,
    /// The rows that are shown.
    pub rows: Vec<RowOf>,
}

/// A row of a summary.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowOf {
    /// Its name in the statistic.
    pub name: String,
    /// What is written.
    pub title: String,
    /// How its number is.
    #[serde(default)]
    pub format: Format,
}

fn most_bars() -> usize {
    15
}

fn most_rows() -> usize {
    25
}

fn nothing() -> String {
    "There is nothing to show.".to_owned()
}

impl Figure {
    /// Reads the file of a figure that shows a statistic.
    pub fn parse(name: &str, text: &str) -> Result<Figure> {
        let figure = Figure::read(name, text)?;
        if figure.statistic.is_empty() {
            let reason = "it names no `statistic`".to_owned();
            return Err(Error::Figure { name: name.to_owned(), reason });
        }
        Ok(figure)
    }

    /// Reads what is said of a figure, with a statistic or without.
    pub(crate) fn read(name: &str, text: &str) -> Result<Figure> {
        let figure: Figure = toml::from_str(text)
            .map_err(|error| Error::Figure { name: name.to_owned(), reason: one_line(&error, text) })?;
        Ok(Figure { name: name.to_owned(), ..figure })
    }
}

/// What is wrong, after the line where it is.
fn one_line(error: &toml::de::Error, text: &str) -> String {
    let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
    // What is missing has no place: its span is all there is.
    let begin = error.span().map(|span| span.start).filter(|begin| *begin > 0);
    match begin.and_then(|begin| text.get(..begin)) {
        Some(before) => format!("line {}: {message}", before.matches('\n').count() + 1),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_file_is_told_by_name() {
        let error = Figure::parse("depth", "title = \"Depth\"\nsecton = 1").unwrap_err().to_string();
        assert!(error.contains("`depth`") && error.contains("secton"), "{error}");
    }
}
