//! In how many pages does each word occur? The analyzer of figure 16 of the WebBase paper, with one thread for each part:
//! `cargo run -p stream --example term_frequencies -- DIR [PARTS]`.
#![allow(clippy::print_stdout, reason = "it is its answer")]

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::path::PathBuf;

use store::{Part, Snapshot, StreamRequest};
use stream::{Column, Handler, HandlerError, HandlerRun, PageView};

#[derive(Default)]
struct TermFrequencies {
    pages: HashMap<String, u64>,
    seen: HashSet<String>,
}

impl Handler for TermFrequencies {
    fn columns(&self) -> &[Column] {
        &[Column::Text]
    }

    fn process(&mut self, page: &PageView<'_>) -> Result<(), HandlerError> {
        let Some(document) = page.document else { return Ok(()) };
        let words = document.text.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty());
        self.seen.extend(words.map(str::to_lowercase));
        for word in self.seen.drain() {
            *self.pages.entry(word).or_default() += 1;
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("give the folder of a collection")?);
    let parts: u32 = arguments.next().map_or(Ok(2), |parts| parts.parse())?;
    let snapshot = Snapshot::open(&folder, None)?;
    let of_part = |number: u32| {
        let part = Part::new(number, parts).unwrap_or_default();
        let mut terms = TermFrequencies::default();
        let mut run = HandlerRun::new();
        run.add("terms", &mut terms);
        run.run(&snapshot, &StreamRequest { part, ..StreamRequest::default() }).map(|_| terms)
    };
    let mut all: HashMap<String, u64> = HashMap::new();
    std::thread::scope(|scope| -> store::Result<()> {
        let threads: Vec<_> = (1..=parts).map(|number| scope.spawn(move || of_part(number))).collect();
        for thread in threads {
            let terms = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            terms.pages.into_iter().for_each(|(word, pages)| *all.entry(word).or_default() += pages);
        }
        Ok(())
    })?;
    let mut most: Vec<(String, u64)> = all.into_iter().collect();
    most.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    most.iter().take(100).for_each(|(word, pages)| println!("{pages}\t{word}"));
    Ok(())
}
