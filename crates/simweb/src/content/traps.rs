//! Crawler traps: a calendar, growing paths and a maze, all endless. Their pages are short, and the ground truth does
//! not contain them.

use std::fmt::Write;

use crate::content::text;
use crate::world::kinds::TrapKind;
use crate::world::random::KeyedRandom;
use crate::world::site::Site;
use crate::world::text_buffer::TextBuffer;

/// Number of links of a page in the maze.
const LINKS_PER_TRAP_PAGE: u64 = 8;
const MAX_GROWING_BYTES: usize = 4096;

/// Renders a page of a site's trap; `None` beyond the end of a trap.
pub(crate) fn render(site: &Site, path: &str) -> Option<TextBuffer> {
    let mut out = TextBuffer::with_capacity(2048);
    let _ = write!(out, "<!DOCTYPE html>\n<html lang=\"{}\">\n<head>\n", site.language.code());
    site.charset.push_meta(&mut out);
    out.push_str("<title>");
    text::push_site_title(&mut out, site);
    out.push_str("</title>\n</head>\n<body>\n");
    let random = path.bytes().fold(site.key, |random, byte| random.child(u64::from(byte)));
    let words = site.language.vocabulary();
    for n in 0..6 {
        out.push_str("<p>");
        text::push_sentence(&mut out, words, random.child(n));
        out.push_str("</p>\n");
    }
    out.push_str("<ul>\n");
    match site.trap? {
        TrapKind::Calendar => calendar(&mut out, path)?,
        TrapKind::Growing => growing(&mut out, site, random, path)?,
        TrapKind::Maze => maze(&mut out, random),
    }
    out.push_str("</ul>\n</body>\n</html>\n");
    Some(out)
}

fn calendar(out: &mut TextBuffer, path: &str) -> Option<()> {
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

/// Writes links to longer paths, which repeat the same few words.
fn growing(out: &mut TextBuffer, site: &Site, random: KeyedRandom, path: &str) -> Option<()> {
    if path.len() > MAX_GROWING_BYTES || !path.ends_with('/') {
        return None;
    }
    for n in 0..3 {
        let word = site.language.vocabulary().slug(site.key.child(970 + random.child(100 + n).below(4)));
        let _ = writeln!(out, "<li><a href=\"{word}/\">{word}</a></li>");
    }
    Some(())
}

fn maze(out: &mut TextBuffer, random: KeyedRandom) {
    for n in 0..LINKS_PER_TRAP_PAGE {
        let room = random.child(200 + n).bits();
        let _ = writeln!(out, "<li><a href=\"/maze/{room:016x}\">{room:x}</a></li>");
    }
}
