//! `weir robots`: what a robots.txt says about URLs, and which of its lines says it.

use std::process::ExitCode;

use model::UrlRules;
use parse::{Decision, ROBOTS_LIMIT_BYTES, RobotsRules};
use serde::Serialize;

use crate::failure::WrongUse;
use crate::input;
use crate::printer::{Meaning, Printer, printable};

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

/// No decision, as JSON.
#[derive(Serialize)]
struct Rejection<'a> {
    url: &'a str,
    rejected: &'static str,
}

pub(crate) fn run(args: Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let Args { file, agent, urls } = args;
    if file == "-" && urls.is_empty() {
        let sentence =
            "standard input cannot be both the robots.txt and the URLs; give the URLs as arguments";
        return Err(WrongUse(sentence.to_owned()).into());
    }
    if !is_product_token(&agent) {
        let sentence = "no group of a robots.txt can name it: RFC 9309 allows letters, `-` and `_` only";
        printer.complain(&format!("--agent {agent}: {sentence}"))?;
    }
    // One byte more than counts, to tell that there is more.
    let text = input::read_file(&file, ROBOTS_LIMIT_BYTES as u64 + 1)?;
    if text.len() > ROBOTS_LIMIT_BYTES {
        printer.complain(&format!("only the first {ROBOTS_LIMIT_BYTES} bytes of {file} count"))?;
    }
    let rules = RobotsRules::parse(&text, &agent);
    let names = UrlRules { drop_session_ids: false, drop_tracking: false, ..UrlRules::default() };
    let home = names.canonical("http://localhost/")?;
    input::for_each_item(&urls, printer, |url, printer| {
        if has_other_scheme(url) {
            return reject(url, printer);
        }
        // What a crawler would ask for: `/a/../b` is a request for `/b`.
        let asked = needs_resolving(url).then(|| names.join(&home, url).ok()).flatten();
        let decision = match &asked {
            Some(asked) => rules.decide(asked.path_and_query()),
            None => rules.decide_url(url),
        };
        answer(url, &decision, printer)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// `mailto:`, `javascript:` and the like: there is no path to judge.
fn has_other_scheme(url: &str) -> bool {
    let scheme = url.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    scheme
        .find(':')
        .is_some_and(|at| at > 0 && !url[at..].starts_with("://") && !url[at..].starts_with(":\\"))
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && !scheme.contains('.')
}

/// Whether the URL standard would take another path from it than stands there.
fn needs_resolving(url: &str) -> bool {
    url.contains('\\') || url.contains("/.") || url.to_ascii_lowercase().contains("%2e")
}

/// What is neither a URL nor a path has no answer, and stops nobody.
fn reject(url: &str, printer: &mut Printer) -> anyhow::Result<()> {
    let rejected = "it is neither a URL with a path nor a path";
    if printer.json() {
        return printer.object(&Rejection { url, rejected });
    }
    printer.line(&format!("{}  {}", printer.paint(Meaning::Bad, "rejected "), printable(url)))
}

fn answer(url: &str, decision: &Decision<'_>, printer: &mut Printer) -> anyhow::Result<()> {
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
        Some((rule, line)) => format!("line {line}: {}", printable(rule)),
        None => "no rule matches".to_owned(),
    };
    printer.line(&format!("{verdict} {}  {}", printable(url), printer.paint(Meaning::Aside, &reason)))
}

/// What RFC 9309 allows crawlers to be called.
fn is_product_token(agent: &str) -> bool {
    !agent.is_empty() && agent.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_'))
}
