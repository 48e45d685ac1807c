//! The report as one page that needs nothing else: pictures, tables and style are inside, and it is read without a network and
//! without scripts.

use std::fmt::Write;

use plot::escape;

use crate::draw::Shown;
use crate::files::{DATA, csv_name};
use crate::report::{Entry, Report};
use crate::table::{Cell, Column, Table};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The page.
pub(crate) fn page(report: &Report) -> String {
    let title = escape(&report.title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<div class=\"frame\">\n\
         <header>\n<h1>{title}</h1>\n"
    );
    for (number, side) in report.sides.iter().enumerate() {
        let key = match (report.sides.len(), number) {
            (1, _) => "",
            (_, 0) => "<span class=\"key\"></span>",
            _ => "<span class=\"key against\"></span>",
        };
        push(&mut out, format_args!("<p class=\"what\">{key}{}</p>\n", escape(&side.what())));
    }
    out += "</header>\n";
    contents(report, &mut out);
    out += "<main>\n";
    for (section, entries) in report.sections() {
        let title = section.title();
        push(&mut out, format_args!("<h2 id=\"section-{}\">{title}</h2>\n", title.to_lowercase()));
        entries.into_iter().for_each(|entry| figure(entry, &mut out));
    }
    out += HOW_TO_ASK;
    push(&mut out, format_args!("</main>\n</div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"));
    out
}

const HOW_TO_ASK: &str = "<h2 id=\"queries\">How to ask the queries</h2>\n\
    <p>The query beneath each figure gives the same numbers from the tables of the collection, which are Parquet files. \
    <code>weir sql DIR \"QUERY\"</code> answers it; so does DuckDB, after one line for each table that the query names:</p>\n\
    <pre>create view pages as from 'DIR/parquet/pages/*.parquet';</pre>\n";

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}

fn contents(report: &Report, out: &mut String) {
    *out += "<nav aria-label=\"Contents\"><div><ul>\n";
    for (section, entries) in report.sections() {
        let title = section.title();
        push(out, format_args!("<li><a href=\"#section-{}\">{title}</a><ul>", title.to_lowercase()));
        for Entry { figure, .. } in entries {
            push(out, format_args!("<li><a href=\"#{}\">{}</a></li>", figure.name, escape(&figure.title)));
        }
        *out += "</ul></li>\n";
    }
    *out += "</ul></div></nav>\n";
}

fn figure(entry: &Entry, out: &mut String) {
    let Entry { figure, shown, caption, .. } = entry;
    push(out, format_args!("<section id=\"{}\">\n<h3>{}</h3>\n", figure.name, escape(&figure.title)));
    let caption = escape(&caption.join(" "));
    match shown {
        Shown::Picture(svg) => {
            push(out, format_args!("<figure>\n{svg}<figcaption>{caption}</figcaption>\n</figure>\n"));
        }
        Shown::Table(rows) => {
            table(rows, "wide", out);
            push(out, format_args!("<p class=\"caption\">{caption}</p>\n"));
        }
        Shown::Nothing => push(out, format_args!("<p class=\"nothing\">{caption}</p>\n")),
    }
    *out += "<div class=\"behind\">\n";
    if let Some(numbers) = &entry.numbers {
        *out += "<details><summary>Numbers</summary>\n";
        table(numbers, "wide numbers", out);
        *out += "</details>\n";
    }
    if let Some(query) = &entry.query {
        push(out, format_args!("<details><summary>Query</summary><pre>{}</pre></details>\n", escape(query)));
    }
    for (name, _) in &entry.csv {
        let name = csv_name(name);
        push(out, format_args!("<a href=\"{DATA}/{name}\">{name}</a>\n"));
    }
    *out += "</div>\n</section>\n";
}

fn table(table: &Table, class: &str, out: &mut String) {
    push(out, format_args!("<div class=\"{class}\"><table class=\"sortable\">\n<thead><tr>"));
    for Column { title, is_number, .. } in &table.columns {
        let class = if *is_number { " class=\"n\"" } else { "" };
        push(out, format_args!("<th{class}>{}</th>", escape(title)));
    }
    *out += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        *out += "<tr>";
        table.columns.iter().zip(row).for_each(|(column, cell)| push_cell(column, cell, out));
        *out += "</tr>\n";
    }
    *out += "</tbody>\n</table></div>\n";
    if table.left_out > 0 {
        push(out, format_args!("<p class=\"more\">and {} more in the CSV file</p>\n", table.left_out));
    }
}

fn push_cell(column: &Column, cell: &Cell, out: &mut String) {
    let text = escape(&cell.text);
    // Only the Web's own schemes: no address of a page may run a script here.
    let is_link = column.is_url && ["http://", "https://"].iter().any(|scheme| cell.text.starts_with(scheme));
    match cell.number {
        _ if is_link => {
            push(out, format_args!("<td class=\"u\"><a href=\"{text}\" rel=\"noreferrer\">{text}</a></td>"));
        }
        _ if column.is_url => push(out, format_args!("<td class=\"u\">{text}</td>")),
        Some(number) if column.is_number => {
            push(out, format_args!("<td class=\"n\" data-v=\"{number}\">{text}</td>"));
        }
        _ if column.is_number => push(out, format_args!("<td class=\"n\">{text}</td>")),
        _ => push(out, format_args!("<td>{text}</td>")),
    }
}
