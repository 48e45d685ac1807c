//! The report as typst source, which includes the SVG figures.

use std::fmt::Write;

use crate::file_names::{FIGURES_DIR, svg_name};
use crate::render::Rendered;
use crate::report::{Report, ReportEntry};
use crate::table::Table;

const STYLE: &str = include_str!("style.typ");

/// Renders a report as typst source.
pub(crate) fn document(report: &Report) -> String {
    let mut out = STYLE.to_owned();
    let inputs: Vec<String> = report.inputs.iter().map(|input| text(&input.description())).collect();
    push(&mut out, format_args!("#show: report.with({}, ({},))\n", text(&report.title), inputs.join(", ")));
    for (section, entries) in report.sections() {
        push(&mut out, format_args!("\n= {}\n", section.title()));
        entries.into_iter().for_each(|entry| figure(entry, &mut out));
    }
    out
}

/// A single figure on a page of its size.
#[cfg(feature = "pdf")]
pub(crate) fn single_picture(name: &str) -> String {
    let path = text(&format!("{FIGURES_DIR}/{}", svg_name(name)));
    format!("#set page(width: auto, height: auto, margin: 0pt)\n#image({path}, width: 160mm)\n")
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}

fn figure(entry: &ReportEntry, out: &mut String) {
    let ReportEntry { figure, rendered: shown, caption, .. } = entry;
    let (title, caption) = (text(&figure.title), text(&caption.join(" ")));
    match shown {
        Rendered::Svg(_) => {
            let path = text(&format!("{FIGURES_DIR}/{}", svg_name(&figure.name)));
            push(out, format_args!("#picture({title}, {path}, {caption})\n"));
        }
        Rendered::Table(rows) => push(out, format_args!("#rows({title}, {}, {caption})\n", table(rows))),
        Rendered::Empty => push(out, format_args!("#empty({title}, {caption})\n")),
    }
}

/// A table: alignment of the columns, headings, cells.
fn table(table: &Table) -> String {
    let columns = &table.columns;
    let kinds: Vec<&str> =
        columns.iter().map(|column| if column.is_number { "right" } else { "left" }).collect();
    let heads: Vec<String> = columns.iter().map(|column| text(&column.title)).collect();
    let cells: Vec<String> = table.rows.iter().flatten().map(|cell| text(&cell.text)).collect();
    format!("({},), ({},), ({},)", kinds.join(", "), heads.join(", "), cells.join(", "))
}

/// A typst string literal.
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
    fn strings_are_escaped() {
        assert_eq!(text("a\"b\\c\n#d"), "\"a\\\"b\\\\c #d\"");
    }
}
