//! HTML pages with markup as on today's Web, written in one pass into one buffer.

use std::fmt::Write;

use crate::content::href::HrefWriter;
use crate::content::text;
use crate::content::text::MEAN_WORDS;
use crate::world::date;
use crate::world::date::Moment;
use crate::world::language::Vocabulary;
use crate::world::links::{Link, LinkPosition, Links};
use crate::world::page::{Page, PageKey, PageKind};
use crate::world::path;
use crate::world::random::KeyedRandom;
use crate::world::site::Site;
use crate::world::synthetic_web::{Naming, World};
use crate::world::text_buffer::TextBuffer;

/// Bytes of a page that are not running text: markup and links.
const MARKUP_BYTES: f64 = 5_200.0;
/// Standard deviation of the logarithm of the text size.
const SIZE_DEVIATION: f64 = 0.8;
const MAX_TEXT_BYTES: f64 = 2_000_000.0;

/// State of a page that is rendered.
#[derive(Clone, Copy)]
pub(crate) struct RenderOptions<'a> {
    /// Number of changes of the content.
    pub(crate) version: u64,
    /// Time of the last change.
    pub(crate) modified: Moment,
    /// Form of host names.
    pub(crate) naming: Naming,
    /// Session id in links.
    pub(crate) session: Option<&'a str>,
    /// Differs in each response; shown on pages with volatile content.
    pub(crate) nonce: u64,
}

/// Renders an HTML page. A duplicate shows the text of its original.
pub(crate) fn render(world: &World, site: &Site, page: &Page, options: RenderOptions<'_>) -> TextBuffer {
    let original = if page.content() == page.index { *page } else { world.page(site, page.content()) };
    let sentences = sentence_count(world, &original);
    let words = original.language.vocabulary();
    let expected = MARKUP_BYTES + 1.1 * sentences as f64 * sentence_bytes(words);
    let own_directory = original.index == 0 && !original.has_base(world);
    let mut writer = PageWriter {
        page: original,
        words,
        options,
        sentences,
        links: Links::new(world, site, &original),
        next_link: 0,
        near: match page.kind {
            PageKind::NearDuplicate { .. } => Some(page.random(PageKey::Text)),
            _ => None,
        },
        href: HrefWriter {
            world,
            site,
            naming: options.naming,
            in_directory: !own_directory,
            session: options.session,
            url: String::with_capacity(256),
        },
        out: TextBuffer::with_capacity(expected as usize + 2048),
    };
    writer.head();
    writer.body();
    writer.out
}

/// Returns the number of sentences of a near duplicate that differ from its original, and the total number.
pub(crate) fn changed_sentences(world: &World, site: &Site, page: &Page) -> (u32, u32) {
    let original = world.page(site, page.content());
    let total = sentence_count(world, &original);
    let own = page.random(PageKey::Text);
    let changed = (0..total).filter(|&n| is_changed(world, own, n)).count() as u32;
    (changed, total)
}

/// Reports whether a sentence differs. The first one always does, so that a near duplicate is never an exact one.
fn is_changed(world: &World, near: KeyedRandom, sentence: u32) -> bool {
    sentence == 0 || near.child(u64::from(sentence)).chance(world.settings.near_duplicate_change)
}

/// Number of sentences: log-normal, with the mean of the settings.
fn sentence_count(world: &World, page: &Page) -> u32 {
    let mean = (world.settings.page_bytes - MARKUP_BYTES).max(1_000.0);
    let normal = page.random(PageKey::Size).normal();
    let bytes = mean * (SIZE_DEVIATION * normal - SIZE_DEVIATION * SIZE_DEVIATION / 2.0).exp();
    (bytes.min(MAX_TEXT_BYTES) / sentence_bytes(page.language.vocabulary())).max(8.0) as u32
}

fn sentence_bytes(words: &Vocabulary) -> f64 {
    MEAN_WORDS * words.mean_word_bytes + 6.0
}

struct PageWriter<'w> {
    page: Page,
    words: &'static Vocabulary,
    options: RenderOptions<'w>,
    sentences: u32,
    links: Links<'w>,
    next_link: u32,
    /// Key of the sentences of a near duplicate that differ from its original.
    near: Option<KeyedRandom>,
    href: HrefWriter<'w>,
    out: TextBuffer,
}

