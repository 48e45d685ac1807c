//! `weir cat`: stream of pages of a collection, or of a Weir server, to standard output.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use store::Snapshot;
use stream::{OutputFormat, RemoteAccess, RemoteError, RemoteStream, StreamItem, StreamQuery, StreamWriter};

use crate::exit::UsageError;
use crate::human::plural;
use crate::output::Printer;
use crate::site_selection;
use crate::terminal_text::{EscapeStyle, TerminalWriter};

const EXAMPLES: &str = "\
Examples:
  weir cat web > pages.warc.gz                         all pages, as stored
  weir cat web --format jsonl --language en | head     one JSON object per page
  weir cat web --site example.org --format text        the text of a site
  weir cat web --shard 2/4 --format jsonl              the second of four shards
  weir cat web --after 7.1024.53187                    resume an earlier stream
  weir cat web --format urls --status 4xx              URLs with client errors
  weir cat web --where \"word_count > 500 and host like '%.org'\"   filter on columns
  weir cat http://host:9347/ --format text             pages of a Weir server

Reads one commit; safe to run during a crawl. Writes the newest stored version of each page. A
damaged record is skipped with a warning, and the exit code is 1.";

/// Write pages of a collection to standard output.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory, or URL of a Weir server.
    source: String,

    /// Only pages of this site, `https://example.org` or `example.org`; repeatable.
    #[arg(long = "site", value_name = "SITE")]
    sites: Vec<String>,

    /// Only pages of this domain and its subdomains; repeatable.
    #[arg(long = "domain", value_name = "DOMAIN")]
    domains: Vec<String>,

    /// Only pages with this language code; repeatable.
    #[arg(long = "language", value_name = "CODE")]
    languages: Vec<String>,

    /// Only pages with this HTTP status (404 or 4xx); repeatable.
    #[arg(long = "status", value_name = "STATUS")]
    statuses: Vec<String>,

    /// Only this MIME type, such as text/html or image/*; repeatable.
    #[arg(long = "mime-type", value_name = "TYPE")]
    mime_types: Vec<String>,

    /// Only pages fetched at or after this date.
    #[arg(long, value_name = "DATE")]
    since: Option<String>,

    /// Only pages fetched before this date.
    #[arg(long, value_name = "DATE")]
    before: Option<String>,

    /// Filter on columns: "status = 200 and body_bytes > 10000 and title like '%news%'".
    #[arg(long = "where", value_name = "CONDITION")]
    predicate: Option<String>,

    /// Maximum number of pages.
    #[arg(long, value_name = "N")]
    limit: Option<String>,

    /// Resume after this cursor of an earlier stream.
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,

    /// Shard I of K; all shards together contain each page once.
    #[arg(long, value_name = "I/K")]
    shard: Option<String>,

    /// `crawl` (fetch order) or `site` (grouped by site).
    #[arg(long, value_name = "ORDER")]
    order: Option<String>,

    /// Output format: warc, jsonl, text, urls, simplified-html, wet or wat.
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,

    /// Columns of jsonl, comma-separated.
    #[arg(long, value_name = "NAMES")]
    columns: Option<String>,

    /// Verify each record before writing it (format warc); skip damaged records.
    #[arg(long)]
    verify: bool,

    /// Snapshot name or generation (default: last commit).
    #[arg(long, value_name = "NAME")]
    snapshot: Option<String>,

    /// File with the access token of the server.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// PEM file with additional CA certificates.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let query = stream_query(args, printer.json())?;
    if query.output.format.is_compressed() && io::stdout().is_terminal() {
        let format = query.output.format.name();
        let message =
            format!("{format} is compressed: redirect it to a file (> pages.warc.gz) or use --format text");
        return Err(UsageError(message).into());
    }
    if args.source.contains("://") {
        return write_remote_pages(args, query);
    }
    let damaged = write_pages(Path::new(&args.source), &query, printer)?;
    if damaged == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    let pages = plural(damaged, "page");
    printer.warn(&format!("{pages} damaged and skipped; run `weir check {}`", args.source))?;
    Ok(ExitCode::FAILURE)
}

