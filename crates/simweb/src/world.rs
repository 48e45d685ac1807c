//! The Web as pure functions of the seed: any site, any page, any URL, in any order, in constant memory.
//!
//! Never does I/O and never reads a clock; the version of a page is asked for by time.

use std::net::Ipv4Addr;

use crate::draw::Draw;
use crate::error::SettingsError;
use crate::language::LanguageMix;
use crate::page::{Page, PageRef};
use crate::path::{self, Found};
use crate::settings::Settings;
use crate::site::{self, Site, push_number};

/// The whole synthetic Web.
#[derive(Clone, Debug)]
pub struct World {
    /// What it was made from.
    pub settings: Settings,
    /// The ports that URLs carry when they are not the usual ones.
    pub ports: Ports,
    /// The address all sites share where each cannot have its own.
    pub one_address: Option<Ipv4Addr>,
    pub(crate) pages_per_weight: f64,
    /// Share of the childless pages that are no plain HTML: most are, and need no closer look.
    pub(crate) special_pages: f64,
    pub(crate) languages: LanguageMix,
    seed: Draw,
}

/// Where sites are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// Plain HTTP.
    pub http: u16,
    /// HTTP over TLS.
    pub https: u16,
}

/// How sites are called in links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// By their names, which need the built-in name server or the host map.
    Names,
    /// By their names below `localhost`, which browsers and curl find on their own; always plain HTTP.
    Localhost,
}

/// The suffix by which a site can be reached without any name server.
pub(crate) const LOCALHOST: &str = ".localhost";

impl World {
    /// A Web from settings, at these ports.
    pub fn new(settings: Settings, ports: Ports) -> Result<World, SettingsError> {
        let settings = settings.checked()?;
        let special_pages = settings.duplicates
            + settings.near_duplicates
            + settings.redirects
            + settings.meta_refresh
            + settings.missing
            + settings.gone
            + settings.soft_404
            + settings.error_pages
            + settings.truncated
            + settings.reset
            + settings.text_pages
            + settings.pdf_pages
            + settings.image_pages;
        let seed = Draw::seed(settings.seed);
        let mut world = World {
            languages: LanguageMix::new(settings.language_weights()),
            settings,
            ports,
            one_address: None,
            pages_per_weight: 1.0,
            special_pages,
            seed,
        };
        let weight: f64 = world.site_indexes().map(|index| site::size_weight(&world, index)).sum();
        world.pages_per_weight = world.settings.pages as f64 / weight;
        Ok(world)
    }

    /// All site numbers.
    pub fn site_indexes(&self) -> std::ops::Range<u32> {
        0..self.settings.sites as u32
    }

    /// One site; `index` is taken as it is, also beyond the last.
    pub fn site(&self, index: u32) -> Site {
        Site::derive(self, index)
    }

    /// One page of a site.
    pub fn page(&self, site: &Site, index: u32) -> Page {
        Page::derive(self, site, index)
    }

    /// The host name of a site.
    pub fn name(&self, index: u32) -> String {
        let mut name = String::with_capacity(40);
        site::write_name(self, index, &mut name);
        name
    }

    /// The site with this host name (lower case).
    pub fn site_by_name(&self, host: &str) -> Option<u32> {
        site::by_name(self, host)
    }

    /// The address of a site.
    pub fn address(&self, index: u32) -> Ipv4Addr {
        self.one_address.unwrap_or_else(|| site::address(self, index))
    }

    /// The first site on an address.
    pub fn site_by_address(&self, address: Ipv4Addr) -> Option<u32> {
        site::by_address(self, address)
    }

    /// The canonical URL of a page.
    pub fn url(&self, page: PageRef) -> String {
        let site = self.site(page.site);
        let mut url = String::with_capacity(96);
        self.write_origin(&site, Naming::Names, &mut url);
        path::write_path(self, &site, &self.page(&site, page.page), &mut url);
        url
    }

    /// The page at a URL, whatever marks (session ids, tracking) it carries; a hop of a redirect is its page too.
    pub fn page_by_url(&self, url: &str) -> Option<PageRef> {
        let (scheme, rest) = url.split_once("://")?;
        let slash = rest.find('/').unwrap_or(rest.len());
        let host = rest[..slash].split(':').next()?;
        let site = self.site(self.site_by_name(host)?);
        let mut origin = String::new();
        self.write_origin(&site, Naming::Names, &mut origin);
        if origin.as_str() != &url[..scheme.len() + 3 + slash] {
            return None;
        }
        let path = if slash == rest.len() { "/" } else { &rest[slash..] };
        match path::find(self, &site, path.split('#').next()?) {
            Found::Page { page, .. } => Some(PageRef { site: site.index, page }),
            _ => None,
        }
    }

    /// Appends scheme, host and port.
    pub(crate) fn write_origin(&self, site: &Site, naming: Naming, out: &mut String) {
        let https = site.https && naming == Naming::Names;
        out.push_str(if https { "https://" } else { "http://" });
        self.write_authority(site, naming, out);
    }

    pub(crate) fn write_authority(&self, site: &Site, naming: Naming, out: &mut String) {
        site::write_name(self, site.index, out);
        if naming == Naming::Localhost {
            out.push_str(LOCALHOST);
        }
        let https = site.https && naming == Naming::Names;
        let (port, usual) = if https { (self.ports.https, 443) } else { (self.ports.http, 80) };
        if port != usual {
            out.push(':');
            push_number(out, u32::from(port));
        }
    }

    /// A site drawn by popularity.
    pub(crate) fn popular_site(&self, draw: Draw) -> u32 {
        draw.zipf(self.settings.sites) as u32
    }

    pub(crate) fn site_key(&self, index: u32) -> Draw {
        self.seed.of(u64::from(index))
    }

    /// The key of a group of sites that may share a domain.
    pub(crate) fn group_key(&self, group: u32) -> Draw {
        self.seed.of(1 << 40 | u64::from(group))
    }
}
