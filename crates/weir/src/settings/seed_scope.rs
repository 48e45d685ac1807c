//! Default scope of a crawl: the hosts of the seeds.

use std::collections::BTreeSet;
use std::net::IpAddr;

use model::{CanonicalUrl, PageId, SiteId};
use store::{Collection, PageColumn, PageFlags, PageStateReader, SiteStateReader, Snapshot, UrlReader};

use super::{ScopeRule, Settings};
use crate::exit::UsageError;
use crate::human::plural;

/// Number of hosts that a description of the scope lists.
const MAX_LISTED_RULES: usize = 5;

impl Settings {
    /// Whether the scope is the hosts of the seeds: `scope.accept` has no rule for hosts.
    fn has_seed_scope(&self) -> Result<bool, UsageError> {
        Ok(!self.scope()?.accept.has_host_rules())
    }

    /// Accepts the hosts of the seeds, with and without `www.`, unless the settings have rules for hosts.
    pub(crate) fn accept_hosts_of(&mut self, seeds: &[CanonicalUrl]) -> Result<(), UsageError> {
        if self.has_seed_scope()? {
            let hosts: BTreeSet<String> = seeds.iter().flat_map(host_rules).collect();
            self.scope.accept.extend(hosts.into_iter().map(ScopeRule));
        }
        Ok(())
    }

    /// Accepts the hosts of the seeds of a collection.
    pub(crate) fn accept_seed_hosts(&mut self, snapshot: &Snapshot) -> anyhow::Result<()> {
        let seeds = self.seeds_of(&snapshot.page_state, &snapshot.site_state, &snapshot.urls)?;
        Ok(self.accept_hosts_of(&seeds)?)
    }

    /// Seeds of a collection that is open for writing.
    pub(crate) fn seeds(&self, collection: &Collection) -> anyhow::Result<Vec<CanonicalUrl>> {
        self.seeds_of(
            collection.page_state.reader(),
            collection.site_state.reader(),
            collection.urls.reader(),
        )
    }

    /// Seeds; the front pages of the fetched sites in a collection without seeds, such as an imported one.
    fn seeds_of(
        &self,
        pages: &PageStateReader,
        sites: &SiteStateReader,
        urls: &UrlReader,
    ) -> anyhow::Result<Vec<CanonicalUrl>> {
        let rules = self.url_rules();
        let seeds = pages.scan(&[PageColumn::StageAndFlags], |seeds: &mut Vec<PageId>, row| {
            if row.flags.has(PageFlags::SEED) {
                seeds.push(row.page);
            }
        })?;
        let seeds = urls.urls(&seeds.concat())?;
        let seeds: Vec<CanonicalUrl> =
            seeds.into_iter().flatten().filter_map(|url| rules.canonical(&url).ok()).collect();
        if !seeds.is_empty() {
            return Ok(seeds);
        }
        let fetched = sites.scan(|fetched: &mut Vec<SiteId>, site, record| {
            if record.pages_fetched > 0 {
                fetched.push(site);
            }
        })?;
        let names = fetched.into_iter().flatten().filter_map(|site| urls.site_name(site));
        Ok(names.filter_map(|name| rules.canonical(&format!("{name}/")).ok()).collect())
    }

    /// Description of the scope of a crawl with these seeds.
    pub(crate) fn describe_scope(&self, seeds: &[CanonicalUrl]) -> Result<String, UsageError> {
        let mut resolved = self.clone();
        resolved.accept_hosts_of(seeds)?;
        let rules: Vec<&str> = resolved.scope.accept.iter().map(|rule| rule.0.as_str()).collect();
        if rules.contains(&"*") {
            return Ok("the whole Web".to_owned());
        }
        let kind = if self.has_seed_scope()? { "hosts of the seeds: " } else { "" };
        let listed = rules[..rules.len().min(MAX_LISTED_RULES)].join(", ");
        Ok(match rules.len().saturating_sub(MAX_LISTED_RULES) {
            _ if rules.is_empty() => "hosts of the seeds (none yet)".to_owned(),
            0 => format!("{kind}{listed}"),
            more => format!("{kind}{listed} and {}", plural(more as u64, "more rule")),
        })
    }
}

/// Rules for the host of a seed: the host itself, and its name with or without `www.`.
fn host_rules(seed: &CanonicalUrl) -> Vec<String> {
    let host = seed.host();
    let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    // A name without a dot needs the form of a URL.
    let rule =
        |host: &str| if host.contains(['.', ':']) { host.to_owned() } else { format!("http://{host}") };
    let other = match host.strip_prefix("www.") {
        Some(bare) => Some(bare.to_owned()),
        None => (!is_address && host.contains('.')).then(|| format!("www.{host}")),
    };
    [Some(rule(host)), other.as_deref().map(rule)].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope_of(settings: &str, seeds: &[&str]) -> (Vec<String>, String) {
        let mut settings = Settings::parse(settings).unwrap();
        let seeds: Vec<CanonicalUrl> =
            seeds.iter().map(|seed| settings.url_rules().canonical(seed).unwrap()).collect();
        let description = settings.describe_scope(&seeds).unwrap();
        settings.accept_hosts_of(&seeds).unwrap();
        (settings.scope.accept.into_iter().map(|rule| rule.0).collect(), description)
    }

    #[test]
    fn the_default_scope_is_the_hosts_of_the_seeds() {
        let (rules, description) = scope_of(
            "",
            &["https://example.org/a", "http://www.b.example/", "http://127.0.0.1:8080/", "http://wiki/"],
        );
        let expected =
            ["127.0.0.1", "b.example", "example.org", "http://wiki", "www.b.example", "www.example.org"];
        assert_eq!(rules, expected);
        let listed = "127.0.0.1, b.example, example.org, http://wiki, www.b.example";
        assert_eq!(description, format!("hosts of the seeds: {listed} and 1 more rule"));
        let (rules, _) = scope_of("[scope]\naccept = ['/docs/']", &["https://example.org/a"]);
        assert_eq!(rules, ["/docs/", "example.org", "www.example.org"]);
    }

    #[test]
    fn rules_for_hosts_replace_the_default() {
        let (rules, description) = scope_of("[scope]\naccept = ['.example.org']", &["https://a.example/"]);
        assert_eq!((rules, description.as_str()), (vec![".example.org".to_owned()], ".example.org"));
        assert_eq!(scope_of("[scope]\naccept = ['*']", &["https://a.example/"]).1, "the whole Web");
    }
}
