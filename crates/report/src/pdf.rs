//! The report and its figures as PDF, by typst. The SVG figures and the fonts are in memory.

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

use crate::error::{Context, Error, Result};
use crate::file_names::{FIGURES_DIR, PDF_FILE, svg_name};
use crate::render::Rendered;
use crate::report::Report;
use crate::typst_source;

impl Report {
    /// Writes `report.pdf` and `figures/NAME.pdf` to an existing directory, and returns the path of the former.
    pub fn write_pdf(&self, dir: &Path) -> Result<PathBuf> {
        let mut world = TypstWorld::new()?;
        for entry in &self.entries {
            if let Rendered::Svg(svg) = &entry.rendered {
                let path = format!("{FIGURES_DIR}/{}", svg_name(&entry.figure.name));
                world.files.insert(file_id(&path)?, Bytes::from_string(plot::for_print(svg)));
            }
        }
        for entry in self.entries.iter().filter(|entry| matches!(entry.rendered, Rendered::Svg(_))) {
            let name = &entry.figure.name;
            let path = dir.join(FIGURES_DIR).join(name).with_extension("pdf");
            fs::write(&path, world.compile(typst_source::single_picture(name))?).context("write", &path)?;
        }
        let path = dir.join(PDF_FILE);
        fs::write(&path, world.compile(typst_source::document(self))?).context("write", &path)?;
        Ok(path)
    }
}

/// Environment of typst: fonts, figures and one document at a time. It reads no file and no clock.
struct TypstWorld {
    library: LazyHash<Library>,
    book: LazyHash<FontBook>,
    fonts: Vec<Font>,
    files: HashMap<FileId, Bytes>,
    document: Source,
}

impl TypstWorld {
    fn new() -> Result<TypstWorld> {
        let fonts: Vec<Font> =
            typst_assets::fonts().flat_map(|bytes| Font::iter(Bytes::new(bytes))).collect();
        Ok(TypstWorld {
            library: LazyHash::new(Library::default()),
            book: LazyHash::new(FontBook::from_fonts(&fonts)),
            fonts,
            files: HashMap::new(),
            document: Source::new(file_id("report.typ")?, String::new()),
        })
    }

    fn compile(&mut self, text: String) -> Result<Vec<u8>> {
        self.document = Source::new(self.document.id(), text);
        let document = typst::compile::<PagedDocument>(self).output.map_err(|errors| pdf_error(&errors))?;
        typst_pdf::pdf(&document, &PdfOptions::default()).map_err(|errors| pdf_error(&errors))
    }
}

fn pdf_error(errors: &[SourceDiagnostic]) -> Error {
    let reason = errors.iter().map(|error| error.message.as_str()).collect::<Vec<_>>().join("; ");
    Error::Pdf { reason }
}

fn file_id(path: &str) -> Result<FileId> {
    let path = VirtualPath::new(path).map_err(|error| Error::Pdf { reason: format!("{error:?}") })?;
    Ok(FileId::new(RootedPath::new(VirtualRoot::Project, path)))
}

impl World for TypstWorld {
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
