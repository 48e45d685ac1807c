//! `weir search`: search of pages by text, links and metadata.

mod print;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use analysis::{LinkLookup, LookupError};
use clap::ValueEnum;
use model::UrlRules;
use search::{LinkMatches, Query, SearchOptions, SearchResponse, Searcher};
use store::Snapshot;

use crate::exit::UsageError;
use crate::output::Printer;
use crate::settings::SetArgs;

const HELP: &str = "\
Query syntax:
  chair table            all words, stemmed
  \"garden chair\"         phrase
  chair NEAR/5 garden    proximity: at most five words apart, in any order
  a AND b, a OR b        both; either (AND binds more tightly)
  NOT a, -a              negation
  ( )                    grouping
  pre* *end in*en *sub*  wildcards: `*` stands for any letters, or none
  title: url: anchor:    word or phrase in the title, the URL, the anchor text; title:(a OR b)
  site:www.example.org   pages of a site; domain:example.org of a domain with its subdomains
  lang:en  type:html     language code; MIME type
  date:>=2024-01         date: a year, a month or a day after < <= = >= >
  depth:<3 status:200 size:>100k inlinks:>=10 outlinks:0 pagerank:>0.001
  links-to:URL           pages that link to a page; linked-from:URL pages that a page links to
  related:URL            pages with common inlinks or outlinks

Examples:
  weir search web 'garden chair'
  weir search web '\"garden chair\" inlinks:>=10 -site:shop.example.org'
  weir search web 'title:weir lang:en date:>=2024' --sort date --limit 20
  weir search web --any 'what is known of weirs in small rivers?'
  weir search web 'links-to:https://example.org/ type:html' --json | jq -r '.hits[].url'

If no page has all words, pages with any of them are shown, unless the words are joined by AND.
Needs an index (`weir index`). Link conditions (inlinks:, pagerank:, links-to: and the like) and
PageRank in the ranking need `weir analyze`. Put `--` before a query that begins with a hyphen.
See docs/search.md.";

/// Search pages by text, links and metadata.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    /// Query; several words need no quotes.
    #[arg(required = true)]
    query: Vec<String>,

    /// Maximum number of results.
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,

    /// Skip the first N results.
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: usize,

    /// Sort order.
    #[arg(long, value_enum, default_value_t = Sort::Relevance)]
    sort: Sort,

    /// Match pages that contain any word of the query (plain text, no operators).
    #[arg(long)]
    any: bool,

    /// Show the score contribution of each term and field.
    #[arg(long)]
    explain: bool,

    /// Count results by site, language, year and MIME type.
    #[arg(long)]
    facets: bool,

    /// Show near duplicates instead of collapsing them.
    #[arg(long)]
    show_duplicates: bool,

    #[command(flatten)]
    set: SetArgs,
}

impl Args {
    /// Arguments for the best results of a query.
    pub(crate) fn best(dir: &Path, query: &str, limit: usize) -> Args {
        Args {
            dir: dir.to_owned(),
            query: vec![query.to_owned()],
            limit,
            offset: 0,
            sort: Sort::Relevance,
            any: false,
            explain: false,
            facets: false,
            show_duplicates: false,
            set: SetArgs::default(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// Best first.
    Relevance,
    /// Newest first.
    Date,
    /// Highest PageRank first.
    Rank,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let text = args.query.join(" ");
    let query = parse_query(&text, args.any)?;
    let settings = args.set.load(&args.dir)?;
    let snapshot = Snapshot::open(&args.dir, None)?;
    let links = resolve_links(&settings.url_rules(), &snapshot, &query)?;
    let searcher = Searcher::open(snapshot, settings.ranking())?.with_agent(settings.agent());
    let options = SearchOptions {
        offset: args.offset,
        limit: args.limit,
        sort: match args.sort {
            Sort::Relevance => search::Sort::Relevance,
            Sort::Date => search::Sort::Date,
            Sort::Rank => search::Sort::Rank,
        },
        facets: args.facets,
        explain: args.explain,
        collapse: !args.show_duplicates,
        relax: true,
        ..SearchOptions::default()
    };
    let start = Instant::now();
    let result = searcher.search(&query, &links, &options)?;
    let seconds = start.elapsed().as_secs_f64();
    if printer.json() {
        printer.object(&SearchResponse::new(&result, &options, seconds))?;
    } else {
        print::print(&result, args.offset, seconds, printer)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Parses a query. The error message marks the position of the mistake.
fn parse_query(text: &str, any: bool) -> Result<Query, UsageError> {
    if any {
        return Query::any_word(text).ok_or_else(|| UsageError("the query contains no word".to_owned()));
    }
    Query::parse(text).map_err(|error| {
        let pointed = error.point_at(text).replace('\n', "\n  ");
        UsageError(format!("{error}\n\n  {pointed}\n"))
    })
}

/// Resolves the link conditions of a query to pages.
fn resolve_links(rules: &UrlRules, snapshot: &Snapshot, query: &Query) -> anyhow::Result<LinkMatches> {
    let lookup = LinkLookup::new(snapshot, rules);
    LinkMatches::resolve(query, |condition| lookup.pages(condition.relation, &condition.url))
        .map_err(|error| usage_error(snapshot, error))
}

fn usage_error(snapshot: &Snapshot, error: LookupError) -> anyhow::Error {
    match error {
        LookupError::InvalidUrl { url, error } => inspect::invalid_url_error(snapshot, &url, error).into(),
        LookupError::UnknownPage { ref url } => {
            let known =
                inspect::suggest_sites(snapshot, url).map_or_else(String::new, |known| format!("; {known}"));
            UsageError(format!("{error}{known}")).into()
        }
        LookupError::NotAnalysed { .. } => UsageError(error.to_string()).into(),
        LookupError::Analysis(error) => error.into(),
        error => error.into(),
    }
}
