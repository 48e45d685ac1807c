//! Sites: name, IP address, size, language and behaviour of a site, derived from the seed and its index.
//!
//! Sites are numbered by decreasing popularity. Site 0 is the portal, which lists all other sites and has no faults.

use std::fmt::Write;
use std::net::Ipv4Addr;

use crate::settings::Settings;
use crate::world::charset::{Charset, Declared};
use crate::world::kinds::{
    Certificate, Health, ReplicaKind, RobotsKind, SessionStyle, SiteKey, SitemapKind, TrapKind,
};
use crate::world::language::Language;
use crate::world::random::KeyedRandom;
use crate::world::random::one_of;
use crate::world::random::pick;
use crate::world::synthetic_web::{World, size_weight};
use crate::world::text_buffer::push_number;

/// Number of children of a page in the tree of its site.
pub(crate) const BRANCHING: u32 = 8;
/// Number of sites on each page of the portal.
pub(crate) const SITES_PER_PORTAL_PAGE: u64 = 24;
/// First IP address of a site: 127.1.0.1.
const FIRST_IP: u32 = 0x7f01_0001;
/// Number of consecutive sites that may share an IP address.
const VIRTUAL_HOST_GROUP: u32 = 8;
/// Maximum number of attempts to find an origin that is not a replica itself.
const MAX_ORIGIN_ATTEMPTS: u64 = 8;
const DOMAIN_HOSTS: [&str; 4] = ["www", "news", "shop", "blog"];

/// Properties of a site, without its strings.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// Index of the site.
    pub index: u32,
    /// Site whose content it shows: itself, unless it is a mirror or an alias.
    pub content: u32,
    /// Kind of replica, if it is one.
    pub replica: Option<ReplicaKind>,
    /// Number of pages, including isolated ones.
    pub pages: u32,
    /// Number of pages that are linked from its root: those with a lower index.
    pub linked: u32,
    /// Language of most of its pages.
    pub language: Language,
    /// Charset of its pages.
    pub charset: Charset,
    /// Whether it is served by https.
    pub https: bool,
    /// Validity of its certificate.
    pub certificate: Certificate,
    /// Kind of its robots.txt.
    pub robots: RobotsKind,
    /// Format of its sitemap, if it has one.
    pub sitemap: Option<SitemapKind>,
    /// Whether it has a robots.rdf.
    pub rdf: bool,
    /// Behaviour of its server.
    pub health: Health,
    /// Form of session ids in its links, if it has them.
    pub session: Option<SessionStyle>,
    /// Kind of its trap, if it has one.
    pub trap: Option<TrapKind>,
    /// Whether it responds with 429 to requests that come too fast.
    pub rate_limited: bool,
    /// Whether it compresses responses.
    pub compressed: bool,
    /// Whether it omits Content-Length.
    pub chunked: bool,
    /// Whether it sends ETag and Last-Modified.
    pub validators: bool,
    pub(crate) key: KeyedRandom,
}

impl Site {
    pub(crate) fn derive(world: &World, index: u32) -> Site {
        let (content, replica) = match replica_of(world, index) {
            Some((origin, replica)) => (origin, Some(replica)),
            None => (index, None),
        };
        let key = world.site_key(content);
        let random = |purpose: SiteKey| key.child(purpose as u64);
        let settings = &world.settings;
        let pages = page_count(world, content);
        let language = world.languages.generate(random(SiteKey::Language));
        let mut site = Site {
            index,
            content,
            replica,
            pages,
            linked: linked_count(random(SiteKey::Isolated), pages, settings.isolated),
            language,
            charset: Charset::generate(random(SiteKey::Charset), language, settings),
            https: random(SiteKey::Https).chance(settings.https),
            certificate: Certificate::Good,
            robots: RobotsKind::generate(random(SiteKey::Robots), settings),
            sitemap: random(SiteKey::Sitemap)
                .chance(settings.sitemaps)
                .then(|| SitemapKind::generate(random(SiteKey::Sitemap).child(1))),
            rdf: random(SiteKey::Rdf).chance(settings.robots_rdf),
            health: Health::generate(random(SiteKey::Health), settings),
            session: pick(
                random(SiteKey::Session),
                settings.session_ids,
                &[SessionStyle::Php, SessionStyle::Java, SessionStyle::OsCommerce],
            ),
            trap: pick(
                random(SiteKey::Trap),
                settings.traps,
                &[TrapKind::Calendar, TrapKind::Growing, TrapKind::Maze],
            ),
            rate_limited: random(SiteKey::RateLimit).chance(settings.rate_limited),
            compressed: random(SiteKey::Compressed).chance(settings.compressed),
            chunked: random(SiteKey::Chunked).chance(settings.chunked),
            validators: random(SiteKey::Validators).chance(settings.validators),
            key,
        };
        let bad = [Certificate::Expired, Certificate::WrongName, Certificate::SelfSigned];
        site.certificate =
            pick(random(SiteKey::Certificate), settings.bad_certificates, &bad).unwrap_or(Certificate::Good);
        if content == 0 { site.without_faults() } else { site }
    }

    /// Removes all faults, for the portal: every site must be reachable from it.
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

