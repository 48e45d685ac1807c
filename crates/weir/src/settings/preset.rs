//! Presets: settings for common kinds of crawl, as a start for `weir.toml`.

use std::time::Duration;

use clap::ValueEnum;
use store::RetentionPolicy;

use super::Settings;

/// Kind of crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preset {
    /// Many sites of a country or domain, once, with moderate depth; needs --accept with the domain.
    NationalDomain,
    /// A few sites completely: deep, with all their pages.
    Site,
    /// An archive: all MIME types, large bodies, request records, all versions.
    Archive,
    /// A crawl that never ends: short revisit intervals, most requests for pages that change.
    Continuous,
}

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

impl Preset {
    /// Applies the preset to the defaults.
    pub(crate) fn apply(self, settings: &mut Settings) {
        match self {
            Preset::NationalDomain => {
                settings.limits.max_pages = 100_000_000;
                settings.limits.max_sites = 5_000_000;
                settings.limits.domain_budget_base = 10_000;
                settings.politeness.ip_delay = Some(Duration::from_secs(2));
                settings.quality.discovery_share = 0.5;
                settings.warc.keep_versions = RetentionPolicy::Latest;
            }
            Preset::Site => {
                settings.limits.max_depth_static = 50;
                settings.limits.max_depth_dynamic = 25;
                settings.limits.max_pages_per_site = 1_000_000;
                settings.limits.domain_budget_base = 1_000_000;
                settings.politeness.delay = Duration::from_secs(2);
                settings.politeness.large_site_delay = Duration::from_secs(1);
                settings.crawl.max_batch_pages_per_site = 5_000;
            }
            Preset::Archive => {
                settings.fetch.mime_types = vec!["*/*".to_owned()];
                settings.fetch.max_body_size.0 = 100_000_000;
                settings.fetch.max_body_memory.0 = 2 << 30;
                settings.fetch.total_timeout = Duration::from_secs(20 * 60);
                settings.warc.request_records = true;
                settings.warc.keep_versions = RetentionPolicy::All;
                let files = &mut settings.extensions;
                let counted = [
                    &mut files.images,
                    &mut files.audio,
                    &mut files.video,
                    &mut files.documents,
                    &mut files.archives,
                    &mut files.software,
                    &mut files.fonts,
                    &mut files.data,
                    &mut files.styles,
                ];
                counted.into_iter().for_each(|list| files.static_pages.append(list));
            }
            Preset::Continuous => {
                settings.revisit.min_interval_ok = HOUR;
                settings.revisit.min_interval_client_error = 30 * DAY;
                settings.revisit.min_interval_failed = DAY;
                settings.revisit.min_poll_interval = 6 * HOUR;
                settings.crawl.max_requests_per_site_per_day = 1_000;
                settings.warc.keep_versions = RetentionPolicy::Versions(10);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_a_valid_settings_file_that_differs_from_the_defaults() {
        for preset in Preset::value_variants() {
            let mut settings = Settings::default();
            preset.apply(&mut settings);
            assert_ne!(settings, Settings::default(), "{preset:?}");
            assert_eq!(Settings::parse(&settings.to_toml()).as_ref(), Ok(&settings), "{preset:?}");
            settings.crawl_settings(std::path::Path::new("")).unwrap();
        }
    }
}
