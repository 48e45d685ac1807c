//! Number of pages with a main heading by language: a custom analysis in thirty lines:
//!
//!     cargo run --release -p analysis --example headings -- DIR

use std::io::{Write, stdout};

use analysis::{Analyzer, Counter, Counts, Inputs, TableScan, Threads};
use parse::Document;
use store::{PageRow, Snapshot};

#[derive(Clone)]
pub(crate) struct Headings {
    pub(crate) languages: Counter<String>,
}

impl Analyzer for Headings {
    const INPUTS: Inputs = Inputs::DOCUMENTS;
    type Output = Counts<String>;

    fn document(&mut self, page: &PageRow<'_>, document: &Document) {
        if document.headings().any(|heading| heading.level == 1) {
            self.languages.add(page.language.unwrap_or("unknown"));
        }
    }

    fn merge(&mut self, other: Headings) {
        self.languages.merge(other.languages);
    }

    fn finish(self) -> Counts<String> {
        self.languages.finish()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args_os().nth(1).ok_or("usage: headings DIR")?;
    let snapshot = Snapshot::open(dir.as_ref(), None)?;
    let headings = Headings { languages: Counter::new(1_000) };
    let result = TableScan::open(&snapshot, Threads::available())?.run(&headings, &mut |_| ())?;
    for (language, pages) in result.counts {
        writeln!(stdout(), "{language}\t{pages}")?;
    }
    Ok(())
}