/// Builds the query from the arguments, which have the same names as the parameters of `/stream`.
fn stream_query(args: &Args, json: bool) -> Result<StreamQuery, UsageError> {
    let lists = [
        ("site", &args.sites),
        ("domain", &args.domains),
        ("language", &args.languages),
        ("status", &args.statuses),
        ("mime_type", &args.mime_types),
    ];
    let single = [
        ("since", &args.since),
        ("before", &args.before),
        ("where", &args.predicate),
        ("limit", &args.limit),
        // Before `order`: a cursor contains the order of its stream, which an explicit order overrides.
        ("after", &args.after),
        ("shard", &args.shard),
        ("order", &args.order),
        ("format", &args.format),
        ("columns", &args.columns),
        ("snapshot", &args.snapshot),
    ];
    let lists = lists.iter().flat_map(|(name, values)| values.iter().map(|value| (*name, value.as_str())));
    let single = single.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?)));
    let mut query =
        StreamQuery::from_pairs(lists.chain(single)).map_err(|error| UsageError(error.to_string()))?;
    query.output.verify = args.verify;
    if json && args.format.is_none() {
        query.output.format = OutputFormat::Jsonl;
    }
    Ok(query)
}

/// Writes all pages of a query. Returns the number of damaged pages, which are skipped.
fn write_pages(dir: &Path, query: &StreamQuery, printer: &mut Printer) -> anyhow::Result<u64> {
    let snapshot = Snapshot::open(dir, query.snapshot().as_deref())?;
    site_selection::find(&snapshot, &query.request.filter)?;
    let mut writer = StreamWriter::open(&snapshot, query)?;
    let mut out = Sink::new(query.output.format)?;
    let mut damaged = 0;
    while let Some(item) = writer.write_next(&mut out.pending)? {
        if let StreamItem::Corrupt(position, error) = item {
            damaged += 1;
            printer.warn(&format!("page {} skipped: {error}", position.page.0))?;
        }
        out.write_if(PENDING_BYTES)?;
    }
    out.write_if(0)?;
    Ok(damaged)
}

/// Writes the pages that a server sends; the client resumes after an interrupted connection.
fn write_remote_pages(args: &Args, query: StreamQuery) -> anyhow::Result<ExitCode> {
    let token = args.token_file.as_deref().map(std::fs::read_to_string).transpose();
    let token = token.map_err(|error| UsageError(format!("--token-file: cannot read the file: {error}")))?;
    let ca_pem = args.ca_file.as_deref().map(std::fs::read).transpose();
    let ca_pem = ca_pem.map_err(|error| UsageError(format!("--ca-file: cannot read the file: {error}")))?;
    let access = RemoteAccess {
        token: token.map(|token| token.trim().to_owned()),
        ca_pem: ca_pem.unwrap_or_default(),
    };
    let format = query.output.format;
    let downloaded = RemoteStream::new(&args.source, &access, query)
        .and_then(|mut remote| remote.download(&mut stdout(format)?));
    match downloaded {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(RemoteError::Write(error)) => Err(error).context("cannot write to standard output"),
        Err(error @ (RemoteError::InvalidUrl { .. } | RemoteError::Rejected { status: 400..=428, .. })) => {
            Err(UsageError(error.to_string()).into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Standard output without the line buffer of the standard library: byte for byte, unless it is a terminal, which pages must not control.
fn stdout(format: OutputFormat) -> Result<Box<dyn Write>, RemoteError> {
    let file = io::stdout().as_fd().try_clone_to_owned().map(File::from).map_err(RemoteError::Write)?;
    if !file.is_terminal() {
        return Ok(Box::new(file));
    }
    let style = if format == OutputFormat::Jsonl { EscapeStyle::Json } else { EscapeStyle::Text };
    Ok(Box::new(TerminalWriter::new(file, style)))
}

/// Size of a write: the capacity of a pipe on Linux.
const PENDING_BYTES: usize = 64 << 10;

/// Buffered writer to standard output.
struct Sink {
    out: Box<dyn Write>,
    pending: Vec<u8>,
}

impl Sink {
    fn new(format: OutputFormat) -> anyhow::Result<Sink> {
        Ok(Sink { out: stdout(format)?, pending: Vec::with_capacity(2 * PENDING_BYTES) })
    }

    /// Writes the buffer if it has more than this number of bytes.
    fn write_if(&mut self, more_than: usize) -> anyhow::Result<()> {
        if self.pending.len() > more_than {
            self.out.write_all(&self.pending).context("cannot write to standard output")?;
            self.pending.clear();
        }
        Ok(())
    }
}
