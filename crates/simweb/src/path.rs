//! Where does a page lie, and which page lies there? The page's number stands in its path in a natural way
//! (`/science/river-stone-1234.html`); a path is valid only if it is exactly the one made for that number.

use crate::draw::Draw;
use crate::page::{About, Kind, Page, Style};
use crate::robots::{MOVED, RobotsKind};
use crate::site::{Site, TrapKind, push_number};
use crate::world::World;

/// Sections of a site, and directories of its paths.
const SECTIONS: u64 = 6;
/// Longest path that is looked at.
const PATH_LIMIT_BYTES: usize = 8 * 1024;

/// What a path and query stand for on a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A page; `hop` counts the redirects already answered on the way to its target.
    Page {
        page: u32,
        hop: u32,
    },
    /// Its robots.txt, or where that has moved to.
    Robots {
        moved: bool,
    },
    Sitemap(String),
    Rdf,
    /// A place in the site's trap.
    Trap(String),
    Nothing,
}

/// Appends path and query of a page.
pub(crate) fn write_path(world: &World, site: &Site, page: &Page, out: &mut String) {
    if page.index == 0 {
        return out.push('/');
    }
    let draw = page.about(About::Path);
    let words = site.language.vocabulary();
    if let Kind::Redirect(_) = page.kind {
        return write_hop(site, page, 0, out);
    }
    write_directory(world, site, page, out);
    match page.style {
        Style::Dynamic => {
            out.push_str(if draw.bits() & 1 == 0 { "show.php?id=" } else { "index.asp?id=" });
            push_number(out, page.index);
            if draw.bits() & 2 == 0 {
                out.push_str("&topic=");
                out.push_str(words.slug(draw.of(1)));
            }
            return;
        }
        Style::Draft => out.push_str("draft-"),
        Style::Open => out.push_str("public-"),
        Style::Static | Style::Private => {}
    }
    write_slug(world, site, draw, out);
    out.push('-');
    push_number(out, page.index);
    out.push_str(extension(site, page));
}

/// Appends the path of a redirect after `hop` redirects.
pub(crate) fn write_hop(site: &Site, page: &Page, hop: u32, out: &mut String) {
    out.push_str("/go/");
    if hop > 0 {
        push_number(out, hop);
        out.push('/');
    }
    out.push_str(site.language.vocabulary().slug(page.about(About::Path)));
    out.push('-');
    push_number(out, page.index);
}

/// A duplicate lies beside its original, so that relative links in the same bytes lead to the same pages.
pub(crate) fn write_directory(world: &World, site: &Site, page: &Page, out: &mut String) {
    let owner = match page.kind {
        Kind::Duplicate { of: 0 } | Kind::NearDuplicate { of: 0 } => return out.push('/'),
        Kind::Duplicate { of } | Kind::NearDuplicate { of } => world.page(site, of),
        _ => *page,
    };
    match owner.style {
        Style::Private | Style::Open => out.push_str("/private/"),
        _ if owner.index == 0 => out.push('/'),
        _ => {
            let section = owner.about(About::Path).of(7).below(SECTIONS);
            out.push('/');
            out.push_str(section_name(site, section));
            out.push('/');
        }
    }
}

fn section_name(site: &Site, section: u64) -> &'static str {
    site.language.vocabulary().slug(site.key.of(900 + section))
}

/// Two words; the first in the site's own script, percent-encoded, for a share of the pages.
fn write_slug(world: &World, site: &Site, draw: Draw, out: &mut String) {
    let words = site.language.vocabulary();
    if draw.of(3).chance(world.settings.unicode_paths) {
        for byte in words.topic(draw.of(1), false).trim_end().bytes() {
            if byte.is_ascii_alphanumeric() {
                out.push(char::from(byte));
            } else {
                out.push('%');
                out.extend(
                    [byte >> 4, byte & 15].map(|half| char::from(b"0123456789ABCDEF"[usize::from(half)])),
                );
            }
        }
    } else {
        out.push_str(words.slug(draw.of(1)));
    }
    out.push('-');
    out.push_str(words.slug(draw.of(2)));
}

fn extension(site: &Site, page: &Page) -> &'static str {
    match page.kind {
        Kind::Text => ".txt",
        Kind::Pdf => ".pdf",
        Kind::Image => ".png",
        _ => [".html", ".html", ".htm", ""][site.key.of(910).below(4) as usize],
    }
}

/// Finds what lies at a path and query.
pub(crate) fn find(world: &World, site: &Site, path_and_query: &str) -> Found {
    if path_and_query.len() > PATH_LIMIT_BYTES {
        return Found::Nothing;
    }
    let plain = without_marks(path_and_query);
    let asked = plain.as_deref().unwrap_or(path_and_query);
    match asked {
        "/" => return Found::Page { page: 0, hop: 0 },
        "/robots.txt" => return Found::Robots { moved: false },
        MOVED if site.robots == RobotsKind::Redirected => return Found::Robots { moved: true },
        "/robots.rdf" if site.rdf => return Found::Rdf,
        _ => {}
    }
    if site.sitemap.is_some() && asked.starts_with("/sitemap") {
        return Found::Sitemap(asked.to_owned());
    }
    if is_trapped(site, asked) {
        return Found::Trap(asked.to_owned());
    }
    find_page(world, site, asked).unwrap_or(Found::Nothing)
}

