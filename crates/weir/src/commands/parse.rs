//! `weir parse`: what the parser sees in a page.

use std::path::PathBuf;
use std::process::ExitCode;

use model::{CanonicalUrl, UrlRules};
use parse::html::{KeptTags, Options};
use parse::{CharsetSource, Document, detect_language};
use serde::Serialize;

use crate::failure::WrongUse;
use crate::input;
use crate::printer::{Meaning, Printer, printable};
use crate::settings::Settings;

/// No page is read further than this.
const PAGE_LIMIT_BYTES: u64 = 64 << 20;

const EXAMPLES: &str = "\
Examples:
  weir parse page.html --url https://example.com/docs/
  curl -s https://example.com/ | weir parse - --url https://example.com/ --main
  find . -name '*.html' | weir parse --files-from - --json > pages.jsonl";

/// Show what the parser sees in a page: links, title, text, language, charset, robots directives.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Pages to read; `-` is standard input, and so is no page at all.
    #[arg(value_name = "FILE")]
    files: Vec<String>,

    /// The URL of the page, which its links are relative to.
    #[arg(long, value_name = "BASE")]
    url: Option<String>,

    /// The Content-Type header that came with the page; without it the page is looked at.
    #[arg(long, value_name = "TYPE")]
    content_type: Option<String>,

    /// Add the main content, without menus and footers.
    #[arg(long)]
    main: bool,

    /// Add the kept form: structure and logical markup only.
    #[arg(long)]
    kept: bool,

    /// Read pages by the settings of this collection: its limits, kept tags and URL rules.
    #[arg(long, value_name = "DIR")]
    collection: Option<PathBuf>,

    /// Read the names of the pages from this file, one per line; `-` is standard input.
    #[arg(long, value_name = "LIST", conflicts_with = "files")]
    files_from: Option<String>,
}

/// What a page says, as JSON. Scripts rely on the names.
#[derive(Serialize)]
struct Answer<'d> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'d str>,
    url: Option<&'d str>,
    kind: &'static str,
    title: &'d str,
    description: &'d str,
    text: &'d str,
    #[serde(skip_serializing_if = "Option::is_none")]
    main: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<&'d str>,
    headings: Vec<HeadingAnswer<'d>>,
    language: Option<&'static str>,
    language_confidence: Option<f64>,
    declared_language: Option<&'d str>,
    charset: Option<&'d str>,
    charset_source: Option<&'static str>,
    canonical: Option<String>,
    robots: String,
    unavailable_after: Option<i64>,
    published: Option<i64>,
    modified: Option<i64>,
    truncated: bool,
    links: Vec<LinkAnswer<'d>>,
}

#[derive(Serialize)]
struct HeadingAnswer<'d> {
    level: u8,
    text: &'d str,
}

#[derive(Serialize)]
struct LinkAnswer<'d> {
    url: Option<String>,
    raw: &'d str,
    kind: &'static str,
    rel: &'d str,
    text: &'d str,
    internal: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected: Option<String>,
}

