//! Definition of a figure: its file in `figures/` states the statistic, the kind of drawing, and the texts. The query
//! that returns the same numbers belongs to the statistic.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::format::Format;

/// One figure or table of the report.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Name of its file, and of its files in the report.
    #[serde(skip)]
    pub name: String,
    /// Section of the report.
    pub section: Section,
    /// Heading.
    pub title: String,
    /// Name of the statistic; empty for a custom figure.
    #[serde(default)]
    pub statistic: String,
    /// Sentences of the caption. A sentence with a missing number, such as `{mean}`, is omitted.
    #[serde(default)]
    pub caption: Vec<String>,
    /// Text if there are no data.
    #[serde(default = "default_empty_text")]
    pub empty: String,
    /// Kind of drawing.
    pub draw: Drawing,
}

/// A section of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the names are self-explanatory")]
pub enum Section {
    Summary,
    Pages,
    Links,
    Sites,
    Domains,
    Structure,
    Ranking,
    Change,
    Crawl,
}

impl Section {
    /// All sections, in the order of the report.
    pub const ALL: [Section; 9] = [
        Section::Summary,
        Section::Pages,
        Section::Links,
        Section::Sites,
        Section::Domains,
        Section::Structure,
        Section::Ranking,
        Section::Change,
        Section::Crawl,
    ];

    /// Name in definitions and in ids of the page.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Section::Summary => "summary",
            Section::Pages => "pages",
            Section::Links => "links",
            Section::Sites => "sites",
            Section::Domains => "domains",
            Section::Structure => "structure",
            Section::Ranking => "ranking",
            Section::Change => "change",
            Section::Crawl => "crawl",
        }
    }

    /// Heading.
    pub fn title(self) -> &'static str {
        match self {
            Section::Summary => "Summary",
            Section::Pages => "Pages",
            Section::Links => "Links",
            Section::Sites => "Sites",
            Section::Domains => "Domains",
            Section::Structure => "Structure",
            Section::Ranking => "Ranking",
            Section::Change => "Change rates",
            Section::Crawl => "Crawl",
        }
    }
}

/// Kind of drawing. Fields named after columns contain column names of the statistic.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Drawing {
    /// One bar per row.
    Bars(BarsSpec),
    /// A histogram, and the share at or above each value, with the power-law fit.
    Distribution(DistributionSpec),
    /// Lines over one column.
    Lines(LinesSpec),
    /// The bow tie of the link graph.
    BowTie(BowTieSpec),
    /// The rows as a table.
    Table(TableSpec),
    /// Selected rows of names and numbers, each with a title.
    Summary(SummarySpec),
}

impl Drawing {
    /// Columns that the statistic must have.
    pub fn columns(&self) -> Vec<&str> {
        match self {
            Drawing::Bars(spec) => vec![&spec.name, &spec.value],
            Drawing::Distribution(spec) => vec!["from", "to", &spec.of, "ccdf"],
            Drawing::Lines(spec) => {
                spec.lines.iter().map(|line| line.column.as_str()).chain([spec.x.as_str()]).collect()
            }
            Drawing::BowTie(spec) => vec![&spec.part, &spec.count],
            Drawing::Table(spec) => spec.columns.iter().map(|column| column.column.as_str()).collect(),
            Drawing::Summary(spec) => vec![&spec.name, &spec.value],
        }
    }
}

/// Bars.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BarsSpec {
    /// Column of the names.
    pub name: String,
    /// Column of the values.
    pub value: String,
    /// Axis label.
    pub axis: String,
    /// Whether values are shown as shares of their sum.
    #[serde(default)]
    pub shares: bool,
    /// Labels for some names; `none` for a missing name.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Format of values that are not shares.
    #[serde(default)]
    pub format: Format,
    /// Maximum number of bars; one more shows the sum of the rest.
    #[serde(default = "default_max_bars")]
    pub max_bars: usize,
}

