//! Anchor-text index of section 4.2 of the WebBase paper: for each page, the words of its inlinks.
//!
//! Phase 1: one thread per shard extracts pairs of target and anchor word, and writes a sorted run to disk when its buffer is
//! full. Phase 2 merges the runs. Memory does not grow with the collection.
//! `cargo run -p stream --example anchor_index -- DIR OUT [SHARDS]` writes `OUT/anchors.tsv`: target, words.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use store::{PageStreamRequest, Snapshot, StreamPartition};
use stream::{Handler, HandlerError, HandlerRun, OutputColumn, PageView};

/// Maximum number of pairs in memory.
const MAX_PAIRS: usize = 1_000_000;

struct AnchorTextExtractor {
    dir: PathBuf,
    part: u32,
    runs: u32,
    pairs: BTreeSet<(String, String)>,
}

impl AnchorTextExtractor {
    /// Writes the pairs as a sorted run and clears them.
    fn purge(&mut self) -> std::io::Result<()> {
        let path = self.dir.join(format!("run-{}-{}", self.part, self.runs));
        let mut out = BufWriter::new(File::create(path)?);
        for (target, word) in &self.pairs {
            writeln!(out, "{target}\t{word}")?;
        }
        out.flush()?;
        self.pairs.clear();
        self.runs += 1;
        Ok(())
    }
}

impl Handler for AnchorTextExtractor {
    fn columns(&self) -> &[OutputColumn] {
        &[OutputColumn::Links]
    }

    fn process(&mut self, page: &PageView<'_>) -> Result<(), HandlerError> {
        for link in page.links() {
            let words =
                link.anchor.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty());
            self.pairs.extend(words.map(|word| (link.url.clone(), word.to_lowercase())));
        }
        if self.pairs.len() < MAX_PAIRS {
            return Ok(());
        }
        // Space may be freed on a full disk, so the page is retried.
        self.purge().map_err(|error| HandlerError::Recoverable(error.to_string()))
    }

    fn finish(&mut self) -> Result<(), HandlerError> {
        self.purge().map_err(|error| HandlerError::Fatal(error.to_string()))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: anchor_index DIR OUT [SHARDS]";
    let collection = PathBuf::from(arguments.next().ok_or(usage)?);
    let out = PathBuf::from(arguments.next().ok_or(usage)?);
    let shards: u32 = arguments.next().map_or(Ok(2), |shards| shards.parse())?;
    fs::create_dir_all(&out)?;
    let snapshot = Snapshot::open(&collection, None)?;
    let extract = |number: u32| {
        let part = StreamPartition::new(number, shards).unwrap_or_default();
        let mut extractor =
            AnchorTextExtractor { dir: out.clone(), part: number, runs: 0, pairs: BTreeSet::new() };
        let mut run = HandlerRun::new();
        run.add("anchors", &mut extractor);
        let summary =
            run.run(&snapshot, &PageStreamRequest { partition: part, ..PageStreamRequest::default() })?;
        match summary.stopped_handlers.into_iter().next() {
            Some(stopped) => Err(Box::<dyn Error + Send + Sync>::from(stopped.error)),
            None => Ok(extractor.runs),
        }
    };
    let runs = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=shards).map(|number| scope.spawn(move || extract(number))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect::<Result<Vec<u32>, _>>()
    });
    let runs = runs.map_err(|error| error.to_string())?;
    let paths: Vec<PathBuf> = (1..=shards)
        .zip(runs)
        .flat_map(|(part, runs)| (0..runs).map(move |run| format!("run-{part}-{run}")))
        .map(|name| out.join(name))
        .collect();
    merge(&paths, &out.join("anchors.tsv"))?;
    Ok(paths.iter().try_for_each(fs::remove_file)?)
}

/// Merges sorted runs into one line per target.
fn merge(runs: &[PathBuf], index: &Path) -> std::io::Result<()> {
    let mut lines = Vec::new();
    for run in runs {
        lines.push(BufReader::new(File::open(run)?).lines().peekable());
    }
    let mut out = BufWriter::new(File::create(index)?);
    let mut last = (String::new(), String::new());
    loop {
        let smallest = lines
            .iter_mut()
            .filter_map(|lines| match lines.peek() {
                Some(Ok(line)) => Some((pair(line), lines)),
                _ => None,
            })
            .min_by(|(a, _), (b, _)| a.cmp(b));
        let Some((next, lines)) = smallest else { break };
        lines.next().transpose()?;
        if next == last {
            continue;
        }
        match next.0 == last.0 {
            true => write!(out, " {}", next.1)?,
            false if last.0.is_empty() => write!(out, "{}\t{}", next.0, next.1)?,
            false => write!(out, "\n{}\t{}", next.0, next.1)?,
        }
        last = next;
    }
    writeln!(out)?;
    out.flush()
}

fn pair(line: &str) -> (String, String) {
    let (target, word) = line.split_once('\t').unwrap_or((line, ""));
    (target.to_owned(), word.to_owned())
}
