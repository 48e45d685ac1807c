//! Where does a crawler get lost? In parts of a site that never end: a calendar, paths that grow, a maze. Their pages
//! are short and their links are the only thing about them that matters; truth lists none of them.

use std::fmt::Write;

use crate::draw::Draw;
use crate::sheet::Sheet;
use crate::site::{Site, TrapKind};
use crate::text;

/// Links of a page in the maze.
const DOORS: u64 = 8;
const GROWING_LIMIT_BYTES: usize = 4096;

/// Writes the page at a place in the site's trap; `None` where even a trap has an end.
pub(crate) fn render(site: &Site, path: &str) -> Option<Sheet> {
    let mut out = Sheet::with_capacity(2048);
    let _ = write!(out, "<!DOCTYPE html>\n<html lang=\"{}\">\n<head>\n", site.language.code());
    site.charset.push_meta(&mut out);
    out.push_str("<title>");
    text::push_site_title(&mut out, site);
    out.push_str("</title>\n</head>\n<body>\n");
    let draw = path.bytes().fold(site.key, |draw, byte| draw.of(u64::from(byte)));
    let words = site.language.vocabulary();
    for n in 0..6 {
        out.push_str("<p>");
        text::push_sentence(&mut out, words, draw.of(n));
        out.push_str("</p>\n");
    }
    out.push_str("<ul>\n");
    match site.trap? {
        TrapKind::Calendar => calendar(&mut out, path)?,
        TrapKind::Growing => growing(&mut out, site, draw, path)?,
        TrapKind::Maze => maze(&mut out, draw),
    }
    out.push_str("</ul>\n</body>\n</html>\n");
    Some(out)
}

fn calendar(out: &mut Sheet, path: &str) -> Option<()> {
    let (year, month) = path.strip_prefix("/calendar/")?.split_once('/')?;
    let (year, month): (u32, u32) = (year.parse().ok()?, month.parse().ok()?);
    if !(1..=9998).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    let months = year * 12 + month - 1;
    for (name, other) in [("&laquo;", months - 1), ("&raquo;", months + 1), ("+1", months + 12)] {
        let _ =
            writeln!(out, "<li><a href=\"/calendar/{}/{:02}\">{name}</a></li>", other / 12, other % 12 + 1);
    }
    Some(())
}

/// Each page links to longer paths, which repeat the same few words.
fn growing(out: &mut Sheet, site: &Site, draw: Draw, path: &str) -> Option<()> {
    if path.len() > GROWING_LIMIT_BYTES || !path.ends_with('/') {
        return None;
    }
    for n in 0..3 {
        let word = site.language.vocabulary().slug(site.key.of(970 + draw.of(100 + n).below(4)));
        let _ = writeln!(out, "<li><a href=\"{word}/\">{word}</a></li>");
    }
    Some(())
}

fn maze(out: &mut Sheet, draw: Draw) {
    for n in 0..DOORS {
        let room = draw.of(200 + n).bits();
        let _ = writeln!(out, "<li><a href=\"/maze/{room:016x}\">{room:x}</a></li>");
    }
}
