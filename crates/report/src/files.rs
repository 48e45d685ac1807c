//! Which files is a report made of?
//!
//! ```text
//! OUT/report.html         everything, in one page
//! OUT/report.typ          the same for the typst program, which makes a PDF of it
//! OUT/report.pdf          the same as a PDF, if it was asked for; figures/NAME.pdf each picture alone
//! OUT/data/NAME.csv       the numbers of each figure; NAME-against.csv those of the second side
//! OUT/figures/NAME.svg    the pictures, in plain SVG for papers
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::draw::Shown;
use crate::error::{Context, Result};
use crate::report::Report;
use crate::{html, typst_text};

pub(crate) const PAGE: &str = "report.html";
pub(crate) const PRINT: &str = "report.typ";
pub(crate) const PDF: &str = "report.pdf";
pub(crate) const DATA: &str = "data";
pub(crate) const FIGURES: &str = "figures";

pub(crate) fn csv_name(name: &str) -> String {
    format!("{name}.csv")
}

/// The name of the second side's numbers.
pub(crate) fn against(name: &str) -> String {
    format!("{name}-against")
}

pub(crate) fn pdf_name(name: &str) -> String {
    format!("{name}.pdf")
}

pub(crate) fn svg_name(name: &str) -> String {
    format!("{name}.svg")
}

impl Report {
    /// Writes all files into a folder, which is made if it is not there; tells where the page is.
    pub fn write(&self, folder: &Path) -> Result<PathBuf> {
        let (data, figures) = (folder.join(DATA), folder.join(FIGURES));
        for folder in [&data, &figures] {
            fs::create_dir_all(folder).context("make", folder)?;
        }
        remove(&folder.join(PDF))?;
        for entry in &self.entries {
            let name = &entry.figure.name;
            // Of a report that was here before, what this one does not have must not stay beside it.
            remove(&data.join(csv_name(&against(name))))?;
            remove(&figures.join(svg_name(name)))?;
            remove(&figures.join(pdf_name(name)))?;
            for (name, text) in &entry.csv {
                put(&data.join(csv_name(name)), text)?;
            }
            if let Shown::Picture(svg) = &entry.shown {
                put(&figures.join(svg_name(&entry.figure.name)), &plot::plain(svg))?;
            }
        }
        put(&folder.join(PRINT), &typst_text::document(self))?;
        let page = folder.join(PAGE);
        put(&page, &html::page(self))?;
        Ok(page)
    }
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).context("remove", path),
        _ => Ok(()),
    }
}

fn put(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).context("write", path)
}
