//! Links in HTML: mostly in the usual form, for a share of the links in an unusual form that the URL and HTML
//! standards allow and that has the same target.

use crate::content::text;
use crate::world::kinds::SessionStyle;
use crate::world::links::{Link, Target};
use crate::world::path;
use crate::world::site::Site;
use crate::world::synthetic_web::{Naming, World};
use crate::world::text_buffer::TextBuffer;
use crate::world::text_buffer::push_number;

/// Writer of the links of a page.
pub(crate) struct HrefWriter<'w> {
    pub(crate) world: &'w World,
    pub(crate) site: &'w Site,
    pub(crate) naming: Naming,
    /// Whether relative links start from a directory below the root.
    pub(crate) in_directory: bool,
    pub(crate) session: Option<&'w str>,
    /// The current URL, unescaped; reused for its allocation.
    pub(crate) url: String,
}

/// Unusual forms of an attribute.
#[derive(Clone, Copy)]
enum Quirk {
    None,
    SingleQuotes,
    Unquoted,
    Spaces,
    UpperCase,
    CharacterReferences,
    Fragment,
}

impl HrefWriter<'_> {
    /// Appends an `a` element with target and anchor text.
    pub(crate) fn push_link(&mut self, out: &mut TextBuffer, link: &Link) {
        self.url.clear();
        let odd = link.random.child(50).chance(self.world.settings.unusual_hrefs);
        let quirk = if odd { quirk(link.random.child(51).below(14)) } else { Quirk::None };
        let anchor_page = match link.target {
            Target::SameSite(index) => {
                let page = self.world.page(self.site, index);
                path::write_path(self.world, self.site, &page, &mut self.url);
                Some((*self.site, page))
            }
            Target::OtherSite(target) => {
                let site = self.world.site(target.site);
                let page = self.world.page(&site, target.page);
                self.world.write_origin(&site, self.naming, &mut self.url);
                path::write_path(self.world, &site, &page, &mut self.url);
                Some((site, page))
            }
            other => {
                self.write_unservable(other);
                None
            }
        };
        self.push_session_and_tracking(link);
        if odd {
            self.respell(link, anchor_page.as_ref().map(|(site, _)| site));
        }
        self.push_opening(out, quirk, link.nofollow);
        match anchor_page {
            Some((site, page)) => text::push_anchor(out, &site, &page, link.random),
            None => out.push_str(self.site.language.vocabulary().topic(link.random, false).trim_end()),
        }
        out.push_str("</a>");
    }

    fn write_unservable(&mut self, target: Target) {
        match target {
            Target::NxDomain(number) => {
                self.url.push_str("http://lost");
                push_number(&mut self.url, number);
                self.url.push_str(".test/");
            }
            Target::ClosedPort(site) => {
                self.url.push_str("http://");
                self.url.push_str(&self.world.name(site));
                self.url.push_str(":1/");
            }
            Target::Trap(trap) => self.url.push_str(trap.entrance()),
            Target::SameSite(_) | Target::OtherSite(_) => {}
        }
    }

    /// Appends session ids to links within the site, and tracking parameters to any link.
    fn push_session_and_tracking(&mut self, link: &Link) {
        let own = matches!(link.target, Target::SameSite(_));
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
        if link.has_tracking {
            self.push_parameter("utm_source=", "newsletter");
            self.push_parameter("utm_medium=", "web");
        }
    }

    fn push_parameter(&mut self, name: &str, value: &str) {
        self.url.push(if self.url.contains('?') { '&' } else { '?' });
        self.url.push_str(name);
        self.url.push_str(value);
    }

    /// Rewrites the URL into another form with the same meaning.
    fn respell(&mut self, link: &Link, target: Option<&Site>) {
        let choice = link.random.child(52).below(6);
        match (link.target, choice) {
            (Target::SameSite(_), 0 | 1) => {
                let up = if self.in_directory { "../" } else { "./" };
                self.url.replace_range(..1, up);
                if choice == 1 {
                    self.url.insert_str(0, "./");
                }
            }
            (Target::SameSite(_), 2) => self.url.insert_str(0, "/old/./.."),
            (Target::SameSite(_), 3) if !self.url.contains('?') => self.url = self.url.replace('/', "\\"),
            (Target::SameSite(_), 4) => self.url.insert(1, '\n'),
            (Target::OtherSite(_), 0 | 1) if target.is_some_and(|site| site.https == self.site.https) => {
                let scheme = self.url.find("//").unwrap_or(0);
                self.url.replace_range(..scheme, "");
            }
            (Target::OtherSite(_), 2 | 3) => {
                let host_end = self.url.match_indices('/').nth(2).map_or(self.url.len(), |(at, _)| at);
                self.url[..host_end].make_ascii_uppercase();
            }
            _ => {}
        }
    }

    fn push_opening(&self, out: &mut TextBuffer, quirk: Quirk, nofollow: bool) {
        let (before, after) = match quirk {
            Quirk::SingleQuotes => ("<a href='", "'"),
            // An unquoted value ends at white space, so it cannot contain any.
            Quirk::Unquoted if !self.url.contains('\n') => ("<a href=", ""),
            Quirk::Spaces => ("<a href=\" ", "\n\""),
            Quirk::UpperCase => ("<A CLASS=link HREF = \"", "\""),
            Quirk::Fragment => ("<a href=\"", "#part-2\""),
            Quirk::None | Quirk::Unquoted | Quirk::CharacterReferences => ("<a href=\"", "\""),
        };
        out.push_str(before);
        match quirk {
            Quirk::CharacterReferences => push_references(out, &self.url),
            _ => push_escaped(out, &self.url),
        }
        out.push_str(after);
        if nofollow {
            out.push_str(if matches!(quirk, Quirk::UpperCase) {
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
        3 => Quirk::UpperCase,
        4 => Quirk::CharacterReferences,
        5 => Quirk::Fragment,
        _ => Quirk::None,
    }
}

fn push_escaped(out: &mut TextBuffer, url: &str) {
    match url.find('&') {
        None => out.push_str(url),
        Some(_) => out.push_str(&url.replace('&', "&amp;")),
    }
}

/// Writes slashes and the letter e as numeric character references, decimal and hexadecimal.
fn push_references(out: &mut TextBuffer, url: &str) {
    for letter in url.chars() {
        match letter {
            '/' => out.push_str("&#47;"),
            'e' => out.push_str("&#x65;"),
            '&' => out.push_str("&amp;"),
            other => out.push_str(other.encode_utf8(&mut [0; 4])),
        }
    }
}
