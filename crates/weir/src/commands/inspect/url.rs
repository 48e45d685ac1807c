//! `weir url`: canonical form, SURT key, site, registered domain and class of URLs, and whether a crawl includes them.

use std::path::PathBuf;
use std::process::ExitCode;

use frontier::{Scope, ScopeDecision};
use model::{CanonicalUrl, ExtensionLists, UrlError, UrlRules};
use serde::Serialize;
use store::Snapshot;

use crate::exit::UsageError;
use crate::input;
use crate::output::{Printer, TextStyle, printable};
use crate::settings::SetArgs;

const EXAMPLES: &str = "\
Examples:
  weir url 'HTTP://Example.com/a/../b?utm_source=x'
  weir url --base https://example.com/docs/ ../index.html '#top'
  weir url --json < urls.txt | jq -r .canonical
  weir url --collection web https://example.org/private/     in scope or not, and by which rule

The exit code is 0 also if a URL is rejected.";

/// Maximum number of characters of an input in the text output.
const MAX_SHOWN_CHARS: usize = 200;

/// Show the canonical form, SURT key, site, registered domain and class of URLs, or why they are rejected.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// URLs (default: one per line of standard input).
    #[arg(value_name = "URL")]
    urls: Vec<String>,

    /// Base URL for relative references.
    #[arg(long, value_name = "URL")]
    base: Option<String>,

    /// Sort query parameters by name.
    #[arg(long)]
    sort_query: bool,

    /// Use the settings of this collection, and tell whether its scope includes the URLs.
    #[arg(long, value_name = "DIR")]
    collection: Option<PathBuf>,

    #[command(flatten)]
    set: SetArgs,
}

/// JSON output: an accepted URL.
#[derive(Serialize)]
struct AcceptedOutput<'a> {
    input: &'a str,
    canonical: &'a str,
    surt: &'a str,
    site: &'a str,
    registered_domain: Option<&'a str>,
    url_class: &'a str,
    #[serde(flatten)]
    scope: Option<ScopeOutput>,
}

/// JSON output: whether the scope of a collection includes a URL.
#[derive(Serialize)]
struct ScopeOutput {
    in_scope: bool,
    /// Reason why it is not in scope.
    reason: Option<&'static str>,
    /// Setting that decides.
    setting: &'static str,
    /// Rule of the setting that matches.
    rule: Option<String>,
}

/// JSON output: a rejected URL.
#[derive(Serialize)]
struct RejectedOutput<'a> {
    input: &'a str,
    rejected: String,
}

pub(crate) fn run(args: Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let Args { urls, base, sort_query, collection, set } = args;
    let (rules, scope) = match &collection {
        None => (UrlRules::default(), None),
        Some(dir) => {
            let mut settings = set.load(dir)?;
            settings.accept_seed_hosts(&Snapshot::open(dir, None)?)?;
            (settings.url_rules(), Some(settings.scope()?))
        }
    };
    let rules = UrlRules { sort_query: sort_query || rules.sort_query, ..rules };
    let base = base.map(|text| {
        let invalid = |reason| UsageError(format!("--base {text}: {reason}"));
        rules.canonical(&text).map_err(invalid)
    });
    let base = base.transpose()?;
    let lists = scope.as_ref().map_or_else(ExtensionLists::default, |scope| scope.extensions.clone());
    let mut surt = String::new();
    input::for_each_item(&urls, printer, |input, printer| match canonical(&rules, base.as_ref(), input) {
        Ok(url) => {
            surt.clear();
            url.push_surt(&mut surt);
            let (canonical, site, registered_domain) = (url.as_str(), url.site(), url.registered_domain());
            let url_class = url.class(&lists).as_str();
            let scope = scope.as_ref().map(|scope| scope_output(scope, &url));
            print_accepted(
                &AcceptedOutput { input, canonical, surt: &surt, site, registered_domain, url_class, scope },
                printer,
            )
        }
        Err(reason) => print_rejected(&RejectedOutput { input, rejected: reason.to_string() }, printer),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn canonical(rules: &UrlRules, base: Option<&CanonicalUrl>, input: &str) -> Result<CanonicalUrl, UrlError> {
    match base {
        Some(base) => rules.join(base, input),
        None => rules.canonical(input),
    }
}

fn print_accepted(output: &AcceptedOutput<'_>, printer: &mut Printer) -> anyhow::Result<()> {
    if printer.json() {
        return printer.object(output);
    }
    printer.line(&printer.style(TextStyle::Good, output.canonical))?;
    if output.input != output.canonical {
        print_field(printer, "input", &shortened(output.input))?;
    }
    print_field(printer, "surt", output.surt)?;
    print_field(printer, "site", output.site)?;
    print_field(printer, "domain", output.registered_domain.unwrap_or("none"))?;
    print_field(printer, "class", output.url_class)?;
    let Some(scope) = &output.scope else { return Ok(()) };
    let rule = scope.rule.as_ref().map_or_else(String::new, |rule| format!(" = {rule:?}"));
    let text = match scope.reason {
        None if scope.rule.is_none() => "in scope".to_owned(),
        None => format!("in scope ({}{rule})", scope.setting),
        Some(reason) => format!("out of scope: {reason} ({}{rule})", scope.setting),
    };
    print_field(printer, "scope", &text)
}

fn scope_output(scope: &Scope, url: &CanonicalUrl) -> ScopeOutput {
    let ScopeDecision { result, setting, rule } = scope.explain(url);
    let reason = result.err().map(model::Reason::as_str);
    ScopeOutput { in_scope: reason.is_none(), reason, setting, rule }
}

fn print_rejected(output: &RejectedOutput<'_>, printer: &mut Printer) -> anyhow::Result<()> {
    if printer.json() {
        return printer.object(output);
    }
    printer.line(&printer.style(TextStyle::Bad, &shortened(output.input)))?;
    print_field(printer, "rejected", &output.rejected)
}

fn print_field(printer: &mut Printer, name: &str, value: &str) -> anyhow::Result<()> {
    let name = printer.style(TextStyle::Dim, &format!("{name:8}"));
    printer.line(&format!("  {name}  {value}"))
}

/// Input for the text output: shortened, on one line, and visible even if it is empty.
fn shortened(input: &str) -> String {
    let mut text = printable(&input.chars().take(MAX_SHOWN_CHARS).collect::<String>()).into_owned();
    if input.chars().nth(MAX_SHOWN_CHARS).is_some() {
        text.push_str("...");
    }
    let text = text.replace('\t', "\\u{9}").replace('\n', "\\u{a}");
    if text.is_empty() { "(empty)".to_owned() } else { text }
}