impl PageWriter<'_> {
    fn head(&mut self) {
        let (world, site, page) = (self.href.world, self.href.site, self.page);
        let out = &mut self.out;
        out.push_str("<!DOCTYPE html>\n<html lang=\"");
        out.push_str(page.language.code());
        out.push_str("\">\n<head>\n");
        site.charset.push_meta(out);
        out.push_str("<title>");
        text::push_title(out, &page);
        out.push_str(" - ");
        text::push_site_title(out, site);
        out.push_str("</title>\n<meta name=\"description\" content=\"");
        text::push_sentence(out, self.words, page.random(PageKey::Title).child(99));
        out.push_str("\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        let directives = robots_directives(world, site, &page);
        if let Some(directives) = directives.filter(|_| !page.robots_in_header()) {
            let _ = writeln!(out, "<meta name=\"robots\" content=\"{directives}\">");
        }
        if page.has_canonical(world) {
            out.push_str("<link rel=\"canonical\" href=\"");
            let origin = if site.replica.is_some() { world.site(site.content) } else { *site };
            let mut url = String::new();
            world.write_origin(&origin, self.options.naming, &mut url);
            path::write_path(world, site, &page, &mut url);
            out.push_str(&url.replace('&', "&amp;"));
            out.push_str("\">\n");
        }
        if page.has_base(world) {
            out.push_str("<base href=\"/base/\">\n");
        }
        out.push_str(STYLE_AND_SCRIPT);
    }

    fn body(&mut self) {
        self.menu();
        self.out.push_str("<main>\n<p class=\"path\">");
        self.push_link_at(LinkPosition::Up);
        self.out.push_str("</p>\n<article>\n<h1>");
        text::push_title(&mut self.out, &self.page);
        self.out.push_str("</h1>\n");
        self.dateline();
        if self.page.index == 0 && self.href.site.is_portal() {
            self.out.push_str(PORTAL_INTRO);
        }
        self.list(LinkPosition::Child, "pages");
        self.list(LinkPosition::Directory, "sites");
        self.article();
        self.out.push_str("</article>\n<aside>\n<ul class=\"related\">\n");
        while self.next_link < self.links.len() {
            self.out.push_str("<li>");
            self.push_next_link();
            self.out.push_str("</li>\n");
        }
        self.out.push_str("</ul>\n</aside>\n</main>\n");
        self.footer();
    }

    fn menu(&mut self) {
        self.out.push_str("<header class=\"top\">\n<p class=\"brand\">");
        text::push_site_title(&mut self.out, self.href.site);
        self.out.push_str("</p>\n<nav>\n<ul>\n");
        while self.peek_position() == Some(LinkPosition::Menu) {
            self.out.push_str("<li>");
            self.push_next_link();
            self.out.push_str("</li>\n");
        }
        self.out.push_str("</ul>\n</nav>\n</header>\n");
    }

    fn dateline(&mut self) {
        self.out.push_str("<p class=\"date\"><time datetime=\"");
        date::push_iso(&mut self.out, self.options.modified);
        self.out.push_str("\">");
        date::push_iso_day(&mut self.out, self.options.modified);
        self.out.push_str("</time></p>\n");
    }

    /// Appends the next link if it has this position.
    fn push_link_at(&mut self, position: LinkPosition) {
        if self.peek_position() == Some(position) {
            self.push_next_link();
        }
    }

    fn list(&mut self, position: LinkPosition, class: &str) {
        if self.peek_position() != Some(position) {
            return;
        }
        let _ = writeln!(self.out, "<ul class=\"{class}\">");
        while self.peek_position() == Some(position) {
            self.out.push_str("<li>");
            self.push_next_link();
            self.out.push_str("</li>\n");
        }
        self.out.push_str("</ul>\n");
    }

    fn peek_position(&self) -> Option<LinkPosition> {
        (self.next_link < self.links.len()).then(|| self.links.get(self.next_link).position)
    }

    fn push_next_link(&mut self) {
        let link: Link = self.links.get(self.next_link);
        self.next_link += 1;
        self.href.push_link(&mut self.out, &link);
    }

    /// Writes paragraphs of three to six sentences with links between them, headings and tables.
    fn article(&mut self) {
        let key = self.page.random(PageKey::Text);
        let paragraphs = u64::from(self.sentences.div_ceil(4));
        // Two thirds of the free links are in the text, the others beside it.
        let in_text = (self.links.len() - self.next_link) * 2 / 3 + self.next_link;
        let (mut sentence, mut number) = (0, 0);
        while sentence < self.sentences {
            let random = key.child(number).child(self.paragraph_version(number, paragraphs));
            if number % 4 == 3 {
                self.heading(random);
            }
            // The length is the same in every version, so that a change affects no other paragraph.
            let length = (3 + key.child(number).below(4) as u32).min(self.sentences - sentence);
            self.out.push_str("<p>");
            for position in 0..length {
                self.sentence(random, sentence + position);
                let due =
                    u64::from(sentence + position) * u64::from(in_text) / u64::from(self.sentences.max(1));
                while self.next_link < in_text && u64::from(self.next_link) <= due {
                    self.push_next_link();
                    self.out.push_str(if self.words.gap.is_empty() { "" } else { " " });
                }
            }
            self.out.push_str("</p>\n");
            sentence += length;
            number += 1;
            if number % 9 == 5 {
                self.table(random);
            }
        }
    }

    fn sentence(&mut self, paragraph: KeyedRandom, number: u32) {
        let random = match self.near {
            Some(near) if is_changed(self.href.world, near, number) => near.child(u64::from(number)).child(0),
            _ => paragraph.child(u64::from(number)),
        };
        text::push_sentence(&mut self.out, self.words, random);
    }

    /// Returns the last change of a paragraph; each change rewrites one paragraph, in turn.
    fn paragraph_version(&self, number: u64, paragraphs: u64) -> u64 {
        let version = self.options.version;
        let since = (version + paragraphs - number % paragraphs) % paragraphs;
        version.saturating_sub(since)
    }

    fn heading(&mut self, random: KeyedRandom) {
        self.out.push_str("<h2>");
        self.out.push_str(self.words.topic(random.child(1), true));
        self.out.push_str(self.words.topic(random.child(2), false));
        self.out.push_str("</h2>\n");
    }

    fn table(&mut self, random: KeyedRandom) {
        self.out.push_str("<table>\n<tbody>\n");
        for row in 0..3 {
            self.out.push_str("<tr><th>");
            self.out.push_str(self.words.topic(random.child(10 + row), false));
            let _ = writeln!(self.out, "</th><td>{}</td></tr>", random.child(20 + row).below(10_000));
        }
        self.out.push_str("</tbody>\n</table>\n");
    }

    fn footer(&mut self) {
        self.out.push_str("<footer>\n<p>&copy; ");
        text::push_site_title(&mut self.out, self.href.site);
        self.out.push_str("</p>\n");
        if self.page.has_volatile_content(self.href.world) {
            let _ = writeln!(self.out, "<p class=\"visitors\">{}</p>", self.options.nonce);
        }
        self.out.push_str("</footer>\n</body>\n</html>\n");
    }
}

