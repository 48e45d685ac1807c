//! Settings of a synthetic Web. Everything about a setting (name, default, meaning, bounds) is one line of the table
//! below; command line, TOML file, documentation and checks are generated from it.

use crate::error::SettingsError;

/// Description of a setting, for lists and help texts.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingDoc {
    /// Name in `--set` and in the TOML file.
    pub name: &'static str,
    /// Default value.
    pub default: f64,
    /// Meaning.
    pub meaning: &'static str,
}

/// Range of a setting.
#[derive(Clone, Copy)]
enum Bounds {
    /// From 0 to 1.
    Share,
    /// A whole number from 0 to the maximum.
    Count { max: u64 },
    /// A number from 0 to the maximum.
    Number { max: f64 },
}

impl Bounds {
    fn check(self, name: &str, value: f64) -> Result<f64, SettingsError> {
        let (fits, expected) = match self {
            Bounds::Share => ((0.0..=1.0).contains(&value), "a share from 0 to 1".to_owned()),
            Bounds::Count { max } => (
                value.fract() == 0.0 && (0.0..=max as f64).contains(&value),
                format!("a whole number from 0 to {max}"),
            ),
            Bounds::Number { max } => ((0.0..=max).contains(&value), format!("a number from 0 to {max}")),
        };
        if fits {
            Ok(value)
        } else {
            Err(SettingsError::InvalidValue { name: name.to_owned(), value: value.to_string(), expected })
        }
    }
}

macro_rules! settings {
    ($($name:ident: $kind:ty = $default:literal, $bounds:expr, $plain:literal, $meaning:literal;)*) => {
        /// Checked settings of a synthetic Web. Shares are between 0 and 1. A share of pages refers to the leaves
        /// (seven of eight pages), so that no fault makes a part of a site unreachable.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Settings {
            $(#[doc = $meaning] pub $name: $kind,)*
        }

        impl Default for Settings {
            fn default() -> Settings {
                Settings { $($name: $default,)* }
            }
        }

        impl Settings {
            /// Settings without any faults and features: plain pages on plain sites.
            pub fn plain() -> Settings {
                Settings { $($name: if $plain { $default } else { 0 as $kind },)* }
            }

            /// Returns all settings.
            pub fn all() -> Vec<SettingDoc> {
                vec![$(SettingDoc { name: stringify!($name), default: $default as f64, meaning: $meaning },)*]
            }

            /// Sets a value by its name.
            pub fn set(&mut self, name: &str, value: f64) -> Result<(), SettingsError> {
                match name {
                    $(stringify!($name) => self.$name = $bounds.check(name, value)? as $kind,)*
                    _ => return Err(SettingsError::unknown(name, &[$(stringify!($name)),*])),
                }
                Ok(())
            }
        }
    };
}

const SHARE: Bounds = Bounds::Share;
const WEIGHT: Bounds = Bounds::Number { max: 1000.0 };
/// Whole numbers are passed as `f64`, which is exact below 2^53; a larger number that was rounded exceeds this
/// maximum.
const ANY_COUNT: Bounds = Bounds::Count { max: (1 << 53) - 1 };

