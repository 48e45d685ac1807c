//! Settings of a collection: `weir.toml`, read and checked.
//!
//! A setting that is absent has its default. An unknown name is an error with a suggestion, so that a typing error never
//! goes unnoticed. One row in [`sections`] defines everything about a setting; [`convert`] builds the typed settings of
//! the other crates.

mod contact;
mod convert;
mod digests;
mod file;
mod focus_query;
mod network_values;
mod preset;
mod section;
mod sections;
mod seed_scope;
mod set_args;
mod suggestion;
#[cfg(test)]
mod tests;
mod value;

use sections::{
    CommitSection, CrawlSection, DnsSection, ExtensionsSection, FetchSection, FocusSection, LimitsSection,
    MemorySection, NetworkSection, ParseSection, PolitenessSection, QualitySection, RevisitSection,
    ScopeSection, SearchSection, SitemapsSection, TrapsSection, WarcSection, WebSection,
};

pub(crate) use contact::checked_contact;
pub(crate) use convert::warc_info;
pub(crate) use file::{FILE, append_sites};
pub(crate) use network_values::SiteMatch;
pub(crate) use preset::Preset;
pub(crate) use section::{Section, SetError};
pub(crate) use sections::{ScopeRule, SiteSection, parse_keep_versions};
pub(crate) use set_args::SetArgs;
pub(crate) use value::parse_value;

/// Checked settings of a collection.
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
    pub(crate) warc: WarcSection,
    pub(crate) commit: CommitSection,
    pub(crate) memory: MemorySection,
    pub(crate) search: SearchSection,
    pub(crate) web: WebSection,
    /// `[[site]]` entries; the first matching entry applies.
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
            &self.warc,
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
            &mut self.warc,
            &mut self.commit,
            &mut self.memory,
            &mut self.search,
            &mut self.web,
        ]
    }
}
