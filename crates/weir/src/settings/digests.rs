//! Digests of the settings on which stored decisions depend.

use std::collections::BTreeMap;

use model::Reason;
use xxhash_rust::xxh3::xxh3_64;

use super::Settings;
use super::section::Section;

impl Settings {
    /// Digest of each setting that a reason depends on, by its name; a section counts as a whole.
    pub(super) fn setting_digests(&self) -> BTreeMap<String, u64> {
        let names = Reason::all().flat_map(Reason::settings);
        names.map(|name| ((*name).to_owned(), xxh3_64(self.text_of(name).as_bytes()))).collect()
    }

    /// Values of a setting or section, as written in the file.
    fn text_of(&self, name: &str) -> String {
        let (section, setting) =
            name.split_once('.').map_or((name, None), |(section, name)| (section, Some(name)));
        let values = |section: &dyn Section| {
            let rows = section.rows().into_iter();
            let rows = rows.filter(|row| setting.is_none_or(|setting| setting == row.name));
            rows.map(|row| format!("{}={}\n", row.name, row.value)).collect::<String>()
        };
        if section == "site" {
            let entry = |site: &super::SiteSection| {
                use super::value::Value;
                format!("{} {}", site.r#match.write(), values(site))
            };
            // Entries without the setting decide nothing, unless they hide a later one for the same sites.
            return self.sites.iter().map(entry).collect();
        }
        self.sections().into_iter().filter(|other| other.name() == section).map(values).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str) -> Vec<String> {
        let (old, new) =
            (Settings::default().setting_digests(), Settings::parse(text).unwrap().setting_digests());
        new.into_iter().filter(|(name, digest)| old.get(name) != Some(digest)).map(|(name, _)| name).collect()
    }

    #[test]
    fn every_setting_of_a_reason_exists() {
        let settings = Settings::parse("[[site]]\nmatch = 'a.test'").unwrap();
        for name in Reason::all().flat_map(Reason::settings) {
            assert!(!settings.text_of(name).is_empty(), "{name}");
        }
    }

    #[test]
    fn a_digest_changes_with_its_setting_only() {
        assert_eq!(changed("[limits]\nmax_depth_static = 3"), ["limits.max_depth_static"]);
        assert_eq!(changed("[traps]\nmax_path_segments = 3"), ["traps"]);
        assert_eq!(changed("[politeness]\ndelay = '1s'"), Vec::<String>::new());
        let site = changed("[[site]]\nmatch = 'a.test'\nmax_depth = 1");
        assert!(site.contains(&"site.max_depth".to_owned()), "{site:?}");
    }
}