settings! {
    // The Web as a whole. The column before the meaning: whether `plain` keeps the default.
    seed: u64 = 1, ANY_COUNT, true, "Random seed; everything else is derived from it.";
    sites: u64 = 100, Bounds::Count { max: 8_000_000 }, true, "Number of sites, including the portal.";
    pages: u64 = 10_000, Bounds::Count { max: 4_000_000_000 }, true, "Approximate number of pages on all sites together.";
    max_ips: u64 = 0, Bounds::Count { max: 8_000_000 }, true, "Maximum number of IP addresses for all sites; 0 gives each site its own.";
    page_bytes: f64 = 20_000.0, Bounds::Number { max: 10_000_000.0 }, true, "Mean size of a page in bytes; sizes are log-normal.";
    min_links: u64 = 40, Bounds::Count { max: 10_000 }, true, "Minimum number of links on a page.";
    max_links: u64 = 60, Bounds::Count { max: 10_000 }, true, "Maximum number of links on a page.";
    external_links: f64 = 0.25, SHARE, true, "Share of a page's free links that lead to other sites.";
    local_links: f64 = 0.5, SHARE, true, "Share of the free links inside a site that lead to pages with a nearby index; the others follow popularity.";

    // Languages of sites, as relative weights.
    english: f64 = 0.4, WEIGHT, true, "Weight of English among the languages of sites; the portal is always in English.";
    spanish: f64 = 0.17, WEIGHT, true, "Weight of Spanish.";
    german: f64 = 0.1, WEIGHT, true, "Weight of German.";
    french: f64 = 0.07, WEIGHT, true, "Weight of French.";
    japanese: f64 = 0.05, WEIGHT, true, "Weight of Japanese.";
    russian: f64 = 0.04, WEIGHT, true, "Weight of Russian.";
    portuguese: f64 = 0.04, WEIGHT, true, "Weight of Portuguese.";
    italian: f64 = 0.03, WEIGHT, true, "Weight of Italian.";
    chinese: f64 = 0.03, WEIGHT, true, "Weight of Chinese.";
    turkish: f64 = 0.03, WEIGHT, true, "Weight of Turkish.";
    arabic: f64 = 0.02, WEIGHT, true, "Weight of Arabic.";
    greek: f64 = 0.02, WEIGHT, true, "Weight of Greek.";

    // Sites: names, IP addresses, transport.
    https: f64 = 0.2, SHARE, false, "Share of sites served by https.";
    bad_certificates: f64 = 0.03, SHARE, false, "Share of https sites whose certificate is expired, for another name, or of an unknown authority.";
    shared_domains: f64 = 0.25, SHARE, false, "Share of groups of four sites that are hosts of one registered domain.";
    virtual_hosts: f64 = 0.15, SHARE, false, "Share of sites that share the IP address of a neighbour; every eighth site keeps its own IP address and hosts the others.";
    mirrors: f64 = 0.02, SHARE, false, "Share of sites that replicate another site on another IP address.";
    aliases: f64 = 0.02, SHARE, false, "Share of sites that are a second name of another site, on the same IP address.";
    legacy_charsets: f64 = 0.2, SHARE, false, "Share of sites in a legacy charset, not UTF-8.";
    undeclared_charsets: f64 = 0.1, SHARE, false, "Share of sites that do not declare their charset.";
    compressed: f64 = 0.5, SHARE, false, "Share of sites that compress responses with gzip when it is accepted.";
    chunked: f64 = 0.1, SHARE, false, "Share of sites that send responses without Content-Length.";
    validators: f64 = 0.7, SHARE, false, "Share of sites that send ETag and Last-Modified, and respond with 304.";

    // Sites: robots.txt and sitemaps. The remaining share allows everything.
    robots_missing: f64 = 0.25, SHARE, false, "Share of sites whose robots.txt is 404.";
    robots_disallow_some: f64 = 0.3, SHARE, false, "Share of sites that disallow private pages and drafts.";
    robots_disallow_all: f64 = 0.03, SHARE, false, "Share of sites that disallow everything.";
    robots_crawl_delay: f64 = 0.05, SHARE, false, "Share of sites with a Crawl-delay.";
    robots_server_error: f64 = 0.02, SHARE, false, "Share of sites whose robots.txt is always 503.";
    robots_forbidden: f64 = 0.02, SHARE, false, "Share of sites whose robots.txt is 403 (which allows everything).";
    robots_redirected: f64 = 0.02, SHARE, false, "Share of sites whose robots.txt redirects to the real file.";
    robots_slow: f64 = 0.01, SHARE, false, "Share of sites whose robots.txt takes slow_ms longer than a page.";
    robots_huge: f64 = 0.01, SHARE, false, "Share of sites whose robots.txt has 600 KiB.";
    robots_malformed: f64 = 0.03, SHARE, false, "Share of sites whose robots.txt has a BOM, invalid lines and mixed line ends.";
    crawl_delay_s: u64 = 2, Bounds::Count { max: 3600 }, true, "The Crawl-delay of these sites in seconds.";
    sitemaps: f64 = 0.4, SHARE, false, "Share of sites with a sitemap (XML, index, gzip or text) with correct dates.";
    robots_rdf: f64 = 0.1, SHARE, false, "Share of sites with a robots.rdf.";

    // Sites: behaviour.
    session_ids: f64 = 0.03, SHARE, false, "Share of sites that put a new session id into every link of every response.";
    traps: f64 = 0.03, SHARE, false, "Share of sites with an endless calendar, growing paths or a maze.";
    rate_limited: f64 = 0.03, SHARE, false, "Share of sites that respond with 429 to requests that come too fast.";
    rate_limit_ms: u64 = 100, Bounds::Count { max: 3_600_000 }, true, "Minimum time between two requests that such a site accepts, in milliseconds.";
    retry_after_s: u64 = 2, Bounds::Count { max: 3600 }, true, "The Retry-After of such a site in seconds.";
    slow: f64 = 0.03, SHARE, false, "Share of sites with a delayed first byte.";
    slow_ms: u64 = 300, Bounds::Count { max: 600_000 }, true, "The delay of these sites in milliseconds.";
    slow_body: f64 = 0.01, SHARE, false, "Share of sites that send the body in small chunks with pauses, two seconds in total.";
    flaky: f64 = 0.03, SHARE, false, "Share of sites that respond to some requests with 500 or 503.";
    flaky_failures: f64 = 0.2, SHARE, true, "Share of the requests to a flaky site that fail.";
    down: f64 = 0.01, SHARE, false, "Share of sites that respond to everything with 503.";
    unresponsive: f64 = 0.005, SHARE, false, "Share of sites that accept a request and never respond.";
    unresponsive_s: u64 = 60, Bounds::Count { max: 3600 }, true, "Time after which an unresponsive site closes the connection, in seconds.";
    nxdomain: f64 = 0.01, SHARE, false, "Share of sites whose name does not exist (NXDOMAIN) though other sites link to them.";
    servfail: f64 = 0.005, SHARE, false, "Share of sites whose name server fails (SERVFAIL).";

    // Pages.
    isolated: f64 = 0.02, SHARE, false, "Share of a site's pages without any link to them.";
    duplicates: f64 = 0.05, SHARE, false, "Share of pages that are exact duplicates of another page of the site.";
    near_duplicates: f64 = 0.05, SHARE, false, "Share of pages that differ from another page of the site in some sentences only.";
    near_duplicate_change: f64 = 0.05, SHARE, true, "Share of the sentences that differ in a near duplicate.";
    redirects: f64 = 0.04, SHARE, false, "Share of pages that redirect by status (301, 302, 307, 308).";
    redirect_chains: f64 = 0.2, SHARE, true, "Share of the redirects that take two to five hops.";
    redirect_loops: f64 = 0.05, SHARE, true, "Share of the redirects that never end.";
    external_redirects: f64 = 0.2, SHARE, true, "Share of the other redirects that lead to another site.";
    meta_refresh: f64 = 0.01, SHARE, false, "Share of pages that redirect by meta refresh.";
    not_found: f64 = 0.03, SHARE, false, "Share of linked pages with status 404.";
    gone: f64 = 0.005, SHARE, false, "Share of linked pages with status 410.";
    soft_404: f64 = 0.01, SHARE, false, "Share of linked pages with status 200 and a text that says \"not found\".";
    server_error_pages: f64 = 0.005, SHARE, false, "Share of pages that always respond with 500.";
    truncated: f64 = 0.005, SHARE, false, "Share of pages that end before their Content-Length.";
    reset: f64 = 0.005, SHARE, false, "Share of pages whose connection is reset in the middle of the body.";
    text_pages: f64 = 0.02, SHARE, false, "Share of pages in plain text.";
    pdf_pages: f64 = 0.02, SHARE, false, "Share of binary files that look like PDF.";
    image_pages: f64 = 0.03, SHARE, false, "Share of images.";
    dynamic: f64 = 0.15, SHARE, false, "Share of the HTML pages with a query in their URL.";
    private: f64 = 0.05, SHARE, false, "Share of the HTML pages below /private/ or named draft-, which some robots.txt disallow; a third of them are allowed again by an Allow line.";
    unicode_paths: f64 = 0.1, SHARE, false, "Share of the pages in other scripts than Latin whose path is in that script.";
    other_language: f64 = 0.03, SHARE, false, "Share of the HTML and text pages of UTF-8 sites that are in another language than their site.";
    noindex: f64 = 0.03, SHARE, false, "Share of pages with noindex, in meta robots or X-Robots-Tag.";
    nofollow: f64 = 0.02, SHARE, false, "Share of pages with nofollow, in meta robots or X-Robots-Tag.";
    canonical: f64 = 0.3, SHARE, false, "Share of pages with a canonical link.";
    base_href: f64 = 0.05, SHARE, false, "Share of pages with a base element.";
    volatile_content: f64 = 0.02, SHARE, false, "Share of pages with a part that differs in every response though the page has not changed.";

    // Links.
    unusual_hrefs: f64 = 0.15, SHARE, false, "Share of links written in an unusual but valid way.";
    tracking_links: f64 = 0.03, SHARE, false, "Share of the free links with tracking parameters.";
    nofollow_links: f64 = 0.05, SHARE, false, "Share of the free links with rel=nofollow.";
    nxdomain_links: f64 = 0.005, SHARE, false, "Share of the links to other sites whose host name does not exist.";
    closed_port_links: f64 = 0.002, SHARE, false, "Share of the links to other sites that lead to a closed port.";

    // Time.
    changing_pages: f64 = 0.7, SHARE, false, "Share of pages that change, as a Poisson process.";
    changes_per_day: f64 = 0.05, Bounds::Number { max: 1000.0 }, true, "Median rate of change of these pages.";
    change_rate_sigma: f64 = 1.5, Bounds::Number { max: 5.0 }, true, "Standard deviation of the logarithm of the rates, which are log-normal; at most one change per second.";
    clock: f64 = 1.0, Bounds::Number { max: 1e9 }, true, "Speed of page changes relative to real time; 0 stops the clock.";
    start_day: f64 = 365.0, Bounds::Number { max: 10_000.0 }, true, "Start of this clock, in days after the beginning of this Web.";
    intermittent_sites: f64 = 0.0, SHARE, false, "Share of sites that come and go: for a third of a period of 200 to 500 days they respond with 503.";
    changing_robots: f64 = 0.0, SHARE, false, "Share of sites whose robots.txt disallows everything for a third of such a period.";
    moving_mirrors: f64 = 0.0, SHARE, false, "Share of mirrors that redirect to their origin from a day of the first year on.";
    growing_sitemaps: f64 = 0.0, SHARE, false, "Share of sites with a sitemap that lists isolated pages, each from a day of the first year on.";

    // Limits of the server.
    max_connections: u64 = 10_000, Bounds::Count { max: 1_000_000 }, true, "Maximum number of open connections; further ones are closed immediately.";
    max_log_entries: u64 = 1_000_000, Bounds::Count { max: 1_000_000_000 }, true, "Maximum number of requests in the in-memory log; the oldest are dropped first.";
}