pub(crate) fn run(args: Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    let mut reading = Reading::new(&args)?;
    let Some(list) = &args.files_from else {
        let files = if args.files.is_empty() { vec!["-".to_owned()] } else { args.files };
        for file in &files {
            let bytes = input::read_file(file, PAGE_LIMIT_BYTES)?;
            reading.answer((files.len() > 1).then_some(file.as_str()), &bytes, printer)?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let mut failed = false;
    input::for_each_line_of(list, printer, |file, printer| {
        match input::read_file(file, PAGE_LIMIT_BYTES) {
            Ok(bytes) => reading.answer(Some(file), &bytes, printer)?,
            // One page that has gone does not stop the others.
            Err(error) => {
                failed = true;
                printer.complain(&format!("{error:#}"))?;
            }
        }
        Ok(())
    })?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What is the same for all pages of a run; the document is used again.
struct Reading {
    rules: UrlRules,
    options: Options,
    url: Option<CanonicalUrl>,
    content_type: Option<String>,
    main: bool,
    document: Document,
}

impl Reading {
    fn new(args: &Args) -> anyhow::Result<Reading> {
        let (rules, mut options, kept_tags) = match &args.collection {
            Some(folder) => {
                store::find_snapshot(folder, None)?;
                let settings = Settings::load(folder)?;
                (settings.url_rules(), settings.gathering()?.options, settings.kept_tags())
            }
            None => (UrlRules::default(), Options::default(), KeptTags::default()),
        };
        options.keep = args.kept.then_some(kept_tags);
        let url = args
            .url
            .as_deref()
            .map(|url| rules.canonical(url).map_err(|rejected| WrongUse(format!("--url {url}: {rejected}"))));
        Ok(Reading {
            rules,
            options,
            url: url.transpose()?,
            content_type: args.content_type.clone(),
            main: args.main,
            document: Document::default(),
        })
    }

    fn answer(&mut self, file: Option<&str>, bytes: &[u8], printer: &mut Printer) -> anyhow::Result<()> {
        let top_level_domain = self.url.as_ref().and_then(|url| url.host().rsplit('.').next());
        self.document.read(bytes, self.content_type.as_deref(), top_level_domain, &self.options);
        let answer = self.describe(file);
        if printer.json() { printer.object(&answer) } else { print(&answer, printer) }
    }

    fn describe<'d>(&'d self, file: Option<&'d str>) -> Answer<'d> {
        let document = &self.document;
        let language = detect_language(&document.text);
        Answer {
            file,
            url: self.url.as_ref().map(CanonicalUrl::as_str),
            kind: document.kind.as_str(),
            title: &document.title,
            description: &document.description,
            text: &document.text,
            main: self.main.then(|| document.main_text()),
            kept: self.options.keep.is_some().then_some(document.kept.as_str()),
            headings: document.headings().map(|h| HeadingAnswer { level: h.level, text: h.text }).collect(),
            language: language.map(|language| language.code),
            language_confidence: language.map(|language| language.confidence),
            declared_language: some(&document.declared_language),
            charset: some(&document.charset),
            charset_source: document.charset_source.map(CharsetSource::as_str),
            canonical: document.canonical().map(|raw| self.resolve(raw)),
            robots: document.robots.to_string(),
            unavailable_after: document.robots.unavailable_after,
            published: document.published,
            modified: document.modified,
            truncated: document.truncated,
            links: self.links(),
        }
    }

    /// The canonical link, resolved if that is possible.
    fn resolve(&self, raw: &str) -> String {
        let url = match &self.url {
            Some(page) => self.rules.join(&self.document.base(page, &self.rules), raw),
            None => self.rules.canonical(raw),
        };
        url.map_or_else(|_| raw.to_owned(), |url| url.as_str().to_owned())
    }

    fn links(&self) -> Vec<LinkAnswer<'_>> {
        let mut links = Vec::new();
        let Some(page) = &self.url else {
            // Without a page to be relative to, only absolute links lead anywhere.
            links.extend(self.document.links().map(|link| {
                let url = self.rules.canonical(link.raw).ok().map(|url| url.as_str().to_owned());
                link_answer(link, url, false, None)
            }));
            return links;
        };
        self.document.resolve(page, &self.rules, |resolved| {
            let (url, rejected) = match resolved.target {
                Ok(url) => (Some(url.as_str().to_owned()), None),
                Err(rejected) => (None, Some(rejected.to_string())),
            };
            links.push(link_answer(resolved.link, url, resolved.internal, rejected));
        });
        links
    }
}

fn link_answer(
    link: parse::Link<'_>,
    url: Option<String>,
    internal: bool,
    rejected: Option<String>,
) -> LinkAnswer<'_> {
    let parse::Link { raw, kind, rel, text, .. } = link;
    LinkAnswer { url, raw, kind: kind.as_str(), rel, text, internal, rejected }
}

fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// The answer for people: a line per fact, then the links, then the text.
fn print(answer: &Answer<'_>, printer: &mut Printer) -> anyhow::Result<()> {
    let language = match (answer.language, answer.language_confidence) {
        (Some(code), Some(confidence)) => format!("{code} ({:.0} % sure)", confidence * 100.0),
        _ => String::new(),
    };
    let kind = match answer.kind {
        "other" => "other: this is not read as text",
        kind => kind,
    };
    let charset = match (answer.charset, answer.charset_source) {
        (Some(charset), Some(source)) => format!("{charset} (by {source})"),
        _ => String::new(),
    };
    for (name, value) in [
        ("file", answer.file.unwrap_or_default()),
        ("kind", kind),
        ("title", answer.title),
        ("description", answer.description),
        ("language", &language),
        ("declared", answer.declared_language.unwrap_or_default()),
        ("charset", &charset),
        ("canonical", answer.canonical.as_deref().unwrap_or_default()),
        ("robots", &answer.robots),
        ("truncated", if answer.truncated { "a limit has cut something off" } else { "" }),
    ] {
        if !value.is_empty() {
            let name = printer.paint(Meaning::Aside, &format!("{name:<12}"));
            printer.line(&format!("{name}{}", printable(value)))?;
        }
    }
    print_links(answer, printer)?;
    for (name, text) in [("main", answer.main.as_deref()), ("kept", answer.kept), ("text", Some(answer.text))]
    {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            let name = printer.paint(Meaning::Aside, name);
            printer.line(&format!("\n{name}\n{}", printable(text)))?;
        }
    }
    Ok(())
}

fn print_links(answer: &Answer<'_>, printer: &mut Printer) -> anyhow::Result<()> {
    if answer.links.is_empty() {
        return Ok(());
    }
    let heading = printer.paint(Meaning::Aside, &format!("links ({})", answer.links.len()));
    printer.line(&format!("\n{heading}"))?;
    for link in &answer.links {
        let kind = printer.paint(Meaning::Aside, &format!("{:<11}", link.kind));
        let target = match (&link.url, &link.rejected) {
            (Some(url), _) => url.clone(),
            (None, Some(reason)) => {
                format!("{} {}", printable(link.raw), printer.paint(Meaning::Bad, reason))
            }
            (None, None) => printable(link.raw).into_owned(),
        };
        let text = printable(link.text).replace('\n', " ");
        printer.line(format!("{kind}{target}  {}", printer.paint(Meaning::Aside, &text)).trim_end())?;
    }
    Ok(())
}