    /// Reports whether the site is the portal.
    pub fn is_portal(&self) -> bool {
        self.content == 0
    }

    /// Number of pages with children in the tree: those with a lower index.
    pub(crate) fn interior(&self) -> u32 {
        (self.linked - 1).div_ceil(BRANCHING)
    }
}

impl Health {
    fn generate(random: KeyedRandom, settings: &Settings) -> Health {
        let kinds = [
            (settings.slow, Health::Slow),
            (settings.slow_body, Health::SlowBody),
            (settings.flaky, Health::Flaky),
            (settings.down, Health::Down),
            (settings.unresponsive, Health::Unresponsive),
            (settings.nxdomain, Health::NxDomain),
            (settings.servfail, Health::ServFail),
        ];
        one_of(random, &kinds).unwrap_or(Health::Good)
    }
}

/// Returns the origin of a replica. An origin is never a replica itself; if none is found, the site is not a replica.
fn replica_of(world: &World, index: u32) -> Option<(u32, ReplicaKind)> {
    let replica = replica_kind(world, index)?;
    let random = world.site_key(index).child(SiteKey::Replica as u64);
    let mut origins =
        (1..=MAX_ORIGIN_ATTEMPTS).map(|n| 1 + random.child(n).below(u64::from(index) - 1) as u32);
    let origin = origins.find(|&origin| replica_kind(world, origin).is_none())?;
    Some((origin, replica))
}

fn replica_kind(world: &World, index: u32) -> Option<ReplicaKind> {
    let shares =
        [(world.settings.aliases, ReplicaKind::Alias), (world.settings.mirrors, ReplicaKind::Mirror)];
    if index < 2 { None } else { one_of(world.site_key(index).child(SiteKey::Replica as u64), &shares) }
}

fn page_count(world: &World, index: u32) -> u32 {
    let pages = (size_weight(world, index) * world.pages_per_weight).round().clamp(1.0, 2e9) as u32;
    // The portal needs enough pages to list every site.
    if index == 0 { pages.max(1 + (world.settings.sites / SITES_PER_PORTAL_PAGE) as u32) } else { pages }
}

/// Number of linked pages. Rounded at random, so that small sites also have isolated pages.
fn linked_count(random: KeyedRandom, pages: u32, isolated: f64) -> u32 {
    let isolated = f64::from(pages - 1) * isolated;
    let whole = isolated.floor() + f64::from(u8::from(random.chance(isolated.fract())));
    pages - whole as u32
}

/// Appends the host name of a site.
pub(crate) fn write_name(world: &World, index: u32, out: &mut String) {
    if index == 0 {
        out.push_str("portal.test");
    } else if let Some((origin, ReplicaKind::Alias)) = replica_of(world, index) {
        let _ = write!(out, "www{index}.");
        write_domain(world, origin, out);
    } else {
        let random = world.site_key(index).child(SiteKey::Domain as u64);
        match shared_domain(world, index) {
            Some(_) => {
                out.push_str(DOMAIN_HOSTS[(index % 4) as usize]);
                out.push('.');
            }
            None if random.child(3).chance(0.7) => out.push_str("www."),
            None => {}
        }
        write_domain(world, index, out);
    }
}

/// Appends the registered domain; with a hyphen if four sites share it.
fn write_domain(world: &World, index: u32, out: &mut String) {
    if index == 0 {
        return out.push_str("portal.test");
    }
    let (random, joint, number) = match shared_domain(world, index) {
        Some(group) => (world.group_key(group), "-", group),
        None => (world.site_key(index).child(SiteKey::Domain as u64), "", index),
    };
    let words = Language::English.vocabulary();
    out.push_str(words.slug(random.child(1)));
    out.push_str(joint);
    out.push_str(words.slug(random.child(2)));
    push_number(out, number);
    out.push_str(".test");
}

/// Returns the group of four sites that share a domain. The group of the portal does not.
fn shared_domain(world: &World, index: u32) -> Option<u32> {
    let group = index / 4;
    (group > 0 && world.group_key(group).chance(world.settings.shared_domains)).then_some(group)
}

/// Finds the site of a host name in lower case, by the number in it.
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

/// Returns the IP address of a site.
pub(crate) fn ip_address(world: &World, index: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(FIRST_IP + ip_index(world, index))
}

fn ip_index(world: &World, index: u32) -> u32 {
    let number = match replica_of(world, index) {
        Some((origin, ReplicaKind::Alias)) => return ip_index(world, origin),
        _ if world.site_key(index).child(SiteKey::Ip as u64).chance(world.settings.virtual_hosts) => {
            index - index % VIRTUAL_HOST_GROUP
        }
        _ => index,
    };
    if world.settings.max_ips == 0 { number } else { (u64::from(number) % world.settings.max_ips) as u32 }
}

/// Finds the first site on an IP address.
pub(crate) fn by_ip(world: &World, address: Ipv4Addr) -> Option<u32> {
    let number = address.to_bits().checked_sub(FIRST_IP)?;
    (u64::from(number) < world.settings.sites && ip_index(world, number) == number).then_some(number)
}