fn is_trapped(site: &Site, path: &str) -> bool {
    match site.trap {
        Some(TrapKind::Calendar) => path.starts_with("/calendar/"),
        Some(TrapKind::Growing) => path.starts_with("/archive/"),
        Some(TrapKind::Maze) => path.starts_with("/maze/"),
        None => false,
    }
}

fn find_page(world: &World, site: &Site, asked: &str) -> Option<Found> {
    let index: u32 = match asked.split_once('?') {
        Some((_, query)) => query.strip_prefix("id=")?.split('&').next()?.parse().ok()?,
        None => {
            let name = asked.rsplit('/').next()?;
            let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
            stem.rsplit_once('-')?.1.parse().ok()?
        }
    };
    if index == 0 || index >= site.pages {
        return None;
    }
    let page = world.page(site, index);
    let hop = match page.kind {
        Kind::Redirect(redirect) => hop_of(asked).filter(|&hop| hop < redirect.hops)?,
        _ => 0,
    };
    let mut made = String::with_capacity(asked.len() + 16);
    if hop > 0 {
        write_hop(site, &page, hop, &mut made);
    } else {
        write_path(world, site, &page, &mut made);
    }
    (made == asked).then_some(Found::Page { page: index, hop })
}

fn hop_of(path: &str) -> Option<u32> {
    let rest = path.strip_prefix("/go/")?;
    rest.split_once('/').map_or(Some(0), |(hop, _)| hop.parse().ok())
}

/// Takes session ids and tracking parameters off; `None` when there are none.
fn without_marks(asked: &str) -> Option<String> {
    let (path, query) = asked.split_once('?').unwrap_or((asked, ""));
    let bare = path.split_once(";jsessionid=").map_or(path, |(bare, _)| bare);
    if bare.len() == path.len() && !query.split('&').any(is_mark) {
        return None;
    }
    let kept: Vec<&str> =
        query.split('&').filter(|parameter| !parameter.is_empty() && !is_mark(parameter)).collect();
    Some(if kept.is_empty() { bare.to_owned() } else { format!("{bare}?{}", kept.join("&")) })
}

fn is_mark(parameter: &str) -> bool {
    ["PHPSESSID=", "osCsid=", "utm_", "fbclid="].iter().any(|mark| parameter.starts_with(mark))
}

/// The session id a request carries.
pub(crate) fn session_of(asked: &str) -> Option<&str> {
    let marks = [";jsessionid=", "PHPSESSID=", "osCsid="];
    let after = marks.iter().find_map(|mark| asked.split_once(mark).map(|(_, after)| after))?;
    let end = after.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(after.len());
    (1..=64).contains(&end).then_some(&after[..end])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::language::Language;
    use crate::settings::Settings;
    use crate::world::Ports;

    fn world() -> World {
        let settings =
            Settings { sites: 50, traps: 0.5, sitemaps: 0.5, session_ids: 0.5, ..Settings::default() };
        World::new(settings, Ports { http: 80, https: 443 }).unwrap()
    }

    #[test]
    fn no_section_is_called_like_a_directory_with_a_meaning() {
        for name in
            ["private", "go", "calendar", "archive", "maze", "base", "robots", "sitemap", "draft", "public"]
        {
            let taken = Language::ALL.into_iter().find(|language| language.vocabulary().has_slug(name));
            assert_eq!(taken, None, "{name} would be misread");
        }
    }

    #[test]
    fn marks_are_taken_off() {
        let bare = |asked: &str| without_marks(asked).unwrap_or_else(|| asked.to_owned());
        assert_eq!(bare("/a/b-1.html;jsessionid=F00"), "/a/b-1.html");
        assert_eq!(bare("/a/show.php;jsessionid=F00?id=1"), "/a/show.php?id=1");
        assert_eq!(bare("/a/show.php?id=1&topic=x&PHPSESSID=1&utm_source=y"), "/a/show.php?id=1&topic=x");
        assert_eq!(bare("/a?osCsid=1"), "/a");
        assert_eq!(without_marks("/a/show.php?id=1&topic=x"), None);
        assert_eq!(session_of("/a?id=1&PHPSESSID=ab12&x"), Some("ab12"));
        assert_eq!(session_of("/a;jsessionid=F00?id=1"), Some("F00"));
        assert_eq!((session_of("/a?osCsid="), session_of("/a")), (None, None));
    }

    proptest! {
        #[test]
        fn any_path_is_found_or_not(asked in "(/|\\PC|[a-z]{1,8}|-[0-9]{1,12}|[.?&=;%])*", site in 0u32..50) {
            let world = world();
            find(&world, &world.site(site), &asked);
            session_of(&asked);
        }

        #[test]
        fn any_host_is_a_site_or_not(host in "(www|news|[a-z-]{1,9}|[0-9]{1,12}|[.]|\\PC){0,6}(\\.test)?") {
            let world = world();
            if let Some(index) = world.site_by_name(&host) {
                prop_assert_eq!(world.name(index), host);
            }
        }

        #[test]
        fn any_url_is_a_page_or_not(url in "(https?://)?(portal.test)?(:80)?(/|\\PC|[a-z]{1,8}|-[0-9]{1,12}|[.?&=#])*") {
            world().page_by_url(&url);
        }
    }
}
