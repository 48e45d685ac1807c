//! What does a page look like? Markup as on today's Web, written in one pass into one buffer.

use std::fmt::Write;

use crate::date::{self, Moment};
use crate::draw::Draw;
use crate::href::HrefWriter;
use crate::language::Vocabulary;
use crate::links::{Link, Links, Place};
use crate::page::{About, Kind, Page};
use crate::path;
use crate::sheet::Sheet;
use crate::site::Site;
use crate::text::{self, MEAN_WORDS};
use crate::world::{Naming, World};

/// Bytes of a page that are no running text: frame and links.
const FRAME_BYTES: f64 = 5_200.0;
/// Spread of the log-normal size of the text.
const SIZE_DEVIATION: f64 = 0.8;
const MOST_TEXT_BYTES: f64 = 2_000_000.0;

/// The state of a page that is to be written.
#[derive(Clone, Copy)]
pub(crate) struct Edition<'a> {
    /// How often its content has changed.
    pub(crate) version: u64,
    /// When it last did.
    pub(crate) modified: Moment,
    /// How sites are called.
    pub(crate) naming: Naming,
    /// The session id its links carry.
    pub(crate) session: Option<&'a str>,
    /// Differs at each visit: what noisy pages show.
    pub(crate) visit: u64,
}

/// Writes an HTML page. `page` may be a copy: then its original's text is written.
pub(crate) fn render(world: &World, site: &Site, page: &Page, edition: Edition<'_>) -> Sheet {
    let original = if page.content() == page.index { *page } else { world.page(site, page.content()) };
    let sentences = sentence_count(world, &original);
    let words = original.language.vocabulary();
    let expected = FRAME_BYTES + 1.1 * sentences as f64 * sentence_bytes(words);
    let own_directory = original.index == 0 && !original.has_base(world);
    let mut writer = PageWriter {
        page: original,
        words,
        edition,
        sentences,
        links: Links::new(world, site, &original),
        next_link: 0,
        near: match page.kind {
            Kind::NearDuplicate { .. } => Some(page.about(About::Text)),
            _ => None,
        },
        href: HrefWriter {
            world,
            site,
            naming: edition.naming,
            in_directory: !own_directory,
            session: edition.session,
            url: String::with_capacity(256),
        },
        out: Sheet::with_capacity(expected as usize + 2048),
    };
    writer.head();
    writer.body();
    writer.out
}

/// How many sentences of a near duplicate differ from its original, and how many there are.
pub(crate) fn changed_sentences(world: &World, site: &Site, page: &Page) -> (u32, u32) {
    let original = world.page(site, page.content());
    let total = sentence_count(world, &original);
    let own = page.about(About::Text);
    let changed = (0..total).filter(|&n| is_changed(world, own, n)).count() as u32;
    (changed, total)
}

/// The first sentence always is: a near duplicate is no exact one.
fn is_changed(world: &World, near: Draw, sentence: u32) -> bool {
    sentence == 0 || near.of(u64::from(sentence)).chance(world.settings.near_duplicate_change)
}

/// Log-normal, with the mean that the settings ask for.
fn sentence_count(world: &World, page: &Page) -> u32 {
    let mean = (world.settings.page_bytes - FRAME_BYTES).max(1_000.0);
    let normal = page.about(About::Size).normal();
    let bytes = mean * (SIZE_DEVIATION * normal - SIZE_DEVIATION * SIZE_DEVIATION / 2.0).exp();
    (bytes.min(MOST_TEXT_BYTES) / sentence_bytes(page.language.vocabulary())).max(8.0) as u32
}

fn sentence_bytes(words: &Vocabulary) -> f64 {
    MEAN_WORDS * words.mean_word_bytes + 6.0
}

