//! The `weir` binary: reads the command line, calls the crate that does the work, prints what it answers.
//!
//! Every subcommand is one file under `commands/`, named after it. This crate holds no logic that another
//! program could want: that belongs into the crate that owns the noun.

mod carriers;
mod commands;
mod door;
mod failure;
mod index_keeper;
mod input;
mod interrupt;
mod known_sites;
mod local_workers;
mod printer;
mod process;
mod progress;
mod seeds;
mod settings;
mod steering;

use std::process::ExitCode;

use ::report::words;
use clap::{Parser, Subcommand};

use crate::commands::{
    analyze, anchors, cat, check, compact, crawl, demo, export, gatherer, harvester, import, index, init,
    manager, parse, report, robots, search, seeder, serve, similar, simulate, simweb, sites, snapshots, sql,
    status, url, why, worker,
};
use crate::printer::Printer;

/// Crawl a chosen part of the Web politely, keep it, rank it, describe it, search it, stream it.
#[derive(Parser)]
#[command(name = "weir", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// Write one JSON object per line instead of text for people.
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
  weir analyze web                           rank pages and sites, find their structure
  weir index web                             make its text searchable
  weir search web 'garden chair inlinks:>=10'
  weir similar web https://example.org/      pages that are like a page
  weir sql web 'select outcome, count(*) from fetches group by 1'
  weir cat web --format jsonl | head         its pages, one after the other
  weir report web                            describe it: figures, tables, their data
  weir serve web                             search page, dashboard and API in a browser
  weir simulate --synthetic                  compare strategies without fetching anything
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
    let mut printer = Printer::new(cli.json);
    let answer = match cli.command {
        Command::Init(args) => init::run(args, &mut printer),
        Command::Crawl(args) => crawl::run(&args, &mut printer),
        Command::Status(args) => status::run(&args, &mut printer),
        Command::Sites(args) => sites::run(&args, &mut printer),
        Command::Why(args) => why::run(&args, &mut printer),
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
    failure::exit_code(answer.and_then(|code| printer.finish().map(|()| code)))
}
