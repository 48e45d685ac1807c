//! Sections of the settings file, one module each; one row defines everything about a setting.

mod commit;
mod crawl;
mod dns;
mod extensions;
mod fetch;
mod focus;
mod limits;
mod memory;
mod network;

mod parse;
mod politeness;
mod quality;
mod revisit;
mod scope;
mod search;
mod site;
mod sitemaps;
mod traps;
mod warc;
mod web;

use std::time::Duration;

pub(crate) use commit::CommitSection;
pub(crate) use crawl::CrawlSection;
pub(crate) use dns::DnsSection;
pub(crate) use extensions::ExtensionsSection;
pub(crate) use fetch::FetchSection;
pub(crate) use focus::FocusSection;
pub(crate) use limits::LimitsSection;
pub(crate) use memory::MemorySection;
pub(crate) use network::NetworkSection;
pub(crate) use parse::ParseSection;
pub(crate) use politeness::PolitenessSection;
pub(crate) use quality::QualitySection;
pub(crate) use revisit::RevisitSection;
pub(crate) use scope::{ScopeRule, ScopeSection};
pub(crate) use search::SearchSection;
pub(crate) use site::{RobotsObedience, SiteSection};
pub(crate) use sitemaps::SitemapsSection;
pub(crate) use traps::TrapsSection;
pub(crate) use warc::{WarcSection, parse_keep_versions};
pub(crate) use web::WebSection;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

/// Default of a list of strings.
fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
