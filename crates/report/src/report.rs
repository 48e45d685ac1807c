//! What is in a report? For every figure of the catalogue what is shown, said, and where the numbers are.

use store::{Statistic, Value};

use crate::caption::caption;
use crate::catalogue::catalogue;
use crate::csv::csv;
use crate::draw::{Shown, draw};
use crate::error::Result;
use crate::figure::{Drawing, Figure, Section};
use crate::files::{against, csv_name};
use crate::html;
use crate::own_figure::OwnFigure;
use crate::side::Side;
use crate::table::Table;

/// The rows of numbers that are shown beneath a figure; all of them are in its CSV file.
const MOST_NUMBERS: usize = 100;

/// A report of one collection, or of two side by side.
#[derive(Debug, Clone)]
pub struct Report {
    /// What it is about.
    pub title: String,
    /// The collections.
    pub sides: Vec<Side>,
    /// The figures, in order.
    pub entries: Vec<Entry>,
}

/// A figure with all that belongs to it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// What it is.
    pub figure: Figure,
    pub(crate) shown: Shown,
    pub(crate) caption: Vec<String>,
    pub(crate) query: Option<String>,
    /// The numbers of a picture, as text.
    pub(crate) numbers: Option<Table>,
    /// The name of each file without its ending, and its text.
    pub(crate) csv: Vec<(String, String)>,
}

impl Report {
    /// Draws everything; figures of the user's own come last in their sections. `query` knows the SQL that gives the rows of
    /// a statistic.
    pub fn new(
        title: &str,
        sides: Vec<Side>,
        own: Vec<OwnFigure>,
        query: impl Fn(&str) -> Option<String>,
    ) -> Result<Report> {
        let entry = |figure: Figure| Entry { query: query(&figure.statistic), ..Entry::new(figure, &sides) };
        let own = own
            .into_iter()
            .map(|OwnFigure { figure, query }| Entry { query: Some(query), ..Entry::new(figure, &sides) });
        let mut entries: Vec<Entry> = catalogue()?.into_iter().map(entry).chain(own).collect();
        entries.sort_by_key(|entry| entry.figure.section);
        Ok(Report { title: title.to_owned(), sides, entries })
    }

    /// How many figures have nothing to show.
    pub fn without_data(&self) -> usize {
        self.entries.iter().filter(|entry| entry.shown == Shown::Nothing).count()
    }

    /// The report as one page of HTML. It links to its data as `data/NAME.csv`.
    pub fn page(&self) -> String {
        html::page(self)
    }

    /// The data of a figure, by the name of its file.
    pub fn csv(&self, file: &str) -> Option<&str> {
        let files = self.entries.iter().flat_map(|entry| &entry.csv);
        files.into_iter().find(|(name, _)| csv_name(name) == file).map(|(_, text)| text.as_str())
    }

    /// Nothing: this was built without typst.
    #[cfg(not(feature = "pdf"))]
    pub fn print(&self, _folder: &std::path::Path) -> Result<std::path::PathBuf> {
        Err(crate::Error::Print { reason: "this program was built without typst".to_owned() })
    }

    /// The sections that have something, with their figures.
    pub(crate) fn sections(&self) -> impl Iterator<Item = (Section, Vec<&Entry>)> {
        let of = |section| -> Vec<&Entry> {
            self.entries.iter().filter(|entry| entry.figure.section == section).collect()
        };
        Section::ALL.into_iter().map(move |section| (section, of(section))).filter(|(_, all)| !all.is_empty())
    }
}

/// Whether there are values that are only too alike for a picture.
fn has_values(figure: &Figure, sides: &[(&str, &Statistic)]) -> bool {
    let is_some = |row: &Vec<Value>| row.first().and_then(Value::as_f64).is_some_and(|from| from > 0.0);
    matches!(figure.draw, Drawing::Distribution(_))
        && sides.iter().any(|(_, statistic)| statistic.rows.iter().any(is_some))
}

impl Entry {
    fn new(figure: Figure, sides: &[Side]) -> Entry {
        let all: Vec<(&str, Option<&Statistic>)> =
            sides.iter().map(|side| (side.name.as_str(), side.statistic(&figure.statistic))).collect();
        // A side that has nothing keeps its place, its name and its colour beside one that has something.
        let columns = all.iter().find_map(|(_, statistic)| *statistic).map(|known| known.columns.clone());
        let nothing = Statistic { columns: columns.clone().unwrap_or_default(), ..Statistic::default() };
        let there: Vec<(&str, &Statistic)> = match columns {
            Some(_) => all.iter().map(|(name, statistic)| (*name, statistic.unwrap_or(&nothing))).collect(),
            None => Vec::new(),
        };
        let shown = draw(&figure, &there);
        let caption = match shown {
            Shown::Nothing if !has_values(&figure, &there) => vec![figure.empty.clone()],
            _ => caption(&figure, &all),
        };
        let numbers = match (&shown, there.as_slice()) {
            (Shown::Picture(_), [(_, one)]) => Some(Table::numbers(one, MOST_NUMBERS)),
            (Shown::Picture(_), [(own, one), (there, other), ..]) => {
                let other = Table::numbers(other, MOST_NUMBERS);
                Some(Table::numbers(one, MOST_NUMBERS).beside(&other, [own, there]))
            }
            _ => None,
        };
        let file = |(number, statistic): (usize, &Option<&Statistic>)| {
            let name = if number == 0 { figure.name.clone() } else { against(&figure.name) };
            Some((name, csv((*statistic)?)))
        };
        let csv = all.iter().map(|(_, statistic)| statistic).enumerate().filter_map(file).collect();
        Entry { figure, shown, caption, query: None, numbers, csv }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(name: &str, pages: Option<u64>) -> Side {
        let statistic = pages.map(|pages| Statistic {
            name: "languages".to_owned(),
            columns: vec!["language".to_owned(), "pages".to_owned()],
            rows: vec![vec!["en".into(), pages.into()]],
            ..Statistic::default()
        });
        Side { name: name.to_owned(), statistics: statistic.into_iter().collect(), ..Side::default() }
    }

    fn languages(sides: Vec<Side>) -> Entry {
        let report = Report::new("a", sides, Vec::new(), |name| Some(format!("select '{name}'"))).unwrap();
        report.entries.into_iter().find(|entry| entry.figure.name == "languages").unwrap()
    }

    #[test]
    fn a_side_without_data_keeps_its_name() {
        let entry = languages(vec![side("now", None), side("then", Some(7))]);
        let Shown::Picture(svg) = &entry.shown else { panic!("{entry:?}") };
        assert!(svg.contains(">now<") && svg.contains(">then<") && svg.contains("100 %"), "{svg}");
        assert_eq!(entry.csv, [("languages-against".to_owned(), "language,pages\nen,7\n".to_owned())]);
        assert_eq!(entry.query.as_deref(), Some("select 'languages'"));
    }

    #[test]
    fn without_any_data_a_sentence_says_so() {
        let entry = languages(vec![side("now", None), side("then", None)]);
        assert_eq!(entry.shown, Shown::Nothing);
        assert_eq!(entry.caption.join(" "), entry.figure.empty);
    }
}
