//! The contents of a report: for each figure its rendering, caption, query and data.

use store::{Statistic, StatisticValue};

use crate::caption::caption;
use crate::csv::csv;
use crate::custom_figure::CustomFigure;
use crate::error::Result;
use crate::figure::{Drawing, Figure, Section};
use crate::figures::figures;
use crate::file_names::{compared_name, csv_name};
use crate::render::{Rendered, render};
use crate::report_input::ReportInput;
use crate::table::Table;

/// Maximum number of rows of numbers below a figure; the CSV file has all of them.
const MAX_NUMBER_ROWS: usize = 100;

/// A report of one collection, or of two side by side.
#[derive(Debug, Clone)]
pub struct Report {
    /// Title.
    pub title: String,
    /// The collections.
    pub inputs: Vec<ReportInput>,
    /// Figures in the order of the report.
    pub entries: Vec<ReportEntry>,
}

/// A figure with its rendering, caption and data.
#[derive(Debug, Clone)]
pub struct ReportEntry {
    /// Definition of the figure.
    pub figure: Figure,
    pub(crate) rendered: Rendered,
    pub(crate) caption: Vec<String>,
    pub(crate) query: Option<String>,
    /// The numbers of a drawing, as a table.
    pub(crate) numbers: Option<Table>,
    /// Name without extension, and content, of each CSV file.
    pub(crate) csv: Vec<(String, String)>,
}

impl Report {
    /// Renders all figures; custom figures come last in their sections. `query` returns the SQL query of a statistic.
    pub fn new(
        title: &str,
        inputs: Vec<ReportInput>,
        custom: Vec<CustomFigure>,
        query: impl Fn(&str) -> Option<String>,
    ) -> Result<Report> {
        let entry = |figure: Figure| ReportEntry {
            query: query(&figure.statistic),
            ..ReportEntry::new(figure, &inputs)
        };
        let own = custom.into_iter().map(|CustomFigure { figure, query }| ReportEntry {
            query: Some(query),
            ..ReportEntry::new(figure, &inputs)
        });
        let mut entries: Vec<ReportEntry> = figures()?.into_iter().map(entry).chain(own).collect();
        entries.sort_by_key(|entry| entry.figure.section);
        Ok(Report { title: title.to_owned(), inputs, entries })
    }

    /// Number of figures without data.
    pub fn empty_figures(&self) -> usize {
        self.entries.iter().filter(|entry| entry.rendered == Rendered::Empty).count()
    }

    /// Content of a CSV file, by file name.
    pub fn csv(&self, file: &str) -> Option<&str> {
        let files = self.entries.iter().flat_map(|entry| &entry.csv);
        files.into_iter().find(|(name, _)| csv_name(name) == file).map(|(_, text)| text.as_str())
    }

    /// Fails: this build has no PDF support.
    #[cfg(not(feature = "pdf"))]
    pub fn write_pdf(&self, _dir: &std::path::Path) -> Result<std::path::PathBuf> {
        Err(crate::Error::Pdf { reason: "this build has no PDF support".to_owned() })
    }

    /// The sections that are not empty, with their figures.
    pub(crate) fn sections(&self) -> impl Iterator<Item = (Section, Vec<&ReportEntry>)> {
        let of = |section| -> Vec<&ReportEntry> {
            self.entries.iter().filter(|entry| entry.figure.section == section).collect()
        };
        Section::ALL.into_iter().map(move |section| (section, of(section))).filter(|(_, all)| !all.is_empty())
    }
}

/// Whether a distribution has positive values that are only too similar to be drawn.
fn has_values(figure: &Figure, inputs: &[(&str, &Statistic)]) -> bool {
    let is_some = |row: &Vec<StatisticValue>| {
        row.first().and_then(StatisticValue::as_f64).is_some_and(|from| from > 0.0)
    };
    matches!(figure.draw, Drawing::Distribution(_))
        && inputs.iter().any(|(_, statistic)| statistic.rows.iter().any(is_some))
}

impl ReportEntry {
    fn new(figure: Figure, inputs: &[ReportInput]) -> ReportEntry {
        let all: Vec<(&str, Option<&Statistic>)> =
            inputs.iter().map(|side| (side.name.as_str(), side.statistic(&figure.statistic))).collect();
        // An input without data keeps its position, name and colour next to one with data.
        let columns = all.iter().find_map(|(_, statistic)| *statistic).map(|known| known.columns.clone());
        let nothing = Statistic { columns: columns.clone().unwrap_or_default(), ..Statistic::default() };
        let labelled: Vec<(&str, &Statistic)> = match columns {
            Some(_) => all.iter().map(|(name, statistic)| (*name, statistic.unwrap_or(&nothing))).collect(),
            None => Vec::new(),
        };
        let shown = render(&figure, &labelled);
        let caption = match shown {
            Rendered::Empty if !has_values(&figure, &labelled) => vec![figure.empty.clone()],
            _ => caption(&figure, &all),
        };
        let numbers = match (&shown, labelled.as_slice()) {
            (Rendered::Svg(_), [(_, one)]) => Some(Table::numbers(one, MAX_NUMBER_ROWS)),
            (Rendered::Svg(_), [(own, one), (compared, other), ..]) => {
                let other = Table::numbers(other, MAX_NUMBER_ROWS);
                Some(Table::numbers(one, MAX_NUMBER_ROWS).beside(&other, [own, compared]))
            }
            _ => None,
        };
        let file = |(number, statistic): (usize, &Option<&Statistic>)| {
            let name = if number == 0 { figure.name.clone() } else { compared_name(&figure.name) };
            Some((name, csv((*statistic)?)))
        };
        let csv = all.iter().map(|(_, statistic)| statistic).enumerate().filter_map(file).collect();
        ReportEntry { figure, rendered: shown, caption, query: None, numbers, csv }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(name: &str, pages: Option<u64>) -> ReportInput {
        let statistic = pages.map(|pages| Statistic {
            name: "languages".to_owned(),
            columns: vec!["language".to_owned(), "pages".to_owned()],
            rows: vec![vec!["en".into(), pages.into()]],
            ..Statistic::default()
        });
        ReportInput {
            name: name.to_owned(),
            statistics: statistic.into_iter().collect(),
            ..ReportInput::default()
        }
    }

    fn languages(sides: Vec<ReportInput>) -> ReportEntry {
        let report = Report::new("a", sides, Vec::new(), |name| Some(format!("select '{name}'"))).unwrap();
        report.entries.into_iter().find(|entry| entry.figure.name == "languages").unwrap()
    }

    #[test]
    fn an_input_without_data_keeps_its_name() {
        let entry = languages(vec![input("now", None), input("then", Some(7))]);
        let Rendered::Svg(svg) = &entry.rendered else { panic!("{entry:?}") };
        assert!(svg.contains(">now<") && svg.contains(">then<") && svg.contains("100 %"), "{svg}");
        assert_eq!(entry.csv, [("languages-compared".to_owned(), "language,pages\nen,7\n".to_owned())]);
        assert_eq!(entry.query.as_deref(), Some("select 'languages'"));
    }

    #[test]
    fn without_data_the_caption_says_so() {
        let entry = languages(vec![input("now", None), input("then", None)]);
        assert_eq!(entry.rendered, Rendered::Empty);
        assert_eq!(entry.caption.join(" "), entry.figure.empty);
    }
}
