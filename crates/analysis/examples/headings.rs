//! How many pages of each language have a main heading? An analysis of one's own, in thirty lines:
//!
//!     cargo run --release -p analysis --example headings -- DIR

use std::io::{Write, stdout};

use analysis::{Analyzer, Cores, Reads, Survey, Tallied, Tally};
use parse::Document;
use store::{PageRow, Snapshot};

#[derive(Clone)]
pub(crate) struct Headings {
    pub(crate) languages: Tally<String>,
}

impl Analyzer for Headings {
    const READS: Reads = Reads::DOCUMENTS;
    type Finding = Tallied<String>;

    fn document(&mut self, page: &PageRow<'_>, document: &Document) {
        if document.headings().any(|heading| heading.level == 1) {
            self.languages.add(page.language.unwrap_or("unknown"));
        }
    }

    fn merge(&mut self, other: Headings) {
        self.languages.merge(other.languages);
    }

    fn finish(self) -> Tallied<String> {
        self.languages.finish()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("which collection?")?;
    let snapshot = Snapshot::open(folder.as_ref(), None)?;
    let headings = Headings { languages: Tally::new(1_000) };
    let found = Survey::open(&snapshot, Cores::all())?.run(&headings, &mut |_| ())?;
    for (language, pages) in found.counts {
        writeln!(stdout(), "{language}\t{pages}")?;
    }
    Ok(())
}
