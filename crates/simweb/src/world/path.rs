//! Paths of pages, and resolution of paths to pages.
//!
//! A path contains the index of its page (`/science/river-stone-1234.html`). It is valid only if it is exactly the
//! path that is generated for that index.

use crate::world::kinds::{PathClass, RobotsKind, TrapKind};
use crate::world::page::{Page, PageKey, PageKind};
use crate::world::random::KeyedRandom;
use crate::world::robots::REDIRECTED_PATH;
use crate::world::site::Site;
use crate::world::synthetic_web::World;
use crate::world::text_buffer::push_number;

/// Number of sections of a site, which are directories of its paths.
const SECTIONS: u64 = 6;
/// Maximum length of a path that is resolved.
const MAX_PATH_BYTES: usize = 8 * 1024;

/// Resource at a path and query of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    /// A page; `hop` is the number of redirects before this URL.
    Page {
        page: u32,
        hop: u32,
    },
    /// The robots.txt, or its redirect target.
    Robots {
        redirected: bool,
    },
    Sitemap(String),
    Rdf,
    /// A page of the trap.
    Trap(String),
    NotFound,
}

/// Appends path and query of a page.
pub(crate) fn write_path(world: &World, site: &Site, page: &Page, out: &mut String) {
    if page.index == 0 {
        return out.push('/');
    }
    let random = page.random(PageKey::Path);
    let words = site.language.vocabulary();
    if let PageKind::Redirect(_) = page.kind {
        return write_hop(site, page, 0, out);
    }
    write_directory(world, site, page, out);
    match page.path_class {
        PathClass::Dynamic => {
            out.push_str(if random.bits() & 1 == 0 { "show.php?id=" } else { "index.asp?id=" });
            push_number(out, page.index);
            if random.bits() & 2 == 0 {
                out.push_str("&topic=");
                out.push_str(words.slug(random.child(1)));
            }
            return;
        }
        PathClass::Draft => out.push_str("draft-"),
        PathClass::Open => out.push_str("public-"),
        PathClass::Static | PathClass::Private => {}
    }
    write_slug(world, site, random, out);
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
    out.push_str(site.language.vocabulary().slug(page.random(PageKey::Path)));
    out.push('-');
    push_number(out, page.index);
}

/// Appends the directory of a page. A duplicate is in the directory of its original, so that relative links in equal
/// bytes have equal targets.
pub(crate) fn write_directory(world: &World, site: &Site, page: &Page, out: &mut String) {
    let owner = match page.kind {
        PageKind::Duplicate { of: 0 } | PageKind::NearDuplicate { of: 0 } => return out.push('/'),
        PageKind::Duplicate { of } | PageKind::NearDuplicate { of } => Page::derive(world, site, of),
        _ => *page,
    };
    match owner.path_class {
        PathClass::Private | PathClass::Open => out.push_str("/private/"),
        _ if owner.index == 0 => out.push('/'),
        _ => {
            let section = owner.random(PageKey::Path).child(7).below(SECTIONS);
            out.push('/');
            out.push_str(section_name(site, section));
            out.push('/');
        }
    }
}

fn section_name(site: &Site, section: u64) -> &'static str {
    site.language.vocabulary().slug(site.key.child(900 + section))
}

/// Appends two words; for a share of the pages the first one is in the script of the site, percent-encoded.
fn write_slug(world: &World, site: &Site, random: KeyedRandom, out: &mut String) {
    let words = site.language.vocabulary();
    if random.child(3).chance(world.settings.unicode_paths) {
        for byte in words.topic(random.child(1), false).trim_end().bytes() {
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
        out.push_str(words.slug(random.child(1)));
    }
    out.push('-');
    out.push_str(words.slug(random.child(2)));
}

fn extension(site: &Site, page: &Page) -> &'static str {
    match page.kind {
        PageKind::Text => ".txt",
        PageKind::Pdf => ".pdf",
        PageKind::Image => ".png",
        _ => [".html", ".html", ".htm", ""][site.key.child(910).below(4) as usize],
    }
}

/// Resolves a path and query.
pub(crate) fn resolve(world: &World, site: &Site, path_and_query: &str) -> Resource {
    if path_and_query.len() > MAX_PATH_BYTES {
        return Resource::NotFound;
    }
    let plain = strip_session_and_tracking(path_and_query);
    let target = plain.as_deref().unwrap_or(path_and_query);
    match target {
        "/" => return Resource::Page { page: 0, hop: 0 },
        "/robots.txt" => return Resource::Robots { redirected: false },
        REDIRECTED_PATH if site.robots == RobotsKind::Redirected => {
            return Resource::Robots { redirected: true };
        }
        "/robots.rdf" if site.rdf => return Resource::Rdf,
        _ => {}
    }
    if site.sitemap.is_some() && target.starts_with("/sitemap") {
        return Resource::Sitemap(target.to_owned());
    }
    if is_trap_path(site, target) {
        return Resource::Trap(target.to_owned());
    }
    resolve_page(world, site, target).unwrap_or(Resource::NotFound)
}

