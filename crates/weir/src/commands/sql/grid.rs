//! How do rows become columns on a screen? Numbers to the right, text to the left, cut where the terminal ends.
//!
//! The first rows say how wide the columns are; later ones are written as they come, so that an answer of any length
//! takes no memory.

use sql::AnswerColumn;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::printer::{Meaning, Printer, printable};

/// Rows that are looked at before the first is written.
const SAMPLE_ROWS: usize = 1_000;
/// A column of text is not cut below this, even if lines then break.
const LEAST_WIDTH: usize = 8;
/// Between two columns.
const GAP: &str = "  ";
const NOTHING: &str = "null";

type Row = Vec<Option<String>>;

/// A table that is being written.
pub(super) struct Grid {
    names: Vec<String>,
    are_numbers: Vec<bool>,
    /// Columns of the terminal.
    limit: Option<usize>,
    sample: Vec<Row>,
    /// Known once the sample is complete.
    widths: Option<Vec<usize>>,
}

impl Grid {
    pub(super) fn new(columns: &[AnswerColumn], limit: Option<usize>) -> Grid {
        Grid {
            names: columns.iter().map(|column| in_one_line(&column.name)).collect(),
            are_numbers: columns.iter().map(|column| column.is_number).collect(),
            limit,
            sample: Vec::new(),
            widths: None,
        }
    }

    pub(super) fn add(&mut self, rows: Vec<Row>, printer: &mut Printer) -> anyhow::Result<()> {
        for row in rows {
            let row: Row = row.into_iter().map(|cell| cell.map(|text| in_one_line(&text))).collect();
            match &self.widths {
                Some(widths) => self.write(&row, widths, printer)?,
                None => self.sample.push(row),
            }
            if self.widths.is_none() && self.sample.len() == SAMPLE_ROWS {
                self.finish(printer)?;
            }
        }
        Ok(())
    }

    /// Writes what waits for the widths to be known.
    pub(super) fn finish(&mut self, printer: &mut Printer) -> anyhow::Result<()> {
        if self.widths.is_some() {
            return Ok(());
        }
        let widths = fitted(&self.natural_widths(), &self.are_numbers, self.limit);
        let head: Vec<String> = (0..self.names.len())
            .map(|column| aligned(&self.names[column], widths[column], self.are_numbers[column]))
            .collect();
        printer.line(&printer.paint(Meaning::Aside, head.join(GAP).trim_end()))?;
        let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        printer.line(&printer.paint(Meaning::Aside, &rule.join(GAP)))?;
        for row in std::mem::take(&mut self.sample) {
            self.write(&row, &widths, printer)?;
        }
        self.widths = Some(widths);
        Ok(())
    }

    fn natural_widths(&self) -> Vec<usize> {
        let width = |column: usize| {
            let cells = self.sample.iter().map(|row| row[column].as_deref().unwrap_or(NOTHING).width());
            cells.chain([self.names[column].width()]).max().unwrap_or(0)
        };
        (0..self.names.len()).map(width).collect()
    }

    fn write(&self, row: &Row, widths: &[usize], printer: &mut Printer) -> anyhow::Result<()> {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let (text, is_number) = (cell.as_deref().unwrap_or(NOTHING), self.are_numbers[column]);
            // A number that is cut is another one, and a file has room: then the line grows.
            let width = match self.limit {
                Some(_) if !is_number => widths[column],
                _ => widths[column].max(text.width()),
            };
            let text = aligned(text, width, is_number);
            line += if column > 0 { GAP } else { "" };
            line += &if cell.is_none() { printer.paint(Meaning::Aside, &text) } else { text };
        }
        printer.line(line.trim_end())
    }
}

/// Text of a cell as one line, without what could move the cursor.
fn in_one_line(text: &str) -> String {
    let line = text.split(['\n', '\r', '\t']).collect::<Vec<_>>().join(" ");
    printable(&line).into_owned()
}

/// The widths that fit the terminal: the widest columns of text give way, all to the same width.
fn fitted(natural: &[usize], are_numbers: &[bool], limit: Option<usize>) -> Vec<usize> {
    let Some(limit) = limit else { return natural.to_vec() };
    let gaps = GAP.len() * natural.len().saturating_sub(1);
    let cut_to = |most: usize| -> Vec<usize> {
        let width =
            |(width, is_number): (&usize, &bool)| if *is_number { *width } else { (*width).min(most) };
        natural.iter().zip(are_numbers).map(width).collect()
    };
    let widest = natural.iter().copied().max().unwrap_or(0);
    (LEAST_WIDTH..=widest.max(LEAST_WIDTH))
        .rev()
        .map(cut_to)
        .find(|widths| widths.iter().sum::<usize>() + gaps <= limit)
        .unwrap_or_else(|| cut_to(LEAST_WIDTH))
}

fn aligned(text: &str, width: usize, to_the_right: bool) -> String {
    let text = cut(text, width);
    let space = " ".repeat(width.saturating_sub(text.width()));
    if to_the_right { space + &text } else { text + &space }
}

/// As much of a text as fits, with a mark if that is not all.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut left = width.saturating_sub(1);
    let fits = |character: &char| {
        let needed = character.width().unwrap_or(0);
        let fits = needed <= left;
        left = left.saturating_sub(needed);
        fits
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_text_gives_way_first() {
        let fit = |limit| fitted(&[10, 30, 5, 100], &[true, false, false, false], Some(limit));
        assert_eq!(fit(1_000), [10, 30, 5, 100]);
        assert_eq!(fit(100), [10, 30, 5, 49]);
        assert_eq!(fit(61), [10, 20, 5, 20]);
        assert_eq!(fit(20), [10, 8, 5, 8], "below the least width lines break");
        assert_eq!(fitted(&[10, 300], &[false, false], None), [10, 300]);
        assert_eq!(fitted(&[], &[], Some(80)), [0; 0]);
    }

    #[test]
    fn text_is_cut_by_what_is_seen() {
        assert_eq!(aligned("Wörter", 8, false), "Wörter  ");
        assert_eq!(aligned("12", 4, true), "  12");
        assert_eq!(aligned("漢字かな", 8, false), "漢字かな");
        assert_eq!(aligned("漢字かな", 6, false), "漢字… ");
        assert_eq!(in_one_line("a\nb\x1b[2J"), "a b\\u{1b}[2J");
    }
}
