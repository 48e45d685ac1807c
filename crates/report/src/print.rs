//! The report and its figures as PDF, by typst: the document refers to the pictures beside it, and fonts are inside.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use typst::diag::{FileError, FileResult, SourceDiagnostic};
use typst::foundations::{Bytes, Datetime, Duration};
use typst::syntax::{FileId, RootedPath, Source, VirtualPath, VirtualRoot};
use typst::text::{Font, FontBook};
use typst::utils::LazyHash;
use typst::{Library, LibraryExt, World};
use typst_layout::PagedDocument;
use typst_pdf::PdfOptions;

use crate::draw::Shown;
use crate::error::{Context, Error, Result};
use crate::files::{FIGURES, PDF, svg_name};
use crate::report::Report;
use crate::typst_text;

impl Report {
    /// Writes `report.pdf` and `figures/NAME.pdf` into a folder that is there; tells where the first is.
    pub fn print(&self, folder: &Path) -> Result<PathBuf> {
        let mut desk = Desk::new()?;
        for entry in &self.entries {
            if let Shown::Picture(svg) = &entry.shown {
                let path = format!("{FIGURES}/{}", svg_name(&entry.figure.name));
                desk.files.insert(file_id(&path)?, Bytes::from_string(plot::plain(svg)));
            }
        }
        for entry in self.entries.iter().filter(|entry| matches!(entry.shown, Shown::Picture(_))) {
            let name = &entry.figure.name;
            let path = folder.join(FIGURES).join(name).with_extension("pdf");
            fs::write(&path, desk.print(typst_text::picture_alone(name))?).context("write", &path)?;
        }
        let path = folder.join(PDF);
        fs::write(&path, desk.print(typst_text::document(self))?).context("write", &path)?;
        Ok(path)
    }
}

/// What typst works with: fonts, pictures and one document at a time. It reads no file and no clock.
struct Desk {
    library: LazyHash<Library>,
    book: LazyHash<FontBook>,
    fonts: Vec<Font>,
    files: HashMap<FileId, Bytes>,
    document: Source,
}

impl Desk {
    fn new() -> Result<Desk> {
        let fonts: Vec<Font> =
            typst_assets::fonts().flat_map(|bytes| Font::iter(Bytes::new(bytes))).collect();
        Ok(Desk {
            library: LazyHash::new(Library::default()),
            book: LazyHash::new(FontBook::from_fonts(&fonts)),
            fonts,
            files: HashMap::new(),
            document: Source::new(file_id("report.typ")?, String::new()),
        })
    }

    fn print(&mut self, text: String) -> Result<Vec<u8>> {
        self.document = Source::new(self.document.id(), text);
        let document = typst::compile::<PagedDocument>(self).output.map_err(|errors| unprintable(&errors))?;
        typst_pdf::pdf(&document, &PdfOptions::default()).map_err(|errors| unprintable(&errors))
    }
}

fn unprintable(errors: &[SourceDiagnostic]) -> Error {
    let reason = errors.iter().map(|error| error.message.as_str()).collect::<Vec<_>>().join("; ");
    Error::Print { reason }
}

fn file_id(path: &str) -> Result<FileId> {
    let path = VirtualPath::new(path).map_err(|error| Error::Print { reason: format!("{error:?}") })?;
    Ok(FileId::new(RootedPath::new(VirtualRoot::Project, path)))
}

impl World for Desk {
    fn library(&self) -> &LazyHash<Library> {
        &self.library
    }

    fn book(&self) -> &LazyHash<FontBook> {
        &self.book
    }

    fn main(&self) -> FileId {
        self.document.id()
    }

    fn source(&self, id: FileId) -> FileResult<Source> {
        if id == self.document.id() { Ok(self.document.clone()) } else { Err(FileError::AccessDenied) }
    }

    fn file(&self, id: FileId) -> FileResult<Bytes> {
        self.files.get(&id).cloned().ok_or(FileError::AccessDenied)
    }

    fn font(&self, index: usize) -> Option<Font> {
        self.fonts.get(index).cloned()
    }

    fn today(&self, _offset: Option<Duration>) -> Option<Datetime> {
        None
    }
}
