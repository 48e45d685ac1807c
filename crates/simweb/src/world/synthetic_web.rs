//! Root of the synthetic Web: settings, seed and the keys of sites.
//!
//! Sites, pages and URLs are functions of these values, computable in any order and in constant memory.

use std::net::Ipv4Addr;

use crate::error::SettingsError;
use crate::settings::Settings;
use crate::world::kinds::SiteKey;
use crate::world::language::LanguageMix;
use crate::world::random::KeyedRandom;

/// A synthetic Web.
#[derive(Clone, Debug)]
pub struct World {
    /// Settings.
    pub settings: Settings,
    /// Ports in URLs, unless they are the defaults of the schemes.
    pub ports: Ports,
    /// IP address of all sites, if they cannot have their own.
    pub single_ip: Option<Ipv4Addr>,
    pub(crate) pages_per_weight: f64,
    /// Share of the leaves that are not plain HTML. Checked first, because most leaves are plain.
    pub(crate) special_pages: f64,
    pub(crate) languages: LanguageMix,
    seed: KeyedRandom,
}

/// Ports of the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// Plain HTTP.
    pub http: u16,
    /// HTTP over TLS.
    pub https: u16,
}

/// Form of host names in links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// Real names, which need the built-in name server or a hosts file.
    Names,
    /// Names below `localhost`, which browsers and curl resolve without a name server; always plain HTTP.
    Localhost,
}

/// Suffix of host names that resolve without a name server.
pub(crate) const LOCALHOST: &str = ".localhost";

impl World {
    /// Creates a Web from settings, at these ports.
    pub fn new(settings: Settings, ports: Ports) -> Result<World, SettingsError> {
        let settings = settings.checked()?;
        let special_pages = settings.duplicates
            + settings.near_duplicates
            + settings.redirects
            + settings.meta_refresh
            + settings.not_found
            + settings.gone
            + settings.soft_404
            + settings.server_error_pages
            + settings.truncated
            + settings.reset
            + settings.text_pages
            + settings.pdf_pages
            + settings.image_pages;
        let seed = KeyedRandom::seed(settings.seed);
        let mut world = World {
            languages: LanguageMix::new(settings.language_weights()),
            settings,
            ports,
            single_ip: None,
            pages_per_weight: 1.0,
            special_pages,
            seed,
        };
        let weight: f64 = world.site_indexes().map(|index| size_weight(&world, index)).sum();
        world.pages_per_weight = world.settings.pages as f64 / weight;
        Ok(world)
    }

    /// Indexes of all sites.
    pub fn site_indexes(&self) -> std::ops::Range<u32> {
        0..self.settings.sites as u32
    }

    /// Selects a site by popularity.
    pub(crate) fn popular_site(&self, random: KeyedRandom) -> u32 {
        random.zipf(self.settings.sites) as u32
    }

    pub(crate) fn site_key(&self, index: u32) -> KeyedRandom {
        self.seed.child(u64::from(index))
    }

    /// Key of a group of sites that may share a domain.
    pub(crate) fn group_key(&self, group: u32) -> KeyedRandom {
        self.seed.child(1 << 40 | u64::from(group))
    }
}

/// Exponent of the size of a site as a function of its index.
const SIZE_EXPONENT: f64 = -0.8;

/// Weight of the size of a site: a power law with random variation.
pub(crate) fn size_weight(world: &World, index: u32) -> f64 {
    let luck = (4.0 * (world.site_key(index).child(SiteKey::Size as u64).unit() - 0.5)).exp2();
    (f64::from(index) + 1.0).powf(SIZE_EXPONENT) * luck
}
