//! What is a site? A name on an address, with a number of pages, a language, and its own manners. Everything is
//! derived from the seed and the site's index; sites are numbered from the most linked to the least, and site 0 is
//! the portal, which lists all others and has no faults.

use std::fmt::Write;
use std::net::Ipv4Addr;

use serde::Serialize;

use crate::charset::{Charset, Declared};
use crate::draw::Draw;
use crate::language::Language;
use crate::robots::RobotsKind;
use crate::settings::Settings;
use crate::sitemap::SitemapKind;
use crate::world::World;

/// Children of a page in the tree that makes every page of a site reachable.
pub(crate) const BRANCHING: u32 = 8;
/// Sites listed on each page of the portal.
pub(crate) const SITES_PER_PORTAL_PAGE: u64 = 24;
/// Site sizes fall with this power of the site's index.
const SIZE_EXPONENT: f64 = -0.8;
/// 127.1.0.1 is the first address of a site.
const FIRST_ADDRESS: u32 = 0x7f01_0001;
/// Sites that may share an address, or a domain.
const VIRTUAL_GROUP: u32 = 8;
/// How often a copy looks for a site that is none.
const ORIGINS_TRIED: u64 = 8;
const DOMAIN_HOSTS: [&str; 4] = ["www", "news", "shop", "blog"];

/// Everything known about a site but its strings.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// Its number.
    pub index: u32,
    /// The site whose content it shows: itself, unless it is a mirror or an alias.
    pub content: u32,
    /// Of what it is a copy.
    pub copy: Option<Copied>,
    /// How many pages it has, isolated ones included.
    pub pages: u32,
    /// How many of them are linked from its root; those with a lower index are.
    pub linked: u32,
    /// The language of most of its pages.
    pub language: Language,
    /// Its encoding.
    pub charset: Charset,
    /// Whether it is served by https.
    pub https: bool,
    /// What is wrong with its certificate.
    pub certificate: Certificate,
    /// Its robots.txt.
    pub robots: RobotsKind,
    /// Its sitemap.
    pub sitemap: Option<SitemapKind>,
    /// Whether it has a robots.rdf.
    pub rdf: bool,
    /// Whether and how it works.
    pub health: Health,
    /// How it puts session ids into links.
    pub session: Option<SessionStyle>,
    /// The trap it has.
    pub trap: Option<TrapKind>,
    /// Whether it answers 429 to hasty clients.
    pub rate_limited: bool,
    /// Whether it compresses.
    pub compressed: bool,
    /// Whether it leaves Content-Length out.
    pub chunked: bool,
    /// Whether it sends ETag and Last-Modified.
    pub validators: bool,
    pub(crate) key: Draw,
}

/// Two ways of being a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Copied {
    /// Same content on another address.
    Mirror,
    /// Another name of the same site on the same address.
    Alias,
}

/// How good a certificate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Certificate {
    /// Signed by the authority of this Web, for this name, and current.
    Good,
    /// Its time is over.
    Expired,
    /// It names another host.
    WrongName,
    /// Nobody known signed it.
    SelfSigned,
}

/// Whether and how a site works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// As it should.
    Good,
    /// Late.
    Slow,
    /// In small pieces.
    Dripping,
    /// Some requests fail.
    Flaky,
    /// All requests fail.
    Down,
    /// It never answers.
    Silent,
    /// Its name does not exist.
    Nameless,
    /// Its name server fails.
    ServFail,
}

impl Health {
    /// Whether pages of such a site can be had at all, with patience.
    pub fn lives(self) -> bool {
        matches!(self, Health::Good | Health::Slow | Health::Dripping | Health::Flaky)
    }
}

/// How a session id is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStyle {
    /// `?PHPSESSID=`
    Php,
    /// `;jsessionid=` at the end of the path.
    Java,
    /// `?osCsid=`
    OsCommerce,
}

/// Endless parts of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrapKind {
    /// `/calendar/YYYY/MM`, for ever in both directions.
    Calendar,
    /// `/archive/`, where each page links to a longer path.
    Growing,
    /// `/maze/`, where each page links to others that look random.
    Maze,
}

impl TrapKind {
    /// Where the site's root leads into it.
    pub(crate) fn entrance(self) -> &'static str {
        match self {
            TrapKind::Calendar => "/calendar/2026/01",
            TrapKind::Growing => "/archive/",
            TrapKind::Maze => "/maze/0",
        }
    }
}

/// What the draws below a site's key are for.
#[derive(Clone, Copy)]
enum About {
    Size,
    Language,
    Charset,
    Https,
    Certificate,
    Robots,
    Sitemap,
    Rdf,
    Health,
    Session,
    Trap,
    RateLimit,
    Compressed,
    Chunked,
    Validators,
    Domain,
    Copy,
    Address,
    Isolated,
}

