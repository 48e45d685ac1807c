//! `weir parse`: output of the parser for a page.

use std::path::PathBuf;
use std::process::ExitCode;

use model::{CanonicalUrl, UrlRules};
use parse::html::{Options, TagAllowlist};
use parse::{CharsetSource, Document, detect_language};
use serde::Serialize;

use crate::exit::UsageError;
use crate::input;
use crate::output::{Printer, TextStyle, printable};
use crate::settings::SetArgs;

/// Maximum number of bytes read of a page.
const MAX_PAGE_BYTES: u64 = 64 << 20;

const EXAMPLES: &str = "\
Examples:
  weir parse page.html --url https://example.com/docs/
  curl -s https://example.com/ | weir parse - --url https://example.com/ --main-text
  find . -name '*.html' | weir parse --files-from - --json > pages.jsonl";

/// Show what the parser extracts from a page: links, title, text, language, charset, robots directives.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files with pages; `-` is standard input (default).
    #[arg(value_name = "FILE")]
    files: Vec<String>,

    /// URL of the page, base for its links.
    #[arg(long, value_name = "BASE")]
    url: Option<String>,

    /// Content-Type header of the page (default: detect).
    #[arg(long, value_name = "TYPE")]
    content_type: Option<String>,

    /// Also print the main text, without boilerplate.
    #[arg(long)]
    main_text: bool,

    /// Also print the simplified HTML (see `[parse]` simplified_tags).
    #[arg(long)]
    simplified_html: bool,

    /// Use the settings of this collection.
    #[arg(long, value_name = "DIR")]
    collection: Option<PathBuf>,

    /// Read file names from LIST, one per line; `-` is standard input.
    #[arg(long, value_name = "LIST", conflicts_with = "files")]
    files_from: Option<String>,

    #[command(flatten)]
    set: SetArgs,
}

/// JSON output: one page.
#[derive(Serialize)]
struct PageOutput<'d> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'d str>,
    url: Option<&'d str>,
    kind: &'static str,
    title: &'d str,
    description: &'d str,
    text: &'d str,
    #[serde(skip_serializing_if = "Option::is_none")]
    main_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    simplified_html: Option<&'d str>,
    headings: Vec<HeadingOutput<'d>>,
    language: Option<&'static str>,
    language_confidence: Option<f64>,
    language_declared: Option<&'d str>,
    charset: Option<&'d str>,
    charset_source: Option<&'static str>,
    canonical: Option<String>,
    robots: String,
    unavailable_after: Option<i64>,
    published: Option<i64>,
    modified: Option<i64>,
    truncated: bool,
    links: Vec<LinkOutput<'d>>,
}

#[derive(Serialize)]
struct HeadingOutput<'d> {
    level: u8,
    text: &'d str,
}

#[derive(Serialize)]
struct LinkOutput<'d> {
    url: Option<String>,
    href: &'d str,
    kind: &'static str,
    rel: &'d str,
    anchor: &'d str,
    is_internal: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected: Option<String>,
}

