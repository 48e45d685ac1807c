//! `weir search`: which pages of a collection say what somebody wants to know?

mod shown;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use analysis::{LinkError, LinkLookup};
use clap::ValueEnum;
use model::UrlRules;
use search::{LinkAnswers, Query, Request, Searcher, Told};
use store::Snapshot;

use crate::failure::WrongUse;
use crate::printer::Printer;
use crate::settings::Settings;

const LANGUAGE: &str = "\
The query:
  chair table            pages with both words, in any of their forms
  \"garden chair\"         these words in a row
  chair NEAR/5 garden    at most five words apart, in any order
  a AND b, a OR b        both; one or the other (AND binds more tightly)
  NOT a, -a              without
  ( )                    what belongs together
  pre*  *sub*            words that begin so; words that have it within
  title: url: anchor:    a word or a phrase in the title, the URL, the words of links to the page
  site:www.example.org   pages of a site; domain:example.org of all sites under a domain
  lang:en  type:html     by language, by type of content
  date:>=2024-01         by date: a year, a month or a day after < <= = >= >
  depth:<3 status:200 size:>100k inlinks:>=10 outlinks:0 pagerank:>0.001
  links-to:URL           pages that link to a page; linked-from:URL that a page links to;
  related:URL            pages that have links in common with a page

Examples:
  weir search web 'garden chair'
  weir search web '\"garden chair\" inlinks:>=10 -site:shop.example.org'
  weir search web 'title:weir lang:en date:>=2024' --sort date --count 20
  weir search web --any 'what is known of weirs in small rivers?'
  weir search web 'links-to:https://example.org/ type:html' --json | jq -r '.hits[].url'

`weir index` makes a collection searchable. What links say (inlinks:, pagerank:, links-to: and the
like, and the order of the pages found) is known after `weir analyze`. A query that begins with a
hyphen comes after `--`. More is in docs/search.md.";

/// Find pages by their text, their links, and what else is known of them.
#[derive(clap::Args)]
#[command(after_help = LANGUAGE)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,

    /// What to look for; several words need no quotes around them.
    #[arg(required = true)]
    query: Vec<String>,

    /// So many pages.
    #[arg(long, value_name = "N", default_value_t = 10)]
    count: usize,

    /// After so many that are passed over.
    #[arg(long, value_name = "N", default_value_t = 0)]
    from: usize,

    /// In which order.
    #[arg(long, value_enum, default_value_t = Sort::Relevance)]
    sort: Sort,

    /// Take the query as plain text: pages with any of its words, those with more and rarer ones first.
    #[arg(long)]
    any: bool,

    /// Tell of each page where its score comes from.
    #[arg(long)]
    explain: bool,

    /// Tell how many of the pages are of which site, language, year and type.
    #[arg(long)]
    facets: bool,

    /// Show near duplicates of a page, too.
    #[arg(long)]
    all: bool,
}

impl Args {
    /// The best pages for a query, and nothing else.
    pub(crate) fn best(dir: &Path, query: &str, count: usize) -> Args {
        Args {
            dir: dir.to_owned(),
            query: vec![query.to_owned()],
            count,
            from: 0,
            sort: Sort::Relevance,
            any: false,
            explain: false,
            facets: false,
            all: false,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// The best first.
    Relevance,
    /// The newest first.
    Date,
    /// The highest PageRank first.
    Rank,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let text = args.query.join(" ");
    let query = read(&text, args.any)?;
    let settings = Settings::load(&args.dir)?;
    let snapshot = Snapshot::open(&args.dir, None)?;
    let links = answer_links(&settings.url_rules(), &snapshot, &query)?;
    let searcher = Searcher::open(snapshot, settings.ranking())?;
    let request = Request {
        from: args.from,
        count: args.count,
        sort: match args.sort {
            Sort::Relevance => search::Sort::Relevance,
            Sort::Date => search::Sort::Date,
            Sort::Rank => search::Sort::Rank,
        },
        facets: args.facets,
        explain: args.explain,
        fold: !args.all,
        ..Request::default()
    };
    let start = Instant::now();
    let answer = searcher.search(&query, &links, &request)?;
    let seconds = start.elapsed().as_secs_f64();
    if printer.json() {
        printer.object(&Told::new(&answer, &request, seconds))?;
    } else {
        shown::print(&answer, args.from, seconds, &args.dir, printer)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The query; what is wrong with it is pointed at.
fn read(text: &str, any: bool) -> Result<Query, WrongUse> {
    if any {
        return Query::about(text).ok_or_else(|| WrongUse("the query has no word; write one".to_owned()));
    }
    Query::parse(text).map_err(|error| {
        let pointed = error.pointed(text).replace('\n', "\n  ");
        WrongUse(format!("{error}\n\n  {pointed}\n"))
    })
}

/// The pages that conditions on links mean.
fn answer_links(rules: &UrlRules, snapshot: &Snapshot, query: &Query) -> anyhow::Result<LinkAnswers> {
    let lookup = LinkLookup::new(snapshot, rules);
    LinkAnswers::gather(query, |condition| lookup.pages(condition.kind, &condition.url))
        .map_err(|error| told(snapshot, error))
}

fn told(snapshot: &Snapshot, error: LinkError) -> anyhow::Error {
    match error {
        LinkError::NoUrl { url, rejected } => crawl::mistyped_url(snapshot, &url, rejected).into(),
        LinkError::Unknown { ref url } => {
            let known =
                crawl::suggest_sites(snapshot, url).map_or_else(String::new, |known| format!("; {known}"));
            WrongUse(format!("{error}{known}")).into()
        }
        LinkError::NotAnalysed { .. } => WrongUse(error.to_string()).into(),
        LinkError::Analysis(error) => error.into(),
        error => error.into(),
    }
}