impl Site {
    pub(crate) fn derive(world: &World, index: u32) -> Site {
        let (content, copy) = match copied(world, index) {
            Some((origin, copy)) => (origin, Some(copy)),
            None => (index, None),
        };
        let key = world.site_key(content);
        let about = |about: About| key.of(about as u64);
        let settings = &world.settings;
        let pages = page_count(world, content);
        let language = world.languages.drawn(about(About::Language));
        let mut site = Site {
            index,
            content,
            copy,
            pages,
            linked: linked_count(about(About::Isolated), pages, settings.isolated),
            language,
            charset: Charset::drawn(about(About::Charset), language, settings),
            https: about(About::Https).chance(settings.https),
            certificate: Certificate::Good,
            robots: RobotsKind::drawn(about(About::Robots), settings),
            sitemap: about(About::Sitemap)
                .chance(settings.sitemaps)
                .then(|| SitemapKind::drawn(about(About::Sitemap).of(1))),
            rdf: about(About::Rdf).chance(settings.robots_rdf),
            health: Health::drawn(about(About::Health), settings),
            session: pick(
                about(About::Session),
                settings.session_ids,
                &[SessionStyle::Php, SessionStyle::Java, SessionStyle::OsCommerce],
            ),
            trap: pick(
                about(About::Trap),
                settings.traps,
                &[TrapKind::Calendar, TrapKind::Growing, TrapKind::Maze],
            ),
            rate_limited: about(About::RateLimit).chance(settings.rate_limited),
            compressed: about(About::Compressed).chance(settings.compressed),
            chunked: about(About::Chunked).chance(settings.chunked),
            validators: about(About::Validators).chance(settings.validators),
            key,
        };
        let bad = [Certificate::Expired, Certificate::WrongName, Certificate::SelfSigned];
        site.certificate =
            pick(about(About::Certificate), settings.bad_certificates, &bad).unwrap_or(Certificate::Good);
        if content == 0 { site.without_faults() } else { site }
    }

    /// The portal must be readable by everybody, or nothing would be reachable.
    fn without_faults(self) -> Site {
        Site {
            language: Language::English,
            charset: Charset { label: "utf-8", declared: Declared::Both },
            https: false,
            certificate: Certificate::Good,
            robots: RobotsKind::AllowAll,
            health: Health::Good,
            session: None,
            trap: None,
            rate_limited: false,
            chunked: false,
            linked: self.pages,
            ..self
        }
    }

    /// Whether the site is the entry to all others.
    pub fn is_portal(&self) -> bool {
        self.content == 0
    }

    /// Pages that have pages below them in the site's tree; those with a lower index have.
    pub(crate) fn interior(&self) -> u32 {
        (self.linked - 1).div_ceil(BRANCHING)
    }
}

impl Health {
    fn drawn(draw: Draw, settings: &Settings) -> Health {
        let kinds = [
            (settings.slow, Health::Slow),
            (settings.dripping, Health::Dripping),
            (settings.flaky, Health::Flaky),
            (settings.down, Health::Down),
            (settings.silent, Health::Silent),
            (settings.nameless, Health::Nameless),
            (settings.servfail, Health::ServFail),
        ];
        one_of(draw, &kinds).unwrap_or(Health::Good)
    }
}

/// Draws one of several kinds that exclude each other, each with its share; `None` is what they leave over.
pub(crate) fn one_of<T: Copy>(draw: Draw, kinds: &[(f64, T)]) -> Option<T> {
    let mut left = draw.unit();
    for &(share, kind) in kinds {
        if left < share {
            return Some(kind);
        }
        left -= share;
    }
    None
}

fn pick<T: Copy>(draw: Draw, share: f64, kinds: &[T]) -> Option<T> {
    draw.chance(share).then(|| kinds[draw.of(1).below(kinds.len() as u64) as usize])
}

/// The origin of a copy. A copy of a copy would be a chain: where no origin is found, the site stands for itself.
fn copied(world: &World, index: u32) -> Option<(u32, Copied)> {
    let copy = wish_to_copy(world, index)?;
    let draw = world.site_key(index).of(About::Copy as u64);
    let mut origins = (1..=ORIGINS_TRIED).map(|n| 1 + draw.of(n).below(u64::from(index) - 1) as u32);
    let origin = origins.find(|&origin| wish_to_copy(world, origin).is_none())?;
    Some((origin, copy))
}

fn wish_to_copy(world: &World, index: u32) -> Option<Copied> {
    let shares = [(world.settings.aliases, Copied::Alias), (world.settings.mirrors, Copied::Mirror)];
    if index < 2 { None } else { one_of(world.site_key(index).of(About::Copy as u64), &shares) }
}

