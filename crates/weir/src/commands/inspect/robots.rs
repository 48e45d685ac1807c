//! `weir robots`: check of URLs against a robots.txt file.

use std::process::ExitCode;

use model::UrlRules;
use parse::{Decision, MAX_ROBOTS_BYTES, RobotsRules};
use serde::Serialize;

use crate::exit::UsageError;
use crate::input;
use crate::output::{Printer, TextStyle, printable};

const EXAMPLES: &str = "\
Examples:
  weir robots robots.txt --agent weir https://example.com/private/ /cart?id=1
  curl -s https://example.com/robots.txt | weir robots - --agent weir /search
  weir robots robots.txt --agent weir --json < urls.txt";

/// Check URLs against a robots.txt file and show the rule that decides (RFC 9309).
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// File with the robots.txt; `-` is standard input, and then the URLs must be arguments.
    file: String,

    /// Product token of the crawler, as in `User-agent: NAME`.
    #[arg(long, value_name = "NAME")]
    agent: String,

    /// Absolute URLs or paths (default: one per line of standard input).
    #[arg(value_name = "URL")]
    urls: Vec<String>,
}

/// JSON output: one decision.
#[derive(Serialize)]
struct DecisionOutput<'a> {
    url: &'a str,
    allowed: bool,
    rule: Option<&'a str>,
    line: Option<u32>,
}

/// JSON output: an input without a path.
#[derive(Serialize)]
struct RejectionOutput<'a> {
    url: &'a str,
    rejected: &'static str,
}

pub(crate) fn run(args: Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let Args { file, agent, urls } = args;
    if file == "-" && urls.is_empty() {
        let message = "standard input cannot be both the robots.txt and the URLs; pass the URLs as arguments";
        return Err(UsageError(message.to_owned()).into());
    }
    if !is_product_token(&agent) {
        let message = "not a product token of RFC 9309 (letters, `-` and `_`), so that no group can match it";
        printer.warn(&format!("--agent {agent}: {message}"))?;
    }
    // One byte more than the limit, to detect a longer file.
    let text = input::read_file(&file, MAX_ROBOTS_BYTES as u64 + 1)?;
    if text.len() > MAX_ROBOTS_BYTES {
        printer.warn(&format!("only the first {MAX_ROBOTS_BYTES} bytes of {file} are used"))?;
    }
    let rules = RobotsRules::parse(&text, &agent);
    let url_rules = UrlRules { drop_session_ids: false, drop_tracking: false, ..UrlRules::default() };
    let base = url_rules.canonical("http://localhost/")?;
    input::for_each_item(&urls, printer, |url, printer| {
        if has_other_scheme(url) {
            return print_rejection(url, printer);
        }
        // A crawler resolves the URL first: `/a/../b` is a request for `/b`.
        let resolved = needs_resolving(url).then(|| url_rules.join(&base, url).ok()).flatten();
        let decision = match &resolved {
            Some(resolved) => rules.decide(resolved.path_and_query()),
            None => rules.decide_url(url),
        };
        print_decision(url, &decision, printer)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the URL has a scheme without a path: `mailto:`, `javascript:`.
fn has_other_scheme(url: &str) -> bool {
    let scheme = url.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    scheme
        .find(':')
        .is_some_and(|at| at > 0 && !url[at..].starts_with("://") && !url[at..].starts_with(":\\"))
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && !scheme.contains('.')
}

/// Whether URL parsing changes the path.
fn needs_resolving(url: &str) -> bool {
    url.contains('\\') || url.contains("/.") || url.to_ascii_lowercase().contains("%2e")
}

/// Prints an input that is neither a URL with a path nor a path.
fn print_rejection(url: &str, printer: &mut Printer) -> anyhow::Result<()> {
    let rejected = "neither a URL with a path nor a path";
    if printer.json() {
        return printer.object(&RejectionOutput { url, rejected });
    }
    printer.line(&format!("{}  {}", printer.style(TextStyle::Bad, "rejected  "), printable(url)))
}

fn print_decision(url: &str, decision: &Decision<'_>, printer: &mut Printer) -> anyhow::Result<()> {
    let (rule, line) = decision.rule.map(|rule| (rule.text.as_str(), rule.line)).unzip();
    if printer.json() {
        return printer.object(&DecisionOutput { url, allowed: decision.allowed, rule, line });
    }
    let verdict = if decision.allowed {
        printer.style(TextStyle::Good, "allowed   ")
    } else {
        printer.style(TextStyle::Bad, "disallowed")
    };
    let reason = match rule.zip(line) {
        Some((rule, line)) => format!("line {line}: {}", printable(rule)),
        None => "no matching rule".to_owned(),
    };
    printer.line(&format!("{verdict} {}  {}", printable(url), printer.style(TextStyle::Dim, &reason)))
}

/// Whether the name is a product token of RFC 9309.
fn is_product_token(agent: &str) -> bool {
    !agent.is_empty() && agent.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_'))
}
