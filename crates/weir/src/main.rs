//! The `weir` binary: parses the command line, calls the crate that does the work, and prints the result.
//!
//! Every subcommand is a module below `commands/`, named after it. Logic that another program could use belongs in the
//! library crates, not here.

mod background_indexer;
mod commands;
mod crawl_control;
mod crawl_progress;
#[cfg(test)]
mod documented_commands;
mod exit;
mod input;
mod local_workers;
mod open_files;
mod output;
mod output_dir;
mod page_selection;
mod progress_line;
mod seeds;
mod server_auth;
mod settings;
mod signals;
mod site_selection;
mod system;
mod terminal_text;
mod transport;

use std::process::ExitCode;

use ::report::human;
use clap::{Parser, Subcommand};

use crate::commands::collection::{cat, check, compact, export, import, init, sites, snapshots, status};
use crate::commands::crawl::{crawl, demo, gatherer, harvester, manager, refetch, rejudge, seeder, worker};
use crate::commands::inspect::{anchors, parse, robots, url, why};
use crate::commands::lab::{simulate, simweb};
use crate::commands::query::{analyze, index, report, search, serve, similar, sql};
use crate::output::Printer;

/// Crawl part of the Web politely; store, rank, analyse, search and stream it.
#[derive(Parser)]
#[command(name = "weir", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// Print JSON, one object per line.
    #[arg(long, global = true)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  weir demo                                  crawl a synthetic Web on this machine
  weir init web --seed https://example.org/ --accept .example.org --contact me@example.org
  weir crawl web
  weir status web
  weir why web https://example.org/news/
  weir analyze web                           compute ranks, graph structure and tables
  weir index web                             build the full-text index
  weir search web 'garden chair inlinks:>=10'
  weir similar web https://example.org/      find similar pages
  weir sql web 'select outcome, count(*) from fetches group by 1'
  weir cat web --format jsonl | head         stream pages
  weir report web                            write a report with figures and tables
  weir serve web                             serve search page, dashboard and API
  weir simulate --synthetic                  compare strategies without network access
  weir simweb --sites 1000 --seed 7          serve a synthetic Web on loopback
  weir url 'HTTP://Example.com/a/../b?utm_source=x'
  weir parse page.html --url https://example.com/
  weir robots robots.txt --agent weir https://example.com/private/";

#[derive(Subcommand)]
enum Command {
    Init(init::Args),
    Crawl(crawl::Args),
    Status(status::Args),
    Sites(sites::Args),
    Why(why::Args),
    Refetch(refetch::Args),
    Rejudge(rejudge::Args),
    Url(url::Args),
    Robots(robots::Args),
    Parse(parse::Args),
    Import(import::Args),
    Export(export::Args),
    Cat(cat::Args),
    Analyze(analyze::Args),
    Anchors(anchors::Args),
    Index(index::Args),
    Search(search::Args),
    Similar(similar::Args),
    Sql(sql::Args),
    Report(report::Args),
    Serve(serve::Args),
    Check(check::Args),
    Snapshots(snapshots::Args),
    Compact(compact::Args),
    Simulate(simulate::Args),
    Simweb(simweb::Args),
    Demo(demo::Args),
    Manager(manager::Args),
    Harvester(harvester::Args),
    Worker(worker::Args),
    Gatherer(gatherer::Args),
    Seeder(seeder::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    open_files::raise_limit();
    let mut printer = Printer::new(cli.json);
    let result = match cli.command {
        Command::Init(args) => init::run(args, &mut printer),
        Command::Crawl(args) => crawl::run(&args, &mut printer),
        Command::Status(args) => status::run(&args, &mut printer),
        Command::Sites(args) => sites::run(&args, &mut printer),
        Command::Why(args) => why::run(&args, &mut printer),
        Command::Refetch(args) => refetch::run(&args, &mut printer),
        Command::Rejudge(args) => rejudge::run(&args, &mut printer),
        Command::Url(args) => url::run(args, &mut printer),
        Command::Robots(args) => robots::run(args, &mut printer),
        Command::Parse(args) => parse::run(args, &mut printer),
        Command::Import(args) => import::run(&args, &mut printer),
        Command::Export(args) => export::run(&args, &mut printer),
        Command::Cat(args) => cat::run(&args, &mut printer),
        Command::Analyze(args) => analyze::run(&args, &mut printer),
        Command::Anchors(args) => anchors::run(&args, &mut printer),
        Command::Index(args) => index::run(&args, &mut printer),
        Command::Search(args) => search::run(&args, &mut printer),
        Command::Similar(args) => similar::run(&args, &mut printer),
        Command::Sql(args) => sql::run(&args, &mut printer),
        Command::Report(args) => report::run(&args, &mut printer),
        Command::Serve(args) => serve::run(&args, &mut printer),
        Command::Check(args) => check::run(&args, &mut printer),
        Command::Snapshots(args) => snapshots::run(&args, &mut printer),
        Command::Compact(args) => compact::run(&args, &mut printer),
        Command::Simulate(args) => simulate::run(&args, &mut printer),
        Command::Demo(args) => demo::run(&args, &mut printer),
        Command::Simweb(args) => simweb::run(args, &mut printer),
        Command::Manager(args) => manager::run(&args, &mut printer),
        Command::Harvester(args) => harvester::run(&args, &mut printer),
        Command::Worker(args) => worker::run(&args, &mut printer),
        Command::Gatherer(args) => gatherer::run(&args, &mut printer),
        Command::Seeder(args) => seeder::run(&args, &mut printer),
    };
    exit::exit_code(result.and_then(|code| printer.finish().map(|()| code)))
}