/// How much of the Web's pages a site has, as a weight: a power law with some luck.
pub(crate) fn size_weight(world: &World, index: u32) -> f64 {
    let luck = (4.0 * (world.site_key(index).of(About::Size as u64).unit() - 0.5)).exp2();
    (f64::from(index) + 1.0).powf(SIZE_EXPONENT) * luck
}

fn page_count(world: &World, index: u32) -> u32 {
    let pages = (size_weight(world, index) * world.pages_per_weight).round().clamp(1.0, 2e9) as u32;
    // The portal needs room to list every site.
    if index == 0 { pages.max(1 + (world.settings.sites / SITES_PER_PORTAL_PAGE) as u32) } else { pages }
}

/// Rounded by chance, so that small sites have their part of isolated pages too.
fn linked_count(draw: Draw, pages: u32, isolated: f64) -> u32 {
    let isolated = f64::from(pages - 1) * isolated;
    let whole = isolated.floor() + f64::from(u8::from(draw.chance(isolated.fract())));
    pages - whole as u32
}

/// Appends the host name of a site.
pub(crate) fn write_name(world: &World, index: u32, out: &mut String) {
    if index == 0 {
        out.push_str("portal.test");
    } else if let Some((origin, Copied::Alias)) = copied(world, index) {
        let _ = write!(out, "www{index}.");
        write_domain(world, origin, out);
    } else {
        let draw = world.site_key(index).of(About::Domain as u64);
        match shared_domain(world, index) {
            Some(_) => {
                out.push_str(DOMAIN_HOSTS[(index % 4) as usize]);
                out.push('.');
            }
            None if draw.of(3).chance(0.7) => out.push_str("www."),
            None => {}
        }
        write_domain(world, index, out);
    }
}

/// Appends the registered domain: with a hyphen when four sites share it.
fn write_domain(world: &World, index: u32, out: &mut String) {
    if index == 0 {
        return out.push_str("portal.test");
    }
    let (draw, joint, number) = match shared_domain(world, index) {
        Some(group) => (world.group_key(group), "-", group),
        None => (world.site_key(index).of(About::Domain as u64), "", index),
    };
    let words = Language::English.vocabulary();
    out.push_str(words.slug(draw.of(1)));
    out.push_str(joint);
    out.push_str(words.slug(draw.of(2)));
    push_number(out, number);
    out.push_str(".test");
}

/// The group of four whose domain the site shares. The portal's group keeps to itself.
fn shared_domain(world: &World, index: u32) -> Option<u32> {
    let group = index / 4;
    (group > 0 && world.group_key(group).chance(world.settings.shared_domains)).then_some(group)
}

/// Finds the site of a lower-case host name, by the number in it.
pub(crate) fn by_name(world: &World, host: &str) -> Option<u32> {
    if host == "portal.test" {
        return Some(0);
    }
    let labels = host.strip_suffix(".test")?;
    let (first, domain) = labels.rsplit_once('.').map_or(("", labels), |(first, domain)| (first, domain));
    let alias = first.strip_prefix("www").and_then(|digits| digits.parse().ok());
    let number: u32 =
        domain[domain.find(|c: char| c.is_ascii_digit()).unwrap_or(domain.len())..].parse().ok().or(alias)?;
    let candidate = match alias {
        Some(alias) => alias,
        None if domain.contains('-') => {
            number.checked_mul(4)? + DOMAIN_HOSTS.iter().position(|&host| host == first)? as u32
        }
        None => number,
    };
    let mut name = String::with_capacity(64);
    (u64::from(candidate) < world.settings.sites).then(|| write_name(world, candidate, &mut name))?;
    (name == host).then_some(candidate)
}

/// The address a site lives on.
pub(crate) fn address(world: &World, index: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(FIRST_ADDRESS + address_number(world, index))
}

fn address_number(world: &World, index: u32) -> u32 {
    let number = match copied(world, index) {
        Some((origin, Copied::Alias)) => return address_number(world, origin),
        _ if world.site_key(index).of(About::Address as u64).chance(world.settings.virtual_hosts) => {
            index - index % VIRTUAL_GROUP
        }
        _ => index,
    };
    if world.settings.addresses == 0 { number } else { (u64::from(number) % world.settings.addresses) as u32 }
}

/// The first site on an address.
pub(crate) fn by_address(world: &World, address: Ipv4Addr) -> Option<u32> {
    let number = address.to_bits().checked_sub(FIRST_ADDRESS)?;
    (u64::from(number) < world.settings.sites && address_number(world, number) == number).then_some(number)
}

/// Appends a number without the machinery of formatting: it is done fifty times a page.
pub(crate) fn push_number(out: &mut String, mut number: u32) {
    let mut digits = [0u8; 10];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend(digits[at..].iter().map(|&digit| char::from(digit)));
}
