//! How is a link written? Mostly as everybody does, and for a share of the links in one of the rare ways that the
//! URL and HTML standards also allow, all of which mean the same URL.

use crate::links::{Link, Target};
use crate::path;
use crate::sheet::Sheet;
use crate::site::{SessionStyle, Site, push_number};
use crate::text;
use crate::world::{Naming, World};

/// What a page's links are written against.
pub(crate) struct HrefWriter<'w> {
    pub(crate) world: &'w World,
    pub(crate) site: &'w Site,
    pub(crate) naming: Naming,
    /// Whether relative links start from a directory below the root.
    pub(crate) in_directory: bool,
    pub(crate) session: Option<&'w str>,
    /// The URL of the link at hand, unescaped; kept for its allocation.
    pub(crate) url: String,
}

/// The odd ways to write an attribute.
#[derive(Clone, Copy)]
enum Quirk {
    None,
    SingleQuotes,
    Unquoted,
    Spaces,
    Shouting,
    References,
    Fragment,
}

impl HrefWriter<'_> {
    /// Appends a whole `a` element: its target, and what the target calls itself.
    pub(crate) fn push_link(&mut self, out: &mut Sheet, link: &Link) {
        self.url.clear();
        let odd = link.draw.of(50).chance(self.world.settings.odd_links);
        let quirk = if odd { quirk(link.draw.of(51).below(14)) } else { Quirk::None };
        let anchor_page = match link.target {
            Target::Own(index) => {
                let page = self.world.page(self.site, index);
                path::write_path(self.world, self.site, &page, &mut self.url);
                Some((*self.site, page))
            }
            Target::Abroad(target) => {
                let site = self.world.site(target.site);
                let page = self.world.page(&site, target.page);
                self.world.write_origin(&site, self.naming, &mut self.url);
                path::write_path(self.world, &site, &page, &mut self.url);
                Some((site, page))
            }
            other => {
                self.write_elsewhere(other);
                None
            }
        };
        self.push_marks(link);
        if odd {
            self.bend(link, anchor_page.as_ref().map(|(site, _)| site));
        }
        self.push_opening(out, quirk, link.nofollow);
        match anchor_page {
            Some((site, page)) => text::push_anchor(out, &site, &page, link.draw),
            None => out.push_str(self.site.language.vocabulary().topic(link.draw, false).trim_end()),
        }
        out.push_str("</a>");
    }

    fn write_elsewhere(&mut self, target: Target) {
        match target {
            Target::Dead(number) => {
                self.url.push_str("http://lost");
                push_number(&mut self.url, number);
                self.url.push_str(".test/");
            }
            Target::Refused(site) => {
                self.url.push_str("http://");
                self.url.push_str(&self.world.name(site));
                self.url.push_str(":1/");
            }
            Target::Trap(trap) => self.url.push_str(trap.entrance()),
            Target::Own(_) | Target::Abroad(_) => {}
        }
    }

    /// Session ids go into links inside the site, tracking parameters into any.
    fn push_marks(&mut self, link: &Link) {
        let own = matches!(link.target, Target::Own(_));
        if let (true, Some(id), Some(style)) = (own, self.session, self.site.session) {
            match style {
                SessionStyle::Java => {
                    let end = self.url.find('?').unwrap_or(self.url.len());
                    self.url.insert_str(end, id);
                    self.url.insert_str(end, ";jsessionid=");
                }
                SessionStyle::Php => self.push_parameter("PHPSESSID=", id),
                SessionStyle::OsCommerce => self.push_parameter("osCsid=", id),
            }
        }
        if link.tracked {
            self.push_parameter("utm_source=", "newsletter");
            self.push_parameter("utm_medium=", "web");
        }
    }

    fn push_parameter(&mut self, name: &str, value: &str) {
        self.url.push(if self.url.contains('?') { '&' } else { '?' });
        self.url.push_str(name);
        self.url.push_str(value);
    }

    /// Rewrites the URL into another spelling of itself.
    fn bend(&mut self, link: &Link, target: Option<&Site>) {
        let choice = link.draw.of(52).below(6);
        match (link.target, choice) {
            (Target::Own(_), 0 | 1) => {
                let up = if self.in_directory { "../" } else { "./" };
                self.url.replace_range(..1, up);
                if choice == 1 {
                    self.url.insert_str(0, "./");
                }
            }
            (Target::Own(_), 2) => self.url.insert_str(0, "/old/./.."),
            (Target::Own(_), 3) if !self.url.contains('?') => self.url = self.url.replace('/', "\\"),
            (Target::Own(_), 4) => self.url.insert(1, '\n'),
            (Target::Abroad(_), 0 | 1) if target.is_some_and(|site| site.https == self.site.https) => {
                let scheme = self.url.find("//").unwrap_or(0);
                self.url.replace_range(..scheme, "");
            }
            (Target::Abroad(_), 2 | 3) => {
                let host_end = self.url.match_indices('/').nth(2).map_or(self.url.len(), |(at, _)| at);
                self.url[..host_end].make_ascii_uppercase();
            }
            _ => {}
        }
    }

    fn push_opening(&self, out: &mut Sheet, quirk: Quirk, nofollow: bool) {
        let (before, after) = match quirk {
            Quirk::SingleQuotes => ("<a href='", "'"),
            // An unquoted value ends at white space, so it cannot hold any.
            Quirk::Unquoted if !self.url.contains('\n') => ("<a href=", ""),
            Quirk::Spaces => ("<a href=\" ", "\n\""),
            Quirk::Shouting => ("<A CLASS=link HREF = \"", "\""),
            Quirk::Fragment => ("<a href=\"", "#part-2\""),
            Quirk::None | Quirk::Unquoted | Quirk::References => ("<a href=\"", "\""),
        };
        out.push_str(before);
        match quirk {
            Quirk::References => push_references(out, &self.url),
            _ => push_escaped(out, &self.url),
        }
        out.push_str(after);
        if nofollow {
            out.push_str(if matches!(quirk, Quirk::Shouting) {
                " REL=\"external nofollow\""
            } else {
                " rel=\"nofollow\""
            });
        }
        out.push_str(">");
    }
}

fn quirk(choice: u64) -> Quirk {
    match choice {
        0 => Quirk::SingleQuotes,
        1 => Quirk::Unquoted,
        2 => Quirk::Spaces,
        3 => Quirk::Shouting,
        4 => Quirk::References,
        5 => Quirk::Fragment,
        _ => Quirk::None,
    }
}

fn push_escaped(out: &mut Sheet, url: &str) {
    match url.find('&') {
        None => out.push_str(url),
        Some(_) => out.push_str(&url.replace('&', "&amp;")),
    }
}

/// Slashes, and the letter e, as numeric character references of both kinds.
fn push_references(out: &mut Sheet, url: &str) {
    for letter in url.chars() {
        match letter {
            '/' => out.push_str("&#47;"),
            'e' => out.push_str("&#x65;"),
            '&' => out.push_str("&amp;"),
            other => out.push_str(other.encode_utf8(&mut [0; 4])),
        }
    }
}
