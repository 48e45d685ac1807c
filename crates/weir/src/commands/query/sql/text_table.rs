//! Text table: numbers right-aligned, text left-aligned, truncated to the width of the terminal.
//!
//! The first rows determine the widths of the columns; later rows are written as they arrive, so that a result of any
//! length takes constant memory.

use sql::ResultColumn;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::output::{Printer, TextStyle, printable};

/// Number of rows that determine the widths.
const SAMPLE_ROWS: usize = 1_000;
/// Minimum width of a text column, even if lines then wrap.
const MIN_WIDTH: usize = 8;
/// Space between two columns.
const GAP: &str = "  ";
const NULL: &str = "null";

type Row = Vec<Option<String>>;

/// Text table that is being written.
pub(crate) struct TextTable {
    names: Vec<String>,
    are_numbers: Vec<bool>,
    /// Width of the terminal.
    max_width: Option<usize>,
    sample: Vec<Row>,
    /// Known once the sample is complete.
    widths: Option<Vec<usize>>,
}

impl TextTable {
    pub(crate) fn new(columns: &[ResultColumn], max_width: Option<usize>) -> TextTable {
        TextTable {
            names: columns.iter().map(|column| in_one_line(&column.name)).collect(),
            are_numbers: columns.iter().map(|column| column.is_number).collect(),
            max_width,
            sample: Vec::new(),
            widths: None,
        }
    }

    pub(crate) fn add(&mut self, rows: Vec<Row>, printer: &mut Printer) -> anyhow::Result<()> {
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

    /// Writes the header and the sample, if that has not happened yet.
    pub(crate) fn finish(&mut self, printer: &mut Printer) -> anyhow::Result<()> {
        if self.widths.is_some() {
            return Ok(());
        }
        let widths = fit_widths(&self.natural_widths(), &self.are_numbers, self.max_width);
        let head: Vec<String> = (0..self.names.len())
            .map(|column| aligned(&self.names[column], widths[column], self.are_numbers[column]))
            .collect();
        printer.line(&printer.style(TextStyle::Dim, head.join(GAP).trim_end()))?;
        let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        printer.line(&printer.style(TextStyle::Dim, &rule.join(GAP)))?;
        for row in std::mem::take(&mut self.sample) {
            self.write(&row, &widths, printer)?;
        }
        self.widths = Some(widths);
        Ok(())
    }

    fn natural_widths(&self) -> Vec<usize> {
        let width = |column: usize| {
            let cells = self.sample.iter().map(|row| row[column].as_deref().unwrap_or(NULL).width());
            cells.chain([self.names[column].width()]).max().unwrap_or(0)
        };
        (0..self.names.len()).map(width).collect()
    }

    fn write(&self, row: &Row, widths: &[usize], printer: &mut Printer) -> anyhow::Result<()> {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let (text, is_number) = (cell.as_deref().unwrap_or(NULL), self.are_numbers[column]);
            // Numbers are never truncated, and text only on a terminal: then the line gets longer.
            let width = match self.max_width {
                Some(_) if !is_number => widths[column],
                _ => widths[column].max(text.width()),
            };
            let text = aligned(text, width, is_number);
            line += if column > 0 { GAP } else { "" };
            line += &if cell.is_none() { printer.style(TextStyle::Dim, &text) } else { text };
        }
        printer.line(line.trim_end())
    }
}

/// Text of a cell on one line, without control characters.
fn in_one_line(text: &str) -> String {
    let line = text.split(['\n', '\r', '\t']).collect::<Vec<_>>().join(" ");
    printable(&line).into_owned()
}

/// Widths that fit the terminal: the widest text columns are reduced, all to the same width.
fn fit_widths(natural: &[usize], are_numbers: &[bool], max_width: Option<usize>) -> Vec<usize> {
    let Some(max_width) = max_width else { return natural.to_vec() };
    let gaps = GAP.len() * natural.len().saturating_sub(1);
    let capped = |cap: usize| -> Vec<usize> {
        let width = |(width, is_number): (&usize, &bool)| if *is_number { *width } else { (*width).min(cap) };
        natural.iter().zip(are_numbers).map(width).collect()
    };
    let widest = natural.iter().copied().max().unwrap_or(0);
    (MIN_WIDTH..=widest.max(MIN_WIDTH))
        .rev()
        .map(capped)
        .find(|widths| widths.iter().sum::<usize>() + gaps <= max_width)
        .unwrap_or_else(|| capped(MIN_WIDTH))
}

fn aligned(text: &str, width: usize, is_right: bool) -> String {
    let text = truncated(text, width);
    let space = " ".repeat(width.saturating_sub(text.width()));
    if is_right { space + &text } else { text + &space }
}

/// Text truncated to a width, with an ellipsis.
fn truncated(text: &str, width: usize) -> String {
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
    fn the_widest_text_columns_are_reduced_first() {
        let fit = |width| fit_widths(&[10, 30, 5, 100], &[true, false, false, false], Some(width));
        assert_eq!(fit(1_000), [10, 30, 5, 100]);
        assert_eq!(fit(100), [10, 30, 5, 49]);
        assert_eq!(fit(61), [10, 20, 5, 20]);
        assert_eq!(fit(20), [10, 8, 5, 8], "below the minimum width lines wrap");
        assert_eq!(fit_widths(&[10, 300], &[false, false], None), [10, 300]);
        assert_eq!(fit_widths(&[], &[], Some(80)), [0; 0]);
    }

    #[test]
    fn text_is_truncated_by_display_width() {
        assert_eq!(aligned("Wörter", 8, false), "Wörter  ");
        assert_eq!(aligned("12", 4, true), "  12");
        assert_eq!(aligned("漢字かな", 8, false), "漢字かな");
        assert_eq!(aligned("漢字かな", 6, false), "漢字… ");
        assert_eq!(in_one_line("a\nb\x1b[2J"), "a b\\u{1b}[2J");
    }
}
