//! The report for paper: a document for typst, which refers to the pictures beside it.

use std::fmt::Write;

use crate::draw::Shown;
use crate::files::{FIGURES, svg_name};
use crate::report::{Entry, Report};
use crate::table::Table;

const STYLE: &str = include_str!("style.typ");

/// The document.
pub(crate) fn document(report: &Report) -> String {
    let mut out = STYLE.to_owned();
    let sides: Vec<String> = report.sides.iter().map(|side| text(&side.what())).collect();
    push(&mut out, format_args!("#show: report.with({}, ({},))\n", text(&report.title), sides.join(", ")));
    for (section, entries) in report.sections() {
        push(&mut out, format_args!("\n= {}\n", section.title()));
        entries.into_iter().for_each(|entry| figure(entry, &mut out));
    }
    out
}

/// One picture on a page of its size.
#[cfg(feature = "pdf")]
pub(crate) fn picture_alone(name: &str) -> String {
    let path = text(&format!("{FIGURES}/{}", svg_name(name)));
    format!("#set page(width: auto, height: auto, margin: 0pt)\n#image({path}, width: 160mm)\n")
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}

fn figure(entry: &Entry, out: &mut String) {
    let Entry { figure, shown, caption, .. } = entry;
    let (title, caption) = (text(&figure.title), text(&caption.join(" ")));
    match shown {
        Shown::Picture(_) => {
            let path = text(&format!("{FIGURES}/{}", svg_name(&figure.name)));
            push(out, format_args!("#picture({title}, {path}, {caption})\n"));
        }
        Shown::Table(rows) => push(out, format_args!("#rows({title}, {}, {caption})\n", table(rows))),
        Shown::Nothing => push(out, format_args!("#nothing({title}, {caption})\n")),
    }
}

/// A table of text: which columns are numbers, the headings, the cells.
fn table(table: &Table) -> String {
    let columns = &table.columns;
    let kinds: Vec<&str> =
        columns.iter().map(|column| if column.is_number { "right" } else { "left" }).collect();
    let heads: Vec<String> = columns.iter().map(|column| text(&column.title)).collect();
    let cells: Vec<String> = table.rows.iter().flatten().map(|cell| text(&cell.text)).collect();
    format!("({},), ({},), ({},)", kinds.join(", "), heads.join(", "), cells.join(", "))
}

/// A string that typst takes as it is.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            character if character.is_control() => out.push(' '),
            character => out.push(character),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_break_out() {
        assert_eq!(text("a\"b\\c\n#d"), "\"a\\\"b\\\\c #d\"");
    }
}
