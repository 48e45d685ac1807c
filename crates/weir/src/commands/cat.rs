//! `weir cat`: the pages of a collection, one after the other, to the standard output.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use store::Snapshot;
use stream::{Access, Ask, Format, Given, Outflow, Remote, RemoteError};

use crate::failure::WrongUse;
use crate::known_sites;
use crate::printer::Printer;
use crate::words::counted;

const EXAMPLES: &str = "\
Examples:
  weir cat web > pages.warc.gz                         all pages, as they are stored
  weir cat web --format jsonl --language en | head     one JSON object a page
  weir cat web --site example.org --format text        the text of a site
  weir cat web --part 2/4 --format jsonl               the second of four shares
  weir cat web --from 7.1024.53187                     what comes behind a position
  weir cat web --format urls --status 4xx              what was not found
  weir cat web --where \"words > 500 and host like '%.org'\"   what meets a condition
  weir cat http://host:9347/ --format text             of a collection that `weir serve` shows

Formats: warc, jsonl, text, urls, kept, wet, wat. It reads one commit, and may be run while a crawl goes on. Of each page the
newest stored version comes. A damaged record is left out and told of; the exit code is then 1.";

/// Write the pages of a collection to the standard output.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection, or the URL of a server of one: `http://host:9347/`, `https://host/`.
    dir: String,

    /// Only pages of this site: `https://example.org`, or `example.org`; may be given more than once.
    #[arg(long = "site", value_name = "SITE")]
    sites: Vec<String>,

    /// Only pages of hosts of this domain; may be given more than once.
    #[arg(long = "domain", value_name = "DOMAIN")]
    domains: Vec<String>,

    /// Only pages in this language, by its code; may be given more than once.
    #[arg(long = "language", value_name = "CODE")]
    languages: Vec<String>,

    /// Only pages with this status of HTTP: 404, or 4xx; may be given more than once.
    #[arg(long = "status", value_name = "STATUS")]
    statuses: Vec<String>,

    /// Only pages of this type: text/html, or image/*; may be given more than once.
    #[arg(long = "mime", value_name = "TYPE")]
    mime_types: Vec<String>,

    /// Only pages fetched at this date or later.
    #[arg(long, value_name = "DATE")]
    since: Option<String>,

    /// Only pages fetched before this date.
    #[arg(long, value_name = "DATE")]
    before: Option<String>,

    /// Only pages of which this is true: "status = 200 and size > 10000 and title like '%news%'".
    #[arg(long = "where", value_name = "CONDITION")]
    predicate: Option<String>,

    /// At most so many pages.
    #[arg(long, value_name = "N")]
    max: Option<String>,

    /// Only pages behind this position of an earlier stream.
    #[arg(long, value_name = "POSITION")]
    from: Option<String>,

    /// One of several shares that have every page once together: `1/3`, `2/3`, `3/3`.
    #[arg(long, value_name = "I/K")]
    part: Option<String>,

    /// crawl: as they were fetched; site: site after site.
    #[arg(long, value_name = "ORDER")]
    order: Option<String>,

    /// The format.
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,

    /// What a row of jsonl has, with commas between.
    #[arg(long, value_name = "NAMES")]
    columns: Option<String>,

    /// Read every record before it is forwarded in the format warc, so that damaged ones are left out.
    #[arg(long)]
    verify: bool,

    /// A snapshot by its name or generation, instead of the last commit.
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,

    /// A file with the token that a server wants to be told.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// A file with certificates of authorities that are trusted beside those of the Web, as PEM, for https://.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let ask = ask(args, printer.json())?;
    if ask.form.format.is_compressed() && io::stdout().is_terminal() {
        let format = ask.form.format.name();
        let what =
            format!("{format} is compressed: write it to a file (> pages.warc.gz), or choose --format text");
        return Err(WrongUse(what).into());
    }
    if args.dir.contains("://") {
        return pour_remote(args, ask);
    }
    let damaged = pour(Path::new(&args.dir), &ask, printer)?;
    if damaged == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    let pages = counted(damaged, "page");
    printer
        .complain(&format!("{pages} could not be read; `weir check {}` tells what is damaged", args.dir))?;
    Ok(ExitCode::FAILURE)
}

