//! `weir robots`: what a robots.txt says about URLs, and which of its lines says it.

use std::fs::File;
use std::io::{self, Read};
use std::process::ExitCode;

use anyhow::Context;
use parse::{ROBOTS_LIMIT_BYTES, RobotsRules};
use serde::Serialize;

use crate::failure::WrongUse;
use crate::input;
use crate::printer::{Meaning, Printer};

const EXAMPLES: &str = "\
Examples:
  weir robots robots.txt --agent weir https://example.com/private/ /cart?id=1
  curl -s https://example.com/robots.txt | weir robots - --agent weir /search
  weir robots robots.txt --agent weir --json < urls.txt";

/// Tell whether a robots.txt lets a crawler fetch URLs, and which rule decides (RFC 9309).
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The robots.txt; `-` reads it from standard input, and then the URLs must be arguments.
    file: String,

    /// The crawler's product token, as in `User-agent: NAME`.
    #[arg(long, value_name = "NAME")]
    agent: String,

    /// Absolute URLs or paths; without any, one per line from standard input.
    #[arg(value_name = "URL")]
    urls: Vec<String>,
}

/// One decision, as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    url: &'a str,
    allowed: bool,
    rule: Option<&'a str>,
    line: Option<u32>,
}

pub(crate) fn run(args: Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let Args { file, agent, urls } = args;
    if file == "-" && urls.is_empty() {
        let sentence =
            "standard input cannot be both the robots.txt and the URLs; give the URLs as arguments";
        return Err(WrongUse(sentence.to_owned()).into());
    }
    let rules = RobotsRules::parse(&read(&file)?, &agent);
    input::for_each_item(&urls, |url| answer(&rules, url, printer))?;
    Ok(ExitCode::SUCCESS)
}

fn answer(rules: &RobotsRules, url: &str, printer: &mut Printer) -> anyhow::Result<()> {
    let decision = rules.decide_url(url);
    let (rule, line) = decision.rule.map(|rule| (rule.text.as_str(), rule.line)).unzip();
    if printer.json() {
        return printer.object(&Answer { url, allowed: decision.allowed, rule, line });
    }
    let verdict = if decision.allowed {
        printer.paint(Meaning::Good, "allowed  ")
    } else {
        printer.paint(Meaning::Bad, "forbidden")
    };
    let reason = match rule.zip(line) {
        Some((rule, line)) => format!("line {line}: {rule}"),
        None => "no rule matches".to_owned(),
    };
    printer.line(&format!("{verdict} {url}  {}", printer.paint(Meaning::Aside, &reason)))
}

/// The part of the file that counts, and one byte more to tell that there is more.
fn read(file: &str) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = ROBOTS_LIMIT_BYTES as u64 + 1;
    let read = if file == "-" {
        io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        let source = File::open(file).map_err(|error| WrongUse(format!("cannot open {file}: {error}")))?;
        source.take(limit).read_to_end(&mut bytes)
    };
    read.with_context(|| format!("cannot read {file}"))?;
    Ok(bytes)
}
