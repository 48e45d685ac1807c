//! Settings for parsing fetched pages.

use frontier::Scope;
use model::UrlRules;
use parse::LinkKind;
use parse::html::Options;

use crate::settings::focus::Focus;

/// Settings of a gatherer.
#[derive(Debug, Clone)]
pub struct GatherSettings {
    /// Rules for canonical URLs.
    pub rules: UrlRules,
    /// Scope of the crawl.
    pub scope: Scope,
    /// Elements whose links are followed; a redirect is followed in any case.
    pub followed_kinds: Vec<LinkKind>,
    /// Options of the HTML parser.
    pub options: Options,
    /// Compression level of stored records, from 1 to 12.
    pub compression_level: u8,
    /// Whether requests are stored with their responses.
    pub store_requests: bool,
    /// Topic of a focused crawl.
    pub focus: Focus,
}

impl Default for GatherSettings {
    fn default() -> GatherSettings {
        GatherSettings {
            rules: UrlRules::default(),
            scope: Scope::default(),
            followed_kinds: followed_kinds(),
            options: Options::default(),
            compression_level: 1,
            store_requests: false,
            focus: Focus::default(),
        }
    }
}

/// All elements whose links lead to pages.
fn followed_kinds() -> Vec<LinkKind> {
    let kinds = (0..=u8::MAX).filter_map(LinkKind::from_code);
    kinds.filter(|kind| kind.leads_to_page() && *kind != LinkKind::Redirect).collect()
}
