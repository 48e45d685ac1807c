//! The report as one self-contained HTML page: figures, tables and styles are inline, and it works without network
//! access and without scripts.

use std::fmt::Write;

use plot::escape;

use crate::file_names::{DATA_DIR, csv_name};
use crate::render::Rendered;
use crate::report::{Report, ReportEntry};
use crate::table::{Cell, Column, Table};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Generator named in the page, by which a later report recognises an earlier one.
pub const GENERATOR: &str = "weir report";

/// Renders a report as one HTML page. It links to its data as `data/NAME.csv`.
pub fn render_html(report: &Report) -> String {
    let title = escape(&report.title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"generator\" content=\"{GENERATOR}\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<div class=\"frame\">\n\
         <header>\n<h1>{title}</h1>\n"
    );
    for (number, input) in report.inputs.iter().enumerate() {
        let key = match (report.inputs.len(), number) {
            (1, _) => "",
            (_, 0) => "<span class=\"key\"></span>",
            _ => "<span class=\"key compared\"></span>",
        };
        push(&mut out, format_args!("<p class=\"subtitle\">{key}{}</p>\n", escape(&input.description())));
    }
    out += "</header>\n";
    contents(report, &mut out);
    out += "<main>\n";
    for (section, entries) in report.sections() {
        let title = section.title();
        push(&mut out, format_args!("<h2 id=\"section-{}\">{title}</h2>\n", section.id()));
        entries.into_iter().for_each(|entry| figure(entry, &mut out));
    }
    out += RUNNING_THE_QUERIES;
    push(&mut out, format_args!("</main>\n</div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"));
    out
}

const RUNNING_THE_QUERIES: &str = "<h2 id=\"queries\">Running the queries</h2>\n\
    <p>The query below each figure returns the same numbers from the Parquet tables of the collection. \
    Run it with <code>weir sql DIR \"QUERY\"</code>, or with DuckDB after one line per table of the query:</p>\n\
    <pre>create view pages as from 'DIR/parquet/pages/*.parquet';</pre>\n";

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}

fn contents(report: &Report, out: &mut String) {
    *out += "<nav aria-label=\"Contents\"><div><ul>\n";
    for (section, entries) in report.sections() {
        let title = section.title();
        push(out, format_args!("<li><a href=\"#section-{}\">{title}</a><ul>", section.id()));
        for ReportEntry { figure, .. } in entries {
            push(out, format_args!("<li><a href=\"#{}\">{}</a></li>", figure.name, escape(&figure.title)));
        }
        *out += "</ul></li>\n";
    }
    *out += "</ul></div></nav>\n";
}

fn figure(entry: &ReportEntry, out: &mut String) {
    let ReportEntry { figure, rendered: shown, caption, .. } = entry;
    push(out, format_args!("<section id=\"{}\">\n<h3>{}</h3>\n", figure.name, escape(&figure.title)));
    let caption = escape(&caption.join(" "));
    match shown {
        Rendered::Svg(svg) => {
            push(out, format_args!("<figure>\n{svg}<figcaption>{caption}</figcaption>\n</figure>\n"));
        }
        Rendered::Table(rows) => {
            table(rows, "wide", out);
            push(out, format_args!("<p class=\"caption\">{caption}</p>\n"));
        }
        Rendered::Empty => push(out, format_args!("<p class=\"empty\">{caption}</p>\n")),
    }
    *out += "<div class=\"sources\">\n";
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
        push(out, format_args!("<a href=\"{DATA_DIR}/{name}\">{name}</a>\n"));
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
    if table.rows_omitted > 0 {
        push(out, format_args!("<p class=\"more\">and {} more in the CSV file</p>\n", table.rows_omitted));
    }
}

fn push_cell(column: &Column, cell: &Cell, out: &mut String) {
    let text = escape(&cell.text);
    // Only http(s): a javascript: URL must not become a link.
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