/// What the arguments ask for, in the words that a URL has for the same.
fn ask(args: &Args, json: bool) -> Result<Ask, WrongUse> {
    let lists = [
        ("site", &args.sites),
        ("domain", &args.domains),
        ("language", &args.languages),
        ("status", &args.statuses),
        ("mime", &args.mime_types),
    ];
    let single = [
        ("since", &args.since),
        ("before", &args.before),
        ("where", &args.predicate),
        ("max", &args.max),
        // Tells the order, unless another is asked for.
        ("from", &args.from),
        ("part", &args.part),
        ("order", &args.order),
        ("format", &args.format),
        ("columns", &args.columns),
        ("snapshot", &args.snapshot),
    ];
    let lists = lists.iter().flat_map(|(name, values)| values.iter().map(|value| (*name, value.as_str())));
    let single = single.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?)));
    let mut ask = Ask::of_pairs(lists.chain(single)).map_err(|error| WrongUse(error.to_string()))?;
    ask.form.verify = args.verify;
    if json && args.format.is_none() {
        ask.form.format = Format::Jsonl;
    }
    Ok(ask)
}

/// Writes everything that is asked for; tells how many pages were damaged.
fn pour(folder: &Path, ask: &Ask, printer: &mut Printer) -> anyhow::Result<u64> {
    let snapshot = Snapshot::open(folder, ask.snapshot().as_deref())?;
    known_sites::find(&snapshot, &ask.request.selection)?;
    let mut outflow = Outflow::open(&snapshot, ask)?;
    let mut out = Sink::new()?;
    let mut damaged = 0;
    while let Some(given) = outflow.next_into(&mut out.pending)? {
        if let Given::Damaged(place, error) = given {
            damaged += 1;
            printer.complain(&format!("page {} is left out: {error}", place.page.0))?;
        }
        out.write_if(PENDING_BYTES)?;
    }
    out.write_if(0)?;
    Ok(damaged)
}

/// Writes what a server sends; it resumes by itself after a break.
fn pour_remote(args: &Args, ask: Ask) -> anyhow::Result<ExitCode> {
    let token = args.token_file.as_deref().map(std::fs::read_to_string).transpose();
    let token = token.map_err(|error| WrongUse(format!("--token-file cannot be read: {error}")))?;
    let authorities = args.ca_file.as_deref().map(std::fs::read).transpose();
    let authorities = authorities.map_err(|error| WrongUse(format!("--ca-file cannot be read: {error}")))?;
    let access = Access {
        token: token.map(|token| token.trim().to_owned()),
        authorities_pem: authorities.unwrap_or_default(),
    };
    let poured = Remote::new(&args.dir, &access, ask).and_then(|mut remote| remote.pour(&mut stdout()?));
    match poured {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(RemoteError::Write(error)) => Err(error).context("cannot write to the standard output"),
        Err(error @ (RemoteError::Address { .. } | RemoteError::Refused { status: 400..=428, .. })) => {
            Err(WrongUse(error.to_string()).into())
        }
        Err(error) => Err(error.into()),
    }
}

/// The standard output, without the buffer that Rust has for lines.
fn stdout() -> Result<File, RemoteError> {
    io::stdout().as_fd().try_clone_to_owned().map(File::from).map_err(RemoteError::Write)
}

/// So much is collected before it is written: a pipe takes no more at once.
const PENDING_BYTES: usize = 64 << 10;

/// What waits for the standard output.
struct Sink {
    file: File,
    pending: Vec<u8>,
}

impl Sink {
    fn new() -> anyhow::Result<Sink> {
        Ok(Sink { file: stdout()?, pending: Vec::with_capacity(2 * PENDING_BYTES) })
    }

    fn write_if(&mut self, more_than: usize) -> anyhow::Result<()> {
        if self.pending.len() > more_than {
            self.file.write_all(&self.pending).context("cannot write to the standard output")?;
            self.pending.clear();
        }
        Ok(())
    }
}
