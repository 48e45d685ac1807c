//! What does the user want of a collection? `weir.toml`, read and checked.
//!
//! Whatever the file does not say has a default. A name that nobody knows is an error that suggests the nearest one:
//! a setting with a typing mistake must not be silently without effect. Everything about one setting is one row in
//! [`sections`]; [`typed`] makes of them what the other crates want to know.

mod contact;
mod driving_query;
mod file;
mod names;
mod place;
mod section;
mod sections;
#[cfg(test)]
mod tests;
mod typed;
mod value;

use sections::{
    CommitSection, CrawlSection, DnsSection, ExtensionsSection, FetchSection, FocusSection, LimitsSection,
    MemorySection, NetworkSection, PagesSection, ParseSection, PolitenessSection, QualitySection,
    RevisitSection, ScopeSection, SearchSection, SitemapsSection, TrapsSection, WebSection,
};

pub(crate) use contact::checked_contact;
pub(crate) use file::{FILE, sites_to_toml};
pub(crate) use place::{SiteMatch, Suffix};
pub(crate) use section::{Section, SetError};
pub(crate) use sections::{SiteSection, parse_keep};
pub(crate) use typed::warc_info;
pub(crate) use value::word;

/// The settings of a collection, checked.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Settings {
    pub(crate) crawl: CrawlSection,
    pub(crate) quality: QualitySection,
    pub(crate) focus: FocusSection,
    pub(crate) scope: ScopeSection,
    pub(crate) extensions: ExtensionsSection,
    pub(crate) traps: TrapsSection,
    pub(crate) limits: LimitsSection,
    pub(crate) politeness: PolitenessSection,
    pub(crate) revisit: RevisitSection,
    pub(crate) sitemaps: SitemapsSection,
    pub(crate) fetch: FetchSection,
    pub(crate) dns: DnsSection,
    pub(crate) network: NetworkSection,
    pub(crate) parse: ParseSection,
    pub(crate) pages: PagesSection,
    pub(crate) commit: CommitSection,
    pub(crate) memory: MemorySection,
    pub(crate) search: SearchSection,
    pub(crate) web: WebSection,
    /// What is different for some sites; of those that fit, the last one that says something counts.
    pub(crate) sites: Vec<SiteSection>,
}

impl Settings {
    /// All sections, in the order of the file.
    fn sections(&self) -> [&dyn Section; 19] {
        [
            &self.crawl,
            &self.quality,
            &self.focus,
            &self.scope,
            &self.extensions,
            &self.traps,
            &self.limits,
            &self.politeness,
            &self.revisit,
            &self.sitemaps,
            &self.fetch,
            &self.dns,
            &self.network,
            &self.parse,
            &self.pages,
            &self.commit,
            &self.memory,
            &self.search,
            &self.web,
        ]
    }

    fn sections_mut(&mut self) -> [&mut dyn Section; 19] {
        [
            &mut self.crawl,
            &mut self.quality,
            &mut self.focus,
            &mut self.scope,
            &mut self.extensions,
            &mut self.traps,
            &mut self.limits,
            &mut self.politeness,
            &mut self.revisit,
            &mut self.sitemaps,
            &mut self.fetch,
            &mut self.dns,
            &mut self.network,
            &mut self.parse,
            &mut self.pages,
            &mut self.commit,
            &mut self.memory,
            &mut self.search,
            &mut self.web,
        ]
    }
}
