//! What do the other crates want to know of the settings?

use crawl::GatherSettings;
use model::{ParameterList, UrlRules};
use parse::html::{KeptTags, Limits, Options};
use store::PageSettings;

use super::Settings;

impl Settings {
    /// What the store is to know.
    pub(crate) fn page_settings(&self) -> PageSettings {
        PageSettings {
            roll_over_bytes: self.pages.roll_over.0,
            level: self.pages.compression_level,
            info: warc_info(),
            ..PageSettings::default()
        }
    }

    /// How URLs are made canonical.
    pub(crate) fn url_rules(&self) -> UrlRules {
        let list = |names: &[String]| ParameterList::new(names.iter().map(String::as_str));
        let scope = &self.scope;
        UrlRules {
            drop_session_ids: !(scope.session_parameters.is_empty() && scope.digest_parameters.is_empty()),
            session_parameters: list(&scope.session_parameters),
            digest_parameters: list(&scope.digest_parameters),
            drop_tracking: !scope.tracking_parameters.is_empty(),
            tracking_parameters: list(&scope.tracking_parameters),
            sort_query: scope.sort_query,
            max_length_bytes: scope.longest_url.0 as u16,
        }
    }

    /// How pages are read.
    pub(crate) fn gathering(&self) -> GatherSettings {
        GatherSettings {
            rules: self.url_rules(),
            extensions: self.extensions.lists(),
            options: Options {
                limits: Limits {
                    text_bytes: self.parse.text.0 as usize,
                    links: self.parse.links as usize,
                    ..Limits::default()
                },
                agent: self.crawl.agent.to_ascii_lowercase(),
                keep: None,
            },
            level: self.pages.compression_level,
        }
    }

    /// What the kept form of a page has.
    pub(crate) fn kept_tags(&self) -> KeptTags {
        let words =
            |list: &'_ [String]| list.iter().map(|word| word.to_ascii_lowercase()).collect::<Vec<_>>();
        let (tags, attributes) = (words(&self.parse.kept_tags), words(&self.parse.kept_attributes));
        KeptTags::new(tags.iter().map(String::as_str), attributes.iter().map(String::as_str))
    }
}

/// What WARC files say about themselves.
pub(crate) fn warc_info() -> Vec<(String, String)> {
    vec![("software".to_owned(), concat!("weir/", env!("CARGO_PKG_VERSION")).to_owned())]
}