fn is_trap_path(site: &Site, path: &str) -> bool {
    match site.trap {
        Some(TrapKind::Calendar) => path.starts_with("/calendar/"),
        Some(TrapKind::Growing) => path.starts_with("/archive/"),
        Some(TrapKind::Maze) => path.starts_with("/maze/"),
        None => false,
    }
}

fn resolve_page(world: &World, site: &Site, target: &str) -> Option<Resource> {
    let index: u32 = match target.split_once('?') {
        Some((_, query)) => query.strip_prefix("id=")?.split('&').next()?.parse().ok()?,
        None => {
            let name = target.rsplit('/').next()?;
            let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
            stem.rsplit_once('-')?.1.parse().ok()?
        }
    };
    if index == 0 || index >= site.pages {
        return None;
    }
    let page = Page::derive(world, site, index);
    let hop = match page.kind {
        PageKind::Redirect(redirect) => hop_index(target).filter(|&hop| hop < redirect.hops)?,
        _ => 0,
    };
    let mut expected = String::with_capacity(target.len() + 16);
    if hop > 0 {
        write_hop(site, &page, hop, &mut expected);
    } else {
        write_path(world, site, &page, &mut expected);
    }
    (expected == target).then_some(Resource::Page { page: index, hop })
}

fn hop_index(path: &str) -> Option<u32> {
    let rest = path.strip_prefix("/go/")?;
    rest.split_once('/').map_or(Some(0), |(hop, _)| hop.parse().ok())
}

/// Removes session ids and tracking parameters; `None` if there are none.
fn strip_session_and_tracking(target: &str) -> Option<String> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let bare = path.split_once(";jsessionid=").map_or(path, |(bare, _)| bare);
    if bare.len() == path.len() && !query.split('&').any(is_session_or_tracking) {
        return None;
    }
    let kept: Vec<&str> = query
        .split('&')
        .filter(|parameter| !parameter.is_empty() && !is_session_or_tracking(parameter))
        .collect();
    Some(if kept.is_empty() { bare.to_owned() } else { format!("{bare}?{}", kept.join("&")) })
}

fn is_session_or_tracking(parameter: &str) -> bool {
    ["PHPSESSID=", "osCsid=", "utm_", "fbclid="].iter().any(|prefix| parameter.starts_with(prefix))
}

/// Returns the session id of a request.
pub(crate) fn session_id(target: &str) -> Option<&str> {
    let names = [";jsessionid=", "PHPSESSID=", "osCsid="];
    let after = names.iter().find_map(|name| target.split_once(name).map(|(_, after)| after))?;
    let end = after.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(after.len());
    (1..=64).contains(&end).then_some(&after[..end])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::settings::Settings;
    use crate::world::language::Language;
    use crate::world::synthetic_web::Ports;

    fn world() -> World {
        let settings =
            Settings { sites: 50, traps: 0.5, sitemaps: 0.5, session_ids: 0.5, ..Settings::default() };
        World::new(settings, Ports { http: 80, https: 443 }).unwrap()
    }

    #[test]
    fn no_section_has_the_name_of_a_special_directory() {
        for name in
            ["private", "go", "calendar", "archive", "maze", "base", "robots", "sitemap", "draft", "public"]
        {
            let used = Language::ALL.into_iter().find(|language| language.vocabulary().has_slug(name));
            assert_eq!(used, None, "{name} would be ambiguous");
        }
    }

    #[test]
    fn session_ids_and_tracking_parameters_are_removed() {
        let bare = |target: &str| strip_session_and_tracking(target).unwrap_or_else(|| target.to_owned());
        assert_eq!(bare("/a/b-1.html;jsessionid=F00"), "/a/b-1.html");
        assert_eq!(bare("/a/show.php;jsessionid=F00?id=1"), "/a/show.php?id=1");
        assert_eq!(bare("/a/show.php?id=1&topic=x&PHPSESSID=1&utm_source=y"), "/a/show.php?id=1&topic=x");
        assert_eq!(bare("/a?osCsid=1"), "/a");
        assert_eq!(strip_session_and_tracking("/a/show.php?id=1&topic=x"), None);
        assert_eq!(session_id("/a?id=1&PHPSESSID=ab12&x"), Some("ab12"));
        assert_eq!(session_id("/a;jsessionid=F00?id=1"), Some("F00"));
        assert_eq!((session_id("/a?osCsid="), session_id("/a")), (None, None));
    }

    proptest! {
        #[test]
        fn any_path_is_resolved(target in "(/|\\PC|[a-z]{1,8}|-[0-9]{1,12}|[.?&=;%])*", site in 0u32..50) {
            let world = world();
            resolve(&world, &world.site(site), &target);
            session_id(&target);
        }

        #[test]
        fn any_host_is_resolved(host in "(www|news|[a-z-]{1,9}|[0-9]{1,12}|[.]|\\PC){0,6}(\\.test)?") {
            let world = world();
            if let Some(index) = world.site_by_name(&host) {
                prop_assert_eq!(world.name(index), host);
            }
        }

        #[test]
        fn any_url_is_resolved(url in "(https?://)?(portal.test)?(:80)?(/|\\PC|[a-z]{1,8}|-[0-9]{1,12}|[.?&=#])*") {
            world().page_by_url(&url);
        }
    }
}
