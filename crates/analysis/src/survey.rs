//! How does an analyzer get to see everything? Its passes over the tables of a commit and over the stored pages, on all
//! cores, with memory for a few groups of rows beside what the analyzers themselves keep.
//!
//! A pass is shared out by groups of rows, some dozens in parts of equal number. The results of parts are merged in their
//! order. Stored pages are read in the order of their files, a group of rows at a time, and
//! parsed once for all analyzers.

use model::PageId;
use parse::DocumentReader;
use store::{
    FetchRows, LastParses, LinkRows, PageRow, PageRows, PageStream, Rows, SiteRankRows, Snapshot, Streamed,
    TableReader,
};

use crate::analyzer::{Analyzer, Reads};
use crate::cores::Cores;
use crate::error::{Error, Result};
use crate::page_text::read_document;

/// More parts share the work more evenly, fewer are less to merge.
const PARTS_PER_CORE: usize = 8;

/// A commit, for analyzers to go through.
pub struct Survey<'s> {
    snapshot: &'s Snapshot,
    pages: TableReader<PageRows>,
    sites: TableReader<SiteRankRows>,
    cores: Cores,
}

/// How far a survey has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Surveyed {
    /// What is being read.
    pub pass: &'static str,
    /// Rows that were read.
    pub rows: u64,
    /// Of so many.
    pub of: u64,
}

type Told<'t> = &'t mut dyn FnMut(Surveyed);

impl<'s> Survey<'s> {
    /// Opens a commit that was analysed.
    pub fn open(snapshot: &'s Snapshot, cores: Cores) -> Result<Survey<'s>> {
        Ok(Survey { snapshot, pages: derived(snapshot)?, sites: derived(snapshot)?, cores })
    }

    /// Shows copies of a fresh analyzer everything that it wants to see; tells what they have found.
    pub fn run<A: Analyzer>(&self, fresh: &A, told: Told<'_>) -> Result<A::Finding> {
        let mut all = fresh.clone();
        let (folder, manifest) = (self.snapshot.folder(), &self.snapshot.manifest);
        if A::READS.has(Reads::PAGES) {
            self.pass(&self.pages, fresh, &mut all, A::page, told)?;
        }
        if A::READS.has(Reads::SITES) {
            self.pass(&self.sites, fresh, &mut all, A::site, told)?;
        }
        if A::READS.has(Reads::FETCHES) {
            let fetches = TableReader::<FetchRows>::committed(folder, manifest)?;
            self.pass(&fetches, fresh, &mut all, A::fetch, told)?;
        }
        if A::READS.has(Reads::LINKS) {
            let parses = LastParses::read(folder, manifest)?;
            let links = TableReader::<LinkRows>::committed(folder, manifest)?;
            let see = |analyzer: &mut A, link: &store::LinkRow<'_>| {
                if parses.has(link) {
                    analyzer.link(link);
                }
            };
            self.pass(&links, fresh, &mut all, see, told)?;
        }
        if A::READS.has(Reads::DOCUMENTS) {
            let read = |analyzer: &mut A, group| self.read_documents(group, analyzer);
            self.in_parts(&self.pages, "stored pages", fresh, &mut all, read, told)?;
        }
        Ok(all.finish())
    }

    fn pass<A: Analyzer, R: Rows>(
        &self,
        table: &TableReader<R>,
        fresh: &A,
        all: &mut A,
        see: impl Fn(&mut A, &R::Row<'_>) + Sync,
        told: Told<'_>,
    ) -> Result<()> {
        let read = |analyzer: &mut A, group| Ok(table.for_each(group, |row| see(analyzer, row))?);
        self.in_parts(table, R::NAME, fresh, all, read, told)
    }

    /// Lets copies read the groups of a table, and merges them.
    fn in_parts<A: Analyzer, R: Rows>(
        &self,
        table: &TableReader<R>,
        pass: &'static str,
        fresh: &A,
        all: &mut A,
        read: impl Fn(&mut A, usize) -> Result<()> + Sync,
        told: Told<'_>,
    ) -> Result<()> {
        let groups: Vec<usize> = (0..table.groups()).collect();
        let of = groups.iter().map(|group| table.rows(*group)).sum();
        let size = groups.len().div_ceil(self.cores.0.max(1) * PARTS_PER_CORE).max(1);
        let parts: Vec<&[usize]> = groups.chunks(size).collect();
        let work = |part: &[usize]| {
            let mut analyzer = fresh.clone();
            part.iter().try_for_each(|group| read(&mut analyzer, *group))?;
            Ok((analyzer, part.iter().map(|group| table.rows(*group)).sum::<u64>()))
        };
        let mut done = 0;
        self.cores.try_for_each(parts, work, |result: Result<(A, u64)>| {
            let (analyzer, rows) = result?;
            all.merge(analyzer);
            done += rows;
            told(Surveyed { pass, rows: done, of });
            Ok(())
        })
    }

    /// Reads the stored pages of a group of rows, in the order in which they lie in their files.
    fn read_documents<A: Analyzer>(&self, group: usize, analyzer: &mut A) -> Result<()> {
        let mut reader = DocumentReader::default();
        self.pages.for_each_batch(group, |batch| {
            let rows: Vec<PageRow<'_>> = batch.rows().collect();
            let ids: Vec<PageId> = rows.iter().map(|row| PageId(row.page_id)).collect();
            let mut stream = PageStream::of_pages(self.snapshot, &ids)?;
            while let Some(streamed) = stream.next_page()? {
                let (place, stored) = match streamed {
                    Streamed::Page(place, stored) => (place, stored),
                    // A figure about all pages must not silently be one about some of them.
                    Streamed::Damaged(_, error) => return Err(error),
                };
                // Rows are in the order of the pages.
                let row = rows.binary_search_by_key(&place.page.0, |row| row.page_id).map(|row| &rows[row]);
                if let (Some(document), Ok(row)) = (read_document(&mut reader, &stored), row) {
                    analyzer.document(row, document);
                }
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// A table that the analysis of this commit wrote.
pub(crate) fn derived<R: Rows>(snapshot: &Snapshot) -> Result<TableReader<R>> {
    let table = TableReader::derived(snapshot.folder())?;
    let of_commit = table.filter(|table| table.generation() == snapshot.manifest.generation);
    of_commit.ok_or_else(|| Error::NotAnalysed { path: snapshot.folder().to_owned() })
}