impl Settings {
    /// Parses `name=value`, as given with `--set`.
    pub fn set_from(&mut self, assignment: &str) -> Result<(), SettingsError> {
        let (name, value) =
            assignment.split_once('=').ok_or_else(|| SettingsError::MissingValue(assignment.to_owned()))?;
        let number = value.trim().parse().map_err(|_| SettingsError::InvalidValue {
            name: name.trim().to_owned(),
            value: value.trim().to_owned(),
            expected: "a number".to_owned(),
        })?;
        self.set(name.trim(), number)
    }

    /// Parses a TOML document of `name = value` lines.
    pub fn set_from_toml(&mut self, text: &str) -> Result<(), SettingsError> {
        let invalid = |error: toml::de::Error| {
            let before = &text.as_bytes()[..error.span().map_or(0, |span| span.start.min(text.len()))];
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            SettingsError::InvalidToml { line, error: error.message().to_owned() }
        };
        let table: toml::Table = toml::from_str(text).map_err(invalid)?;
        for (name, value) in table {
            let number = match value {
                toml::Value::Integer(whole) => whole as f64,
                toml::Value::Float(number) => number,
                other => {
                    let value = format!("a {}", other.type_str());
                    return Err(SettingsError::InvalidValue { name, value, expected: "a number".to_owned() });
                }
            };
            self.set(&name, number)?;
        }
        Ok(())
    }