pub(crate) fn run(args: Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let mut parser = PageParser::new(&args)?;
    let Some(list) = &args.files_from else {
        let files = if args.files.is_empty() { vec!["-".to_owned()] } else { args.files };
        for file in &files {
            let bytes = input::read_file(file, MAX_PAGE_BYTES)?;
            parser.print((files.len() > 1).then_some(file.as_str()), &bytes, printer)?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let mut failed = false;
    input::for_each_line_of(list, printer, |file, printer| {
        match input::read_file(file, MAX_PAGE_BYTES) {
            Ok(bytes) => parser.print(Some(file), &bytes, printer)?,
            // A missing file does not stop the others.
            Err(error) => {
                failed = true;
                printer.warn(&format!("{error:#}"))?;
            }
        }
        Ok(())
    })?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Parser of the pages of a run; the document is reused.
struct PageParser {
    rules: UrlRules,
    options: Options,
    url: Option<CanonicalUrl>,
    content_type: Option<String>,
    main_text: bool,
    document: Document,
}

impl PageParser {
    fn new(args: &Args) -> anyhow::Result<PageParser> {
        let (rules, mut options, simplified_tags) = match &args.collection {
            Some(dir) => {
                store::find_snapshot(dir, None)?;
                let settings = args.set.load(dir)?;
                (settings.url_rules(), settings.gather_settings()?.options, settings.simplified_tags())
            }
            None => (UrlRules::default(), Options::default(), TagAllowlist::default()),
        };
        options.simplify = args.simplified_html.then_some(simplified_tags);
        let url = args.url.as_deref().map(|url| {
            rules.canonical(url).map_err(|rejected| UsageError(format!("--url {url}: {rejected}")))
        });
        Ok(PageParser {
            rules,
            options,
            url: url.transpose()?,
            content_type: args.content_type.clone(),
            main_text: args.main_text,
            document: Document::default(),
        })
    }

    fn print(&mut self, file: Option<&str>, bytes: &[u8], printer: &mut Printer) -> anyhow::Result<()> {
        let top_level_domain = self.url.as_ref().and_then(|url| url.host().rsplit('.').next());
        self.document.read(bytes, self.content_type.as_deref(), top_level_domain, &self.options);
        let page = self.output(file);
        if printer.json() { printer.object(&page) } else { print_page(&page, printer) }
    }

    fn output<'d>(&'d self, file: Option<&'d str>) -> PageOutput<'d> {
        let document = &self.document;
        let language = detect_language(&document.text);
        PageOutput {
            file,
            url: self.url.as_ref().map(CanonicalUrl::as_str),
            kind: document.kind.as_str(),
            title: &document.title,
            description: &document.description,
            text: &document.text,
            main_text: self.main_text.then(|| document.main_text()),
            simplified_html: self.options.simplify.is_some().then_some(document.simplified_html.as_str()),
            headings: document.headings().map(|h| HeadingOutput { level: h.level, text: h.text }).collect(),
            language: language.map(|language| language.code),
            language_confidence: language.map(|language| language.confidence),
            language_declared: some(&document.language_declared),
            charset: some(&document.charset),
            charset_source: document.charset_source.map(CharsetSource::as_str),
            canonical: document.canonical_url().map(|href| self.resolve(href)),
            robots: document.robots_directives.to_string(),
            unavailable_after: document.robots_directives.unavailable_after,
            published: document.published,
            modified: document.modified,
            truncated: document.truncated,
            links: self.links(),
        }
    }

    /// Resolves the canonical link, if possible.
    fn resolve(&self, href: &str) -> String {
        let url = match &self.url {
            Some(page) => self.rules.join(&self.document.base(page, &self.rules), href),
            None => self.rules.canonical(href),
        };
        url.map_or_else(|_| href.to_owned(), |url| url.as_str().to_owned())
    }

    fn links(&self) -> Vec<LinkOutput<'_>> {
        let mut links = Vec::new();
        let Some(page) = &self.url else {
            // Without a base URL only absolute links can be resolved.
            links.extend(self.document.links().map(|link| {
                let url = self.rules.canonical(link.href).ok().map(|url| url.as_str().to_owned());
                link_output(link, url, false, None)
            }));
            return links;
        };
        self.document.resolve(page, &self.rules, |resolved| {
            let (url, rejected) = match resolved.target {
                Ok(url) => (Some(url.as_str().to_owned()), None),
                Err(rejected) => (None, Some(rejected.to_string())),
            };
            links.push(link_output(resolved.link, url, resolved.is_internal, rejected));
        });
        links
    }
}

fn link_output(
    link: parse::Link<'_>,
    url: Option<String>,
    is_internal: bool,
    rejected: Option<String>,
) -> LinkOutput<'_> {
    let parse::Link { href, kind, rel, anchor, .. } = link;
    LinkOutput { url, href, kind: kind.as_str(), rel, anchor, is_internal, rejected }
}

fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// Prints a page as text: facts, links, text.
fn print_page(page: &PageOutput<'_>, printer: &mut Printer) -> anyhow::Result<()> {
    let language = match (page.language, page.language_confidence) {
        (Some(code), Some(confidence)) => format!("{code} (confidence {:.0} %)", confidence * 100.0),
        _ => String::new(),
    };
    let kind = match page.kind {
        "other" => "other (not parsed as text)",
        kind => kind,
    };
    let charset = match (page.charset, page.charset_source) {
        (Some(charset), Some(source)) => format!("{charset} (from {source})"),
        _ => String::new(),
    };
    for (name, value) in [
        ("file", page.file.unwrap_or_default()),
        ("kind", kind),
        ("title", page.title),
        ("description", page.description),
        ("language", &language),
        ("declared", page.language_declared.unwrap_or_default()),
        ("charset", &charset),
        ("canonical", page.canonical.as_deref().unwrap_or_default()),
        ("robots", &page.robots),
        ("truncated", if page.truncated { "a size limit was reached" } else { "" }),
    ] {
        if !value.is_empty() {
            let name = printer.style(TextStyle::Dim, &format!("{name:<12}"));
            printer.line(&format!("{name}{}", printable(value)))?;
        }
    }
    print_links(page, printer)?;
    for (name, text) in [
        ("main text", page.main_text.as_deref()),
        ("simplified HTML", page.simplified_html),
        ("text", Some(page.text)),
    ] {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            let name = printer.style(TextStyle::Dim, name);
            printer.line(&format!("\n{name}\n{}", printable(text)))?;
        }
    }
    Ok(())
}

fn print_links(page: &PageOutput<'_>, printer: &mut Printer) -> anyhow::Result<()> {
    if page.links.is_empty() {
        return Ok(());
    }
    let heading = printer.style(TextStyle::Dim, &format!("links ({})", page.links.len()));
    printer.line(&format!("\n{heading}"))?;
    for link in &page.links {
        let kind = printer.style(TextStyle::Dim, &format!("{:<11}", link.kind));
        let target = match (&link.url, &link.rejected) {
            (Some(url), _) => url.clone(),
            (None, Some(reason)) => {
                format!("{} {}", printable(link.href), printer.style(TextStyle::Bad, reason))
            }
            (None, None) => printable(link.href).into_owned(),
        };
        let text = printable(link.anchor).replace('\n', " ");
        printer.line(format!("{kind}{target}  {}", printer.style(TextStyle::Dim, &text)).trim_end())?;
    }
    Ok(())
}