struct PageWriter<'w> {
    page: Page,
    words: &'static Vocabulary,
    edition: Edition<'w>,
    sentences: u32,
    links: Links<'w>,
    next_link: u32,
    /// The key of the sentences that a near duplicate has for itself.
    near: Option<Draw>,
    href: HrefWriter<'w>,
    out: Sheet,
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
        text::push_sentence(out, self.words, page.about(About::Title).of(99));
        out.push_str("\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        let directives = robots_directives(world, site, &page);
        if let Some(directives) = directives.filter(|_| !page.robots_in_header()) {
            let _ = writeln!(out, "<meta name=\"robots\" content=\"{directives}\">");
        }
        if page.has_canonical(world) {
            out.push_str("<link rel=\"canonical\" href=\"");
            let origin = if site.copy.is_some() { world.site(site.content) } else { *site };
            let mut url = String::new();
            world.write_origin(&origin, self.edition.naming, &mut url);
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
        self.next_link_in(Place::Up);
        self.out.push_str("</p>\n<article>\n<h1>");
        text::push_title(&mut self.out, &self.page);
        self.out.push_str("</h1>\n");
        self.dateline();
        if self.page.index == 0 && self.href.site.is_portal() {
            self.out.push_str(PORTAL_WORDS);
        }
        self.list(Place::Child, "pages");
        self.list(Place::Directory, "sites");
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
        while self.peek_place() == Some(Place::Menu) {
            self.out.push_str("<li>");
            self.push_next_link();
            self.out.push_str("</li>\n");
        }
        self.out.push_str("</ul>\n</nav>\n</header>\n");
    }

    fn dateline(&mut self) {
        self.out.push_str("<p class=\"date\"><time datetime=\"");
        date::push_iso(&mut self.out, self.edition.modified);
        self.out.push_str("\">");
        date::push_iso_day(&mut self.out, self.edition.modified);
        self.out.push_str("</time></p>\n");
    }

    /// The next link, if it belongs here.
    fn next_link_in(&mut self, place: Place) {
        if self.peek_place() == Some(place) {
            self.push_next_link();
        }
    }

    fn list(&mut self, place: Place, class: &str) {
        if self.peek_place() != Some(place) {
            return;
        }
        let _ = writeln!(self.out, "<ul class=\"{class}\">");
        while self.peek_place() == Some(place) {
            self.out.push_str("<li>");
            self.push_next_link();
            self.out.push_str("</li>\n");
        }
        self.out.push_str("</ul>\n");
    }

    fn peek_place(&self) -> Option<Place> {
        (self.next_link < self.links.len()).then(|| self.links.get(self.next_link).place)
    }

    fn push_next_link(&mut self) {
        let link: Link = self.links.get(self.next_link);
        self.next_link += 1;
        self.href.push_link(&mut self.out, &link);
    }

    /// Paragraphs of three to six sentences with links between them, under headings, and a table now and then.
    fn article(&mut self) {
        let key = self.page.about(About::Text);
        let paragraphs = u64::from(self.sentences.div_ceil(4));
        // Two thirds of the links stand in the text, the rest beside it.
        let in_text = (self.links.len() - self.next_link) * 2 / 3 + self.next_link;
        let (mut sentence, mut number) = (0, 0);
        while sentence < self.sentences {
            let draw = key.of(number).of(self.paragraph_version(number, paragraphs));
            if number % 4 == 3 {
                self.heading(draw);
            }
            // Of the same length in every version, so that a change touches no other paragraph.
            let length = (3 + key.of(number).below(4) as u32).min(self.sentences - sentence);
            self.out.push_str("<p>");
            for position in 0..length {
                self.sentence(draw, sentence + position);
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
                self.table(draw);
            }
        }
    }

    fn sentence(&mut self, paragraph: Draw, number: u32) {
        let draw = match self.near {
            Some(near) if is_changed(self.href.world, near, number) => near.of(u64::from(number)).of(0),
            _ => paragraph.of(u64::from(number)),
        };
        text::push_sentence(&mut self.out, self.words, draw);
    }

    /// The last change that touched a paragraph: each change rewrites one, in turn.
    fn paragraph_version(&self, number: u64, paragraphs: u64) -> u64 {
        let version = self.edition.version;
        let since = (version + paragraphs - number % paragraphs) % paragraphs;
        version.saturating_sub(since)
    }

    fn heading(&mut self, draw: Draw) {
        self.out.push_str("<h2>");
        self.out.push_str(self.words.topic(draw.of(1), true));
        self.out.push_str(self.words.topic(draw.of(2), false));
        self.out.push_str("</h2>\n");
    }

    fn table(&mut self, draw: Draw) {
        self.out.push_str("<table>\n<tbody>\n");
        for row in 0..3 {
            self.out.push_str("<tr><th>");
            self.out.push_str(self.words.topic(draw.of(10 + row), false));
            let _ = writeln!(self.out, "</th><td>{}</td></tr>", draw.of(20 + row).below(10_000));
        }
        self.out.push_str("</tbody>\n</table>\n");
    }

    fn footer(&mut self) {
        self.out.push_str("<footer>\n<p>&copy; ");
        text::push_site_title(&mut self.out, self.href.site);
        self.out.push_str("</p>\n");
        if self.page.is_noisy(self.href.world) {
            let _ = writeln!(self.out, "<p class=\"visitors\">{}</p>", self.edition.visit);
        }
        self.out.push_str("</footer>\n</body>\n</html>\n");
    }
}

/// The robots directives of a page, for its meta element or header.
pub(crate) fn robots_directives(world: &World, site: &Site, page: &Page) -> Option<&'static str> {
    match (page.noindex(world), page.nofollow(world, site)) {
        (true, true) => Some("none"),
        (true, false) => Some("noindex"),
        (false, true) => Some("nofollow"),
        (false, false) => None,
    }
}

/// Style and script as most pages have them; the script holds markup that is none.
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

const PORTAL_WORDS: &str = r#"<p><strong>This is a synthetic Web.</strong> Every site and page here is made on the fly from one seed, so that
programs that crawl the Web can be tested against a Web whose truth is known. The sites are listed below and on the pages of
this portal.</p>
"#;
