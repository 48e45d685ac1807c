//! Runs an analyzer over the tables and the stored pages of a commit, on all threads.
//!
//! A pass is divided into parts of consecutive row groups. The results of the parts are merged in their order. Stored
//! pages are read in the order of their files, one row group at a time, and parsed once for all analyzers. Memory holds
//! a few row groups beside the state of the analyzers.

use model::PageId;
use parse::DocumentReader;
use store::{
    FetchRows, LastParses, LinkRows, PageRow, PageRows, PageStream, PageStreamItem, Rows, SiteRows, Snapshot,
    TableReader,
};

use crate::error::{Error, Result};
use crate::scan::analyzer::{Analyzer, Inputs};
use crate::similarity::page_text::read_document;
use crate::threads::Threads;

/// More parts balance the threads better, fewer are less to merge.
const PARTS_PER_THREAD: usize = 8;

/// A commit to scan.
pub struct TableScan<'s> {
    snapshot: &'s Snapshot,
    pages: TableReader<PageRows>,
    sites: TableReader<SiteRows>,
    threads: Threads,
}

/// Progress of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanProgress {
    /// Name of the table, or `stored pages`.
    pub pass: &'static str,
    /// Number of rows read.
    pub rows: u64,
    /// Number of rows in total.
    pub total: u64,
}

type OnProgress<'t> = &'t mut dyn FnMut(ScanProgress);

impl<'s> TableScan<'s> {
    /// Opens a commit that has been analysed.
    pub fn open(snapshot: &'s Snapshot, threads: Threads) -> Result<TableScan<'s>> {
        Ok(TableScan { snapshot, pages: open_derived(snapshot)?, sites: open_derived(snapshot)?, threads })
    }

    /// Runs clones of `template` over its inputs, and returns the merged result.
    pub fn run<A: Analyzer>(&self, template: &A, on_progress: OnProgress<'_>) -> Result<A::Output> {
        let mut all = template.clone();
        let (collection, manifest) = (self.snapshot.dir(), &self.snapshot.manifest);
        if A::INPUTS.contains(Inputs::PAGES) {
            self.pass(&self.pages, template, &mut all, A::page, on_progress)?;
        }
        if A::INPUTS.contains(Inputs::SITES) {
            self.pass(&self.sites, template, &mut all, A::site, on_progress)?;
        }
        if A::INPUTS.contains(Inputs::FETCHES) {
            let fetches = TableReader::<FetchRows>::open_committed(collection, manifest)?;
            self.pass(&fetches, template, &mut all, A::fetch, on_progress)?;
        }
        if A::INPUTS.contains(Inputs::LINKS) {
            let parses = LastParses::read(collection, manifest)?;
            let links = TableReader::<LinkRows>::open_committed(collection, manifest)?;
            let visit = |analyzer: &mut A, link: &store::LinkRow<'_>| {
                if parses.is_current(link) {
                    analyzer.link(link);
                }
            };
            self.pass(&links, template, &mut all, visit, on_progress)?;
        }
        if A::INPUTS.contains(Inputs::DOCUMENTS) {
            let read = |analyzer: &mut A, group| self.read_documents(group, analyzer);
            self.run_parts(&self.pages, "stored pages", template, &mut all, read, on_progress)?;
        }
        Ok(all.finish())
    }

    fn pass<A: Analyzer, R: Rows>(
        &self,
        table: &TableReader<R>,
        template: &A,
        all: &mut A,
        visit: impl Fn(&mut A, &R::Row<'_>) + Sync,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let read = |analyzer: &mut A, group| Ok(table.for_each(group, |row| visit(analyzer, row))?);
        self.run_parts(table, R::NAME, template, all, read, on_progress)
    }

    /// Runs clones over the row groups of a table, and merges them.
    fn run_parts<A: Analyzer, R: Rows>(
        &self,
        table: &TableReader<R>,
        pass: &'static str,
        template: &A,
        all: &mut A,
        read: impl Fn(&mut A, usize) -> Result<()> + Sync,
        on_progress: OnProgress<'_>,
    ) -> Result<()> {
        let groups: Vec<usize> = (0..table.groups()).collect();
        let total = groups.iter().map(|group| table.rows(*group)).sum();
        let size = groups.len().div_ceil(self.threads.0.max(1) * PARTS_PER_THREAD).max(1);
        let parts: Vec<&[usize]> = groups.chunks(size).collect();
        let work = |part: &[usize]| {
            let mut analyzer = template.clone();
            part.iter().try_for_each(|group| read(&mut analyzer, *group))?;
            Ok((analyzer, part.iter().map(|group| table.rows(*group)).sum::<u64>()))
        };
        let mut done = 0;
        self.threads.try_for_each(parts, work, |result: Result<(A, u64)>| {
            let (analyzer, rows) = result?;
            all.merge(analyzer);
            done += rows;
            on_progress(ScanProgress { pass, rows: done, total });
            Ok(())
        })
    }

    /// Reads the stored pages of a row group in the order of their files.
    fn read_documents<A: Analyzer>(&self, group: usize, analyzer: &mut A) -> Result<()> {
        let mut reader = DocumentReader::default();
        self.pages.for_each_batch(group, |batch| {
            let rows: Vec<PageRow<'_>> = batch.rows().collect();
            let ids: Vec<PageId> = rows.iter().map(|row| PageId(row.page_id)).collect();
            let mut stream = PageStream::from_pages(self.snapshot, &ids)?;
            while let Some(streamed) = stream.next_page()? {
                let (position, stored) = match streamed {
                    PageStreamItem::Page(position, stored) => (position, stored),
                    // A result about all pages must not silently omit some of them.
                    PageStreamItem::Corrupt(_, error) => return Err(error),
                };
                // Rows are in the order of the pages.
                let row =
                    rows.binary_search_by_key(&position.page.0, |row| row.page_id).map(|row| &rows[row]);
                if let (Some(document), Ok(row)) = (read_document(&mut reader, &stored), row) {
                    analyzer.document(row, document);
                }
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// Opens a table that the analysis of this commit wrote.
pub(crate) fn open_derived<R: Rows>(snapshot: &Snapshot) -> Result<TableReader<R>> {
    let table = TableReader::open_derived(snapshot.dir())?;
    let of_commit = table.filter(|table| table.generation() == snapshot.manifest.generation);
    of_commit.ok_or_else(|| Error::NotAnalysed { path: snapshot.dir().to_owned() })
}