    /// Checks combinations of settings.
    pub fn checked(self) -> Result<Settings, SettingsError> {
        let contradiction = |message: &str| Err(SettingsError::Contradiction(message.to_owned()));
        if self.sites == 0 {
            return contradiction("sites must be at least 1 (the portal)");
        }
        if self.min_links > self.max_links {
            return contradiction("min_links exceeds max_links");
        }
        if self.language_weights().iter().sum::<f64>() <= 0.0 {
            return contradiction("the weights of all languages are 0");
        }
        for group in self.exclusive() {
            let together: f64 = group.iter().map(|(_, share)| share).sum();
            if together > 1.0 + 1e-9 {
                let names: Vec<&str> = group.iter().map(|(name, _)| *name).collect();
                return contradiction(&format!(
                    "the sum of the exclusive shares {} is {together:.3}, maximum 1",
                    names.join(", ")
                ));
            }
        }
        Ok(self)
    }

    /// Returns the weights in the order of `Language::ALL`.
    pub(crate) fn language_weights(&self) -> [f64; 12] {
        [
            self.english,
            self.spanish,
            self.german,
            self.french,
            self.japanese,
            self.russian,
            self.portuguese,
            self.italian,
            self.chinese,
            self.turkish,
            self.arabic,
            self.greek,
        ]
    }