/// Returns the robots directives of a page, for its meta element or header.
pub(crate) fn robots_directives(world: &World, site: &Site, page: &Page) -> Option<&'static str> {
    match (page.noindex(world), page.nofollow(world, site)) {
        (true, true) => Some("none"),
        (true, false) => Some("noindex"),
        (false, true) => Some("nofollow"),
        (false, false) => None,
    }
}

/// Style and script as on most pages; the script contains a string that looks like markup.
const STYLE_AND_SCRIPT: &str = r#"<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 62rem; color: #222; }
header.top { display: flex; gap: 2rem; border-bottom: 1px solid #ccc; } nav ul { display: flex; gap: 1rem; list-style: none; }
main { display: grid; grid-template-columns: 3fr 1fr; gap: 2rem; } .path { grid-column: 1 / 3; font-size: 80%; }
table { border-collapse: collapse; } td, th { border: 1px solid #ddd; padding: .2rem .6rem; } footer { color: #777; }
</style>
<script>
var banner = "<a href='/not/a/link.html'>not a link</a>";
if (1 < 2 && banner) { document.documentElement.className = "js"; }
</script>
<!-- <a href="/not/a/link/either.html">commented out</a> -->
</head>
<body>
"#;

const PORTAL_INTRO: &str = r#"<p><strong>This is a synthetic Web.</strong> Every site and page here is made on the fly from one seed, so that
programs that crawl the Web can be tested against a Web whose truth is known. The sites are listed below and on the pages of
this portal.</p>
"#;
