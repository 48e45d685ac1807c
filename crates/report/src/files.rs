//! The files of a report.
//!
//! ```text
//! OUT/report.html         the whole report in one page
//! OUT/report.typ          the same as typst source, to be compiled to a PDF
//! OUT/report.pdf          the same as PDF, if requested; figures/NAME.pdf for each figure
//! OUT/data/NAME.csv       the numbers of each figure; NAME-compared.csv those of the second input
//! OUT/figures/NAME.svg    the figures as plain SVG
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Context, Result};
use crate::file_names::{
    DATA_DIR, FIGURES_DIR, HTML_FILE, PDF_FILE, TYPST_FILE, compared_name, csv_name, pdf_name, svg_name,
};
use crate::render::Rendered;
use crate::report::Report;
use crate::{html, typst_source};

impl Report {
    /// Writes all files to a directory, which is created, and returns the path of the HTML page.
    pub fn write(&self, dir: &Path) -> Result<PathBuf> {
        let (data, figures) = (dir.join(DATA_DIR), dir.join(FIGURES_DIR));
        for dir in [&data, &figures] {
            fs::create_dir_all(dir).context("create", dir)?;
        }
        remove_if_exists(&dir.join(PDF_FILE))?;
        for entry in &self.entries {
            let name = &entry.figure.name;
            // Files of an earlier report that this one does not write must not remain.
            remove_if_exists(&data.join(csv_name(&compared_name(name))))?;
            remove_if_exists(&figures.join(svg_name(name)))?;
            remove_if_exists(&figures.join(pdf_name(name)))?;
            for (name, text) in &entry.csv {
                write_file(&data.join(csv_name(name)), text)?;
            }
            if let Rendered::Svg(svg) = &entry.rendered {
                write_file(&figures.join(svg_name(&entry.figure.name)), &plot::for_print(svg))?;
            }
        }
        write_file(&dir.join(TYPST_FILE), &typst_source::document(self))?;
        let page = dir.join(HTML_FILE);
        write_file(&page, &html::render_html(self))?;
        Ok(page)
    }
}

fn remove_if_exists(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).context("remove", path),
        _ => Ok(()),
    }
}

fn write_file(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).context("write", path)
}
