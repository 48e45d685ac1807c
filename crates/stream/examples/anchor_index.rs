//! The anchor-text index of section 4.2 of the WebBase paper: for every page, the words of the links that lead to it.
//!
//! Phase 1: one thread for each part takes pairs of target and anchor text out of its pages, and writes a sorted run to disk
//! whenever it has many. Phase 2 merges the runs. Memory does not grow with the collection.
//! `cargo run -p stream --example anchor_index -- DIR OUT [PARTS]` writes `OUT/anchors.tsv`: target, words.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use store::{Part, Snapshot, StreamRequest};
use stream::{Column, Handler, HandlerError, HandlerRun, PageView};

/// So many pairs are kept in memory.
const PAIRS: usize = 1_000_000;

struct AnchorTextExtractor {
    folder: PathBuf,
    part: u32,
    runs: u32,
    pairs: BTreeSet<(String, String)>,
}

impl AnchorTextExtractor {
    /// Writes what was collected, in order, and begins anew.
    fn purge(&mut self) -> std::io::Result<()> {
        let path = self.folder.join(format!("run-{}-{}", self.part, self.runs));
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
    fn columns(&self) -> &[Column] {
        &[Column::Links]
    }

    fn process(&mut self, page: &PageView<'_>) -> Result<(), HandlerError> {
        for link in page.links() {
            let words = link.text.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty());
            self.pairs.extend(words.map(|word| (link.url.clone(), word.to_lowercase())));
        }
        if self.pairs.len() < PAIRS {
            return Ok(());
        }
        // A full disk may be emptied; the page comes again then.
        self.purge().map_err(|error| HandlerError::Recoverable(error.to_string()))
    }

    fn finish(&mut self) -> Result<(), HandlerError> {
        self.purge().map_err(|error| HandlerError::Fatal(error.to_string()))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "give the folder of a collection, a folder for the index, and how many parts";
    let folder = PathBuf::from(arguments.next().ok_or(usage)?);
    let out = PathBuf::from(arguments.next().ok_or(usage)?);
    let parts: u32 = arguments.next().map_or(Ok(2), |parts| parts.parse())?;
    fs::create_dir_all(&out)?;
    let snapshot = Snapshot::open(&folder, None)?;
    let extract = |number: u32| {
        let part = Part::new(number, parts).unwrap_or_default();
        let mut extractor =
            AnchorTextExtractor { folder: out.clone(), part: number, runs: 0, pairs: BTreeSet::new() };
        let mut run = HandlerRun::new();
        run.add("anchors", &mut extractor);
        let summary = run.run(&snapshot, &StreamRequest { part, ..StreamRequest::default() })?;
        match summary.stopped.into_iter().next() {
            Some(stopped) => Err(Box::<dyn Error + Send + Sync>::from(stopped.why)),
            None => Ok(extractor.runs),
        }
    };
    let runs = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=parts).map(|number| scope.spawn(move || extract(number))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect::<Result<Vec<u32>, _>>()
    });
    let runs = runs.map_err(|error| error.to_string())?;
    let paths: Vec<PathBuf> = (1..=parts)
        .zip(runs)
        .flat_map(|(part, runs)| (0..runs).map(move |run| format!("run-{part}-{run}")))
        .map(|name| out.join(name))
        .collect();
    merge(&paths, &out.join("anchors.tsv"))?;
    Ok(paths.iter().try_for_each(fs::remove_file)?)
}

/// Merges sorted runs into one line for each target.
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