/// A distribution.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DistributionSpec {
    /// Label of the values, with unit.
    pub x: String,
    /// Name of the counted objects, also the column of counts: `pages`.
    pub of: String,
    /// Whether all values are integers.
    #[serde(default)]
    pub integers: bool,
    /// Kind of histogram.
    #[serde(default)]
    pub histogram: Histogram,
    /// Format of the values.
    #[serde(default)]
    pub format: Format,
}

/// Scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleSpec {
    /// Linear.
    #[default]
    Linear,
    /// Logarithmic.
    Log,
}

/// Kind of histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Histogram {
    /// Share of each bin.
    #[default]
    Shares,
    /// Share per unit of the value, on logarithmic axes: a power law is a straight line.
    Density,
}

/// Lines.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinesSpec {
    /// Column of the x axis.
    pub x: String,
    /// Label of the x axis, with unit; without it the column is Unix time in seconds, shown from the first value.
    #[serde(default)]
    pub x_axis: Option<String>,
    /// Label of the y axis, with unit.
    pub y_axis: String,
    /// The columns, each with the name of its line.
    pub lines: Vec<LineSpec>,
    /// Summary value of the statistic by which values are divided: the seconds that a row covers.
    #[serde(default)]
    pub per: Option<String>,
    /// Format of the values.
    #[serde(default)]
    pub format: Format,
    /// Scale of the y axis.
    #[serde(default)]
    pub scale: ScaleSpec,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineSpec {
    /// The column.
    pub column: String,
    /// Name at the end of the line; not needed for a single line.
    #[serde(default)]
    pub name: String,
}

/// A bow tie.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BowTieSpec {
    /// Column of the names of the parts.
    pub part: String,
    /// Column of the counts.
    pub count: String,
    /// Name of the counted objects: `pages`.
    pub of: String,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// Columns.
    pub columns: Vec<ColumnSpec>,
    /// Maximum number of rows.
    #[serde(default = "default_max_rows")]
    pub max_rows: usize,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnSpec {
    /// Column of the statistic.
    pub column: String,
    /// Heading.
    pub title: String,
    /// Format of the values.
    #[serde(default)]
    pub format: Format,
}

/// A table of selected rows.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SummarySpec {
    /// Column of the names.
    pub name: String,
    /// Column of the numbers.
    pub value: String,
    /// Rows, in order.
    pub rows: Vec<RowSpec>,
}

/// A row of a summary.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowSpec {
    /// Name in the statistic.
    pub name: String,
    /// Label.
    pub title: String,
    /// Format of the number.
    #[serde(default)]
    pub format: Format,
}

fn default_max_bars() -> usize {
    15
}

fn default_max_rows() -> usize {
    25
}

fn default_empty_text() -> String {
    "No data.".to_owned()
}

impl Figure {
    /// Parses the definition of a figure with a statistic.
    pub fn parse(name: &str, text: &str) -> Result<Figure> {
        let figure = Figure::read(name, text)?;
        if figure.statistic.is_empty() {
            let reason = "missing `statistic`".to_owned();
            return Err(Error::Figure { name: name.to_owned(), reason });
        }
        Ok(figure)
    }

    /// Parses a definition, with or without a statistic.
    pub(crate) fn read(name: &str, text: &str) -> Result<Figure> {
        let figure: Figure = toml::from_str(text)
            .map_err(|error| Error::Figure { name: name.to_owned(), reason: one_line(&error, text) })?;
        Ok(Figure { name: name.to_owned(), ..figure })
    }
}

/// Error message in one line, after the line number.
fn one_line(error: &toml::de::Error, text: &str) -> String {
    let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
    // A missing field has no position: its span is the whole text.
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
    fn errors_name_the_figure() {
        let error = Figure::parse("depth", "title = \"Depth\"\nsecton = 1").unwrap_err().to_string();
        assert!(error.contains("`depth`") && error.contains("secton"), "{error}");
    }
}
