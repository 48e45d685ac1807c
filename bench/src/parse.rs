//! Parsing: links, text and title of real pages on one core, compared with a pass of lol_html that collects the same.
//!
//! Weir starts from the bytes of the page, including charset detection and decoding; lol_html gets the pages as
//! UTF-8. The results differ in details: lol_html does not distinguish options that are links, nor icons and
//! `srcset`; its text is raw, while Weir collapses white space and decodes references.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};

use lol_html::html_content::{Element, TextType};
use lol_html::{ElementContentHandlers, HtmlRewriter, Selector, Settings, doc_text};
use parse::html::{Options, parse_html};
use parse::{Document, decode};

use crate::corpus::{self, Page};

const ROUNDS: usize = 5;

pub(crate) fn run() -> anyhow::Result<()> {
    let pages = corpus::load(usize::MAX)?;
    let megabytes = pages.iter().map(|page| page.bytes.len()).sum::<usize>() as f64 / 1e6;
    let mut best = [Duration::MAX; 2];
    let mut found = [Collected::default(), Collected::default()];
    // The sides alternate, so that a disturbance of the machine affects both.
    for _ in 0..ROUNDS {
        for (side, pass) in [by_weir as fn(&[Page]) -> Collected, by_lol_html].into_iter().enumerate() {
            let start = Instant::now();
            found[side] = pass(&pages);
            best[side] = best[side].min(start.elapsed());
        }
    }
    let [ours, theirs] = best.map(|time| megabytes / time.as_secs_f64());
    let mut out = io::stdout();
    writeln!(out, "parse: weir     {ours:7.1} MB/s  {}", found[0])?;
    writeln!(out, "parse: lol_html {theirs:7.1} MB/s  {}", found[1])?;
    writeln!(out, "parse: ratio    {:7.2}", ours / theirs)?;
    Ok(())
}

/// Result of a pass, as evidence that both did the work.
#[derive(Default)]
struct Collected {
    links: usize,
    link_bytes: usize,
    text_bytes: usize,
    title_bytes: usize,
}

impl std::fmt::Display for Collected {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Collected { links, link_bytes, text_bytes, title_bytes } = self;
        write!(out, "({links} links of {link_bytes} bytes, text {text_bytes}, titles {title_bytes} bytes)")
    }
}

fn by_weir(pages: &[Page]) -> Collected {
    let options = Options::default();
    let mut document = Document::default();
    let mut collected = Collected::default();
    for page in pages {
        let decoded = decode(&page.bytes, None, None);
        parse_html(&decoded.text, &options, &mut document);
        collected.links += document.links().len();
        collected.link_bytes += document.links().map(|link| link.href.len()).sum::<usize>();
        collected.text_bytes += document.text.len();
        collected.title_bytes += document.title.len();
    }
    collected
}

/// State of lol_html's handlers.
#[derive(Default)]
struct Found {
    links: Vec<(String, String)>,
    text: String,
    title: String,
    in_title: bool,
}

const LINKS: &str = "a[href], area[href], link[href], form[action], option[value], object[data], img[src], \
                     iframe[src], frame[src], embed[src], script[src], video[src], audio[src], source[src]";

/// Selectors, parsed once for all pages.
struct Selectors {
    links: Selector,
    title: Selector,
}

fn by_lol_html(pages: &[Page]) -> Collected {
    let mut collected = Collected::default();
    let (Ok(links), Ok(title)) = (LINKS.parse(), "title".parse()) else { return collected };
    let selectors = Selectors { links, title };
    for page in pages {
        let found = Rc::new(RefCell::new(Found::default()));
        lol_html_page(&page.bytes, &selectors, &found);
        let found = found.borrow();
        collected.links += found.links.len();
        collected.link_bytes += found.links.iter().map(|(url, _)| url.len()).sum::<usize>();
        collected.text_bytes += found.text.len();
        collected.title_bytes += found.title.len();
    }
    collected
}

fn lol_html_page(bytes: &[u8], selectors: &Selectors, found: &Rc<RefCell<Found>>) {
    let links = Rc::clone(found);
    let titles = Rc::clone(found);
    let texts = Rc::clone(found);
    let settings = Settings::new()
        .append_element_content_handler((
            Cow::Borrowed(&selectors.links),
            ElementContentHandlers::default().element(move |element: &mut Element<'_, '_>| {
                let rel = element.get_attribute("rel").unwrap_or_default();
                links.borrow_mut().links.extend(link_of(element).map(|url| (url, rel)));
                Ok(())
            }),
        ))
        .append_element_content_handler((
            Cow::Borrowed(&selectors.title),
            ElementContentHandlers::default().element(move |_: &mut Element<'_, '_>| {
                titles.borrow_mut().in_title = true;
                Ok(())
            }),
        ))
        .append_document_content_handler(doc_text!(move |chunk| {
            let found = &mut *texts.borrow_mut();
            match chunk.text_type() {
                TextType::Data => found.text.push_str(chunk.as_str()),
                TextType::RCData if found.in_title => {
                    found.title.push_str(chunk.as_str());
                    found.in_title = !chunk.last_in_text_node();
                }
                _ => {}
            }
            Ok(())
        }));
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    // A page that lol_html rejects is skipped, to its advantage.
    if rewriter.write(bytes).is_ok() {
        let _ = rewriter.end();
    }
}

fn link_of(element: &Element<'_, '_>) -> Option<String> {
    ["href", "src", "action", "value", "data"].iter().find_map(|name| element.get_attribute(name))
}