    /// Returns the groups of mutually exclusive shares.
    fn exclusive(&self) -> [Vec<(&'static str, f64)>; 6] {
        macro_rules! group {
            ($($name:ident)*) => { vec![$((stringify!($name), self.$name)),*] };
        }
        [
            group!(robots_missing robots_disallow_some robots_disallow_all robots_crawl_delay robots_server_error
                robots_forbidden robots_redirected robots_slow robots_huge robots_malformed),
            group!(slow slow_body flaky down unresponsive nxdomain servfail),
            group!(aliases mirrors),
            group!(dynamic private),
            group!(redirect_loops redirect_chains),
            group!(duplicates near_duplicates redirects meta_refresh not_found gone soft_404 server_error_pages truncated
                reset text_pages pdf_pages image_pages),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_rejected_with_the_nearest_one() {
        let error = Settings::default().set_from("duplicate=0.5").unwrap_err();
        assert_eq!(error.to_string(), "unknown setting `duplicate`; did you mean `duplicates`?");
    }

    #[test]
    fn values_out_of_range_are_rejected() {
        let mut settings = Settings::default();
        for bad in ["duplicates=1.5", "duplicates=-0.1", "sites=2.5", "sites=x", "sites", "duplicates=NaN"] {
            assert!(settings.set_from(bad).is_err(), "{bad}");
        }
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn a_toml_document_sets_several_values() {
        let mut settings = Settings::plain();
        settings.set_from_toml("sites = 7\nduplicates = 0.25\n# remark\n").unwrap();
        assert_eq!((settings.sites, settings.duplicates), (7, 0.25));
        assert!(settings.set_from_toml("sites = 'many'").is_err());
        assert!(settings.set_from_toml("[sites]").is_err());
        let error = settings.set_from_toml("seed = 3\nsites = = 1").unwrap_err().to_string();
        assert!(error.starts_with("invalid TOML in line 2: "), "{error}");
        assert!(settings.set_from_toml("seed = 9007199254740993").is_err(), "would be rounded");
        settings.set_from_toml("seed = 9007199254740991").unwrap();
        assert_eq!(settings.seed, 9_007_199_254_740_991);
    }

    #[test]
    fn the_sum_of_exclusive_shares_must_not_exceed_one() {
        for group in Settings::default().exclusive() {
            let mut settings = Settings::plain();
            for (name, _) in &group {
                settings.set(name, 1.0 / group.len() as f64).unwrap();
            }
            assert!(settings.clone().checked().is_ok(), "{group:?}");
            settings.set(group[0].0, 1.0).unwrap();
            let message = settings.checked().unwrap_err().to_string();
            assert!(group.iter().all(|(name, _)| message.contains(name)), "{message}");
        }
        assert!(Settings::default().checked().is_ok());
        assert!(Settings::plain().checked().is_ok());
    }

    #[test]
    fn every_default_is_within_its_range() {
        for doc in Settings::all() {
            Settings::default().set(doc.name, doc.default).unwrap();
        }
    }
}
