//! `weir url`: the canonical form of URLs and what follows from it, or why they are rejected.

use std::process::ExitCode;

use model::{CanonicalUrl, ExtensionLists, Rejected, UrlRules};
use serde::Serialize;

use crate::failure::WrongUse;
use crate::input;
use crate::printer::{Meaning, Printer, printable};

const EXAMPLES: &str = "\
Examples:
  weir url 'HTTP://Example.com/a/../b?utm_source=x'
  weir url --base https://example.com/docs/ ../index.html '#top'
  weir url --json < urls.txt | jq -r .canonical

A rejected URL is an answer like any other: the exit code is 0.";

/// The longest input that the text form shows whole.
const SHOWN_CHARS: usize = 200;

/// Show the canonical form of URLs, their SURT key, site, registered domain and class, or why they are rejected.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// URLs; without any, one per line from standard input.
    #[arg(value_name = "URL")]
    urls: Vec<String>,

    /// Resolve relative references as on this page.
    #[arg(long, value_name = "URL")]
    base: Option<String>,

    /// Order the parameters of queries by name.
    #[arg(long)]
    sort_query: bool,
}

/// An accepted URL, as JSON.
#[derive(Serialize)]
struct Accepted<'a> {
    input: &'a str,
    canonical: &'a str,
    surt: &'a str,
    site: &'a str,
    domain: Option<&'a str>,
    class: &'a str,
}

/// A rejected one.
#[derive(Serialize)]
struct Refused<'a> {
    input: &'a str,
    rejected: String,
}

pub(crate) fn run(args: Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let Args { urls, base, sort_query } = args;
    let rules = UrlRules { sort_query, ..UrlRules::default() };
    let base = base.map(|text| {
        let wrong = |reason| WrongUse(format!("--base {text} cannot be used: {reason}"));
        rules.canonical(&text).map_err(wrong)
    });
    let base = base.transpose()?;
    let lists = ExtensionLists::default();
    let mut surt = String::new();
    input::for_each_item(&urls, printer, |input, printer| match canonical(&rules, base.as_ref(), input) {
        Ok(url) => {
            surt.clear();
            url.push_surt(&mut surt);
            let (canonical, site, domain) = (url.as_str(), url.site(), url.registered_domain());
            let class = url.class(&lists).as_str();
            accept(&Accepted { input, canonical, surt: &surt, site, domain, class }, printer)
        }
        Err(reason) => refuse(&Refused { input, rejected: reason.to_string() }, printer),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn canonical(rules: &UrlRules, base: Option<&CanonicalUrl>, input: &str) -> Result<CanonicalUrl, Rejected> {
    match base {
        Some(base) => rules.join(base, input),
        None => rules.canonical(input),
    }
}

fn accept(answer: &Accepted<'_>, printer: &mut Printer) -> anyhow::Result<()> {
    if printer.json() {
        return printer.object(answer);
    }
    printer.line(&printer.paint(Meaning::Good, answer.canonical))?;
    if answer.input != answer.canonical {
        field(printer, "input", &shown(answer.input))?;
    }
    field(printer, "surt", answer.surt)?;
    field(printer, "site", answer.site)?;
    field(printer, "domain", answer.domain.unwrap_or("none"))?;
    field(printer, "class", answer.class)
}

fn refuse(answer: &Refused<'_>, printer: &mut Printer) -> anyhow::Result<()> {
    if printer.json() {
        return printer.object(answer);
    }
    printer.line(&printer.paint(Meaning::Bad, &shown(answer.input)))?;
    field(printer, "rejected", &answer.rejected)
}

fn field(printer: &mut Printer, name: &str, value: &str) -> anyhow::Result<()> {
    let name = printer.paint(Meaning::Aside, &format!("{name:8}"));
    printer.line(&format!("  {name}  {value}"))
}

/// An input for people: not endless, and there even if it is empty.
fn shown(input: &str) -> String {
    let mut text = printable(&input.chars().take(SHOWN_CHARS).collect::<String>()).into_owned();
    if input.chars().nth(SHOWN_CHARS).is_some() {
        text.push_str("...");
    }
    let text = text.replace('\t', "\\u{9}").replace('\n', "\\u{a}");
    if text.is_empty() { "(empty)".to_owned() } else { text }
}
