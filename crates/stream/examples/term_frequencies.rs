//! Document frequency of each word: the analyzer of figure 16 of the WebBase paper, with one thread per shard:
//! `cargo run -p stream --example term_frequencies -- DIR [SHARDS]`.
#![allow(clippy::print_stdout, reason = "the result of the program")]

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::path::PathBuf;

use store::{PageStreamRequest, Snapshot, StreamPartition};
use stream::{Handler, HandlerError, HandlerRun, OutputColumn, PageView};

#[derive(Default)]
struct TermFrequencies {
    pages: HashMap<String, u64>,
    seen: HashSet<String>,
}

impl Handler for TermFrequencies {
    fn columns(&self) -> &[OutputColumn] {
        &[OutputColumn::Text]
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
    let dir = PathBuf::from(arguments.next().ok_or("usage: term_frequencies DIR [SHARDS]")?);
    let shards: u32 = arguments.next().map_or(Ok(2), |shards| shards.parse())?;
    let snapshot = Snapshot::open(&dir, None)?;
    let count_shard = |number: u32| {
        let part = StreamPartition::new(number, shards).unwrap_or_default();
        let mut terms = TermFrequencies::default();
        let mut run = HandlerRun::new();
        run.add("terms", &mut terms);
        run.run(&snapshot, &PageStreamRequest { partition: part, ..PageStreamRequest::default() })
            .map(|_| terms)
    };
    let mut all: HashMap<String, u64> = HashMap::new();
    std::thread::scope(|scope| -> store::Result<()> {
        let threads: Vec<_> = (1..=shards).map(|number| scope.spawn(move || count_shard(number))).collect();
        for thread in threads {
            let terms = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            terms.pages.into_iter().for_each(|(word, pages)| *all.entry(word).or_default() += pages);
        }
        Ok(())
    })?;
    let mut frequent: Vec<(String, u64)> = all.into_iter().collect();
    frequent.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    frequent.iter().take(100).for_each(|(word, pages)| println!("{pages}\t{word}"));
    Ok(())
}
