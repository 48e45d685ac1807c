//! What can be set? Everything about one setting (name, default, meaning, bounds) stands in one line of the table
//! below; command line, TOML file, documentation and checks are made from it.

use crate::error::SettingsError;

/// A setting as the user meets it: for lists and help texts.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingDoc {
    /// The name used with `--set` and in the TOML file.
    pub name: &'static str,
    /// The default.
    pub default: f64,
    /// What it means.
    pub meaning: &'static str,
}

/// What values a setting takes.
#[derive(Clone, Copy)]
enum Bounds {
    /// From 0 to 1.
    Share,
    /// A whole number up to the limit.
    Count { most: u64 },
    /// Any number from 0 to the limit.
    Number { most: f64 },
}

impl Bounds {
    fn check(self, name: &str, value: f64) -> Result<f64, SettingsError> {
        let (fits, wanted) = match self {
            Bounds::Share => ((0.0..=1.0).contains(&value), "a share from 0 to 1".to_owned()),
            Bounds::Count { most } => (
                value.fract() == 0.0 && (0.0..=most as f64).contains(&value),
                format!("a whole number from 0 to {most}"),
            ),
            Bounds::Number { most } => ((0.0..=most).contains(&value), format!("a number from 0 to {most}")),
        };
        if fits {
            Ok(value)
        } else {
            Err(SettingsError::BadValue { name: name.to_owned(), value: value.to_string(), wanted })
        }
    }
}

macro_rules! settings {
    ($($name:ident: $kind:ty = $default:literal, $bounds:expr, $plain:literal, $meaning:literal;)*) => {
        /// The checked settings of a synthetic Web. Shares are between 0 and 1; a page-level share is a share of the
        /// pages without pages below them (seven of eight), so that no phenomenon cuts off a part of a site.
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
            /// Every phenomenon off: plain pages on plain sites.
            pub fn plain() -> Settings {
                Settings { $($name: if $plain { $default } else { 0 as $kind },)* }
            }

            /// All settings there are.
            pub fn all() -> Vec<SettingDoc> {
                vec![$(SettingDoc { name: stringify!($name), default: $default as f64, meaning: $meaning },)*]
            }

            /// Sets one value by its name.
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
const WEIGHT: Bounds = Bounds::Number { most: 1000.0 };
/// Whole numbers travel as `f64`, which is exact below 2^53; a larger one that was rounded is not below any more.
const ANY_COUNT: Bounds = Bounds::Count { most: (1 << 53) - 1 };

settings! {
    // The Web as a whole. The column before the meaning: does `plain` keep the default?
    seed: u64 = 1, ANY_COUNT, true, "Everything is derived from this number.";
    sites: u64 = 100, Bounds::Count { most: 8_000_000 }, true, "How many sites there are, the portal included.";
    pages: u64 = 10_000, Bounds::Count { most: 4_000_000_000 }, true, "About how many pages there are on all sites together.";
    addresses: u64 = 0, Bounds::Count { most: 8_000_000 }, true, "At most so many addresses for all sites; 0 gives each site its own.";
    page_bytes: f64 = 20_000.0, Bounds::Number { most: 10_000_000.0 }, true, "Mean size of a page in bytes; sizes are log-normal.";
    fewest_links: u64 = 40, Bounds::Count { most: 10_000 }, true, "Fewest links on a page.";
    most_links: u64 = 60, Bounds::Count { most: 10_000 }, true, "Most links on a page.";
    external_links: f64 = 0.25, SHARE, true, "Share of a page's free links that lead to other sites.";
    near_links: f64 = 0.5, SHARE, true, "Share of the free links inside a site that lead to near pages; the rest follow popularity.";

    // Languages of sites, weighed against each other.
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

    // Sites: names, addresses, transport.
    https: f64 = 0.2, SHARE, false, "Sites served by https.";
    bad_certificates: f64 = 0.03, SHARE, false, "Share of https sites whose certificate is expired, for another name, or of an unknown authority.";
    shared_domains: f64 = 0.25, SHARE, false, "Groups of four sites that are hosts of one registered domain.";
    virtual_hosts: f64 = 0.15, SHARE, false, "Share of the sites (but every eighth, their host) that live on the address of a neighbour.";
    mirrors: f64 = 0.02, SHARE, false, "Sites that copy another site on another address.";
    aliases: f64 = 0.02, SHARE, false, "Sites that are a second name of another site, on the same address.";
    legacy_encodings: f64 = 0.2, SHARE, false, "Sites written in an older encoding than UTF-8.";
    undeclared_encodings: f64 = 0.1, SHARE, false, "Sites that do not say which encoding they use.";
    compressed: f64 = 0.5, SHARE, false, "Sites that answer with gzip when it is accepted.";
    chunked: f64 = 0.1, SHARE, false, "Sites that answer without Content-Length.";
    validators: f64 = 0.7, SHARE, false, "Sites that send ETag and Last-Modified, and answer 304.";

    // Sites: robots and sitemaps. What the shares leave over allows everything.
    robots_missing: f64 = 0.25, SHARE, false, "Sites whose robots.txt is 404.";
    robots_disallow_some: f64 = 0.3, SHARE, false, "Sites that forbid private pages and drafts.";
    robots_disallow_all: f64 = 0.03, SHARE, false, "Sites that forbid everything.";
    robots_crawl_delay: f64 = 0.05, SHARE, false, "Sites that ask for a Crawl-delay.";
    robots_server_error: f64 = 0.02, SHARE, false, "Sites whose robots.txt is 503 for ever.";
    robots_forbidden: f64 = 0.02, SHARE, false, "Sites whose robots.txt is 403 (which allows everything).";
    robots_redirected: f64 = 0.02, SHARE, false, "Sites whose robots.txt redirects to the file it should be.";
    robots_slow: f64 = 0.01, SHARE, false, "Sites whose robots.txt takes slow_ms longer than a page.";
    robots_huge: f64 = 0.01, SHARE, false, "Sites whose robots.txt has 600 KiB.";
    robots_malformed: f64 = 0.03, SHARE, false, "Sites whose robots.txt has a BOM, bad lines and odd line ends.";
    crawl_delay_s: u64 = 2, Bounds::Count { most: 3600 }, true, "The Crawl-delay asked for, in seconds.";
    sitemaps: f64 = 0.4, SHARE, false, "Sites with a sitemap (XML, index, gzip or text) with true dates.";
    robots_rdf: f64 = 0.1, SHARE, false, "Sites with a robots.rdf.";

    // Sites: behaviour.
    session_ids: f64 = 0.03, SHARE, false, "Sites that put a new session id into every link at every visit.";
    traps: f64 = 0.03, SHARE, false, "Sites with an endless calendar, growing paths or a maze.";
    rate_limited: f64 = 0.03, SHARE, false, "Sites that answer 429 to requests that come too fast.";
    rate_limit_ms: u64 = 100, Bounds::Count { most: 3_600_000 }, true, "The shortest time between two requests that such a site accepts.";
    retry_after_s: u64 = 2, Bounds::Count { most: 3600 }, true, "The Retry-After such a site sends, in seconds.";
    slow: f64 = 0.03, SHARE, false, "Sites that let a client wait for the first byte.";
    slow_ms: u64 = 300, Bounds::Count { most: 600_000 }, true, "How long they let it wait, in milliseconds.";
    dripping: f64 = 0.01, SHARE, false, "Sites that send a page in small pieces with pauses, for two seconds in all.";
    flaky: f64 = 0.03, SHARE, false, "Sites that answer some requests with 500 or 503.";
    flaky_failures: f64 = 0.2, SHARE, true, "Share of the requests to a flaky site that fail.";
    down: f64 = 0.01, SHARE, false, "Sites that answer everything with 503.";
    silent: f64 = 0.005, SHARE, false, "Sites that accept a request and never answer.";
    silent_s: u64 = 60, Bounds::Count { most: 3600 }, true, "When a silent site closes the connection, in seconds.";
    nameless: f64 = 0.01, SHARE, false, "Sites whose name does not exist (NXDOMAIN) though others link to them.";
    servfail: f64 = 0.005, SHARE, false, "Sites whose name server fails (SERVFAIL).";

    // Pages.
    isolated: f64 = 0.02, SHARE, false, "Share of a site's pages that no page links to.";
    duplicates: f64 = 0.05, SHARE, false, "Exact copies of another page of the site.";
    near_duplicates: f64 = 0.05, SHARE, false, "Copies of another page of the site in which some sentences differ.";
    near_duplicate_change: f64 = 0.05, SHARE, true, "Share of the sentences that differ in a near duplicate.";
    redirects: f64 = 0.04, SHARE, false, "Redirects by status (301, 302, 307, 308).";
    redirect_chains: f64 = 0.2, SHARE, true, "Share of the redirects that take two to five hops.";
    redirect_loops: f64 = 0.05, SHARE, true, "Share of the redirects that never end.";
    redirect_abroad: f64 = 0.2, SHARE, true, "Share of the redirects with an end that lead to another site.";
    meta_refresh: f64 = 0.01, SHARE, false, "Pages that lead on by meta refresh.";
    missing: f64 = 0.03, SHARE, false, "Linked pages that answer 404.";
    gone: f64 = 0.005, SHARE, false, "Linked pages that answer 410.";
    soft_404: f64 = 0.01, SHARE, false, "Linked pages that answer 200 and say that nothing was found.";
    error_pages: f64 = 0.005, SHARE, false, "Pages that answer 500 for ever.";
    truncated: f64 = 0.005, SHARE, false, "Pages that end before their Content-Length.";
    reset: f64 = 0.005, SHARE, false, "Pages whose connection is reset in the middle.";
    text_pages: f64 = 0.02, SHARE, false, "Plain text.";
    pdf_pages: f64 = 0.02, SHARE, false, "Binary files that look like PDF.";
    image_pages: f64 = 0.03, SHARE, false, "Images.";
    dynamic: f64 = 0.15, SHARE, false, "Share of the HTML pages with a query in their URL.";
    private: f64 = 0.05, SHARE, false, "Share of the HTML pages below /private/ or named draft-, which some robots.txt forbid; a third of them are let out again by an Allow line.";
    unicode_paths: f64 = 0.1, SHARE, false, "Share of the pages in other scripts than Latin whose path is in that script.";
    foreign: f64 = 0.03, SHARE, false, "Share of the HTML and text pages of UTF-8 sites that are in another language than their site.";
    noindex: f64 = 0.03, SHARE, false, "Pages that ask not to be indexed, by meta robots or X-Robots-Tag.";
    nofollow: f64 = 0.02, SHARE, false, "Pages that ask not to follow any link, by meta robots or X-Robots-Tag.";
    canonical: f64 = 0.3, SHARE, false, "Pages that name their canonical URL.";
    base_href: f64 = 0.05, SHARE, false, "Pages with a base element.";
    noisy: f64 = 0.02, SHARE, false, "Pages with a part that differs at every visit though nothing changed.";

    // Links.
    odd_links: f64 = 0.15, SHARE, false, "Links written in a rare but valid way.";
    tracking: f64 = 0.03, SHARE, false, "Share of the free links with tracking parameters.";
    nofollow_links: f64 = 0.05, SHARE, false, "Share of the free links with rel=nofollow.";
    dead_links: f64 = 0.005, SHARE, false, "Share of the links to other sites that lead to hosts whose name does not exist.";
    refused_links: f64 = 0.002, SHARE, false, "Share of the links to other sites that lead to ports where nobody listens.";

    // Time.
    changing: f64 = 0.7, SHARE, false, "Pages that change, as a Poisson process.";
    changes_per_day: f64 = 0.05, Bounds::Number { most: 1000.0 }, true, "Median rate of change of those.";
    change_spread: f64 = 1.5, Bounds::Number { most: 5.0 }, true, "Their rates are log-normal with this deviation, at most one change a second.";
    clock: f64 = 1.0, Bounds::Number { most: 1e9 }, true, "How much faster than real time the clock of the pages runs; 0 stops it.";
    start_day: f64 = 365.0, Bounds::Number { most: 10_000.0 }, true, "Where that clock starts, in days after the beginning of this Web.";

    // Limits of the server.
    connections: u64 = 10_000, Bounds::Count { most: 1_000_000 }, true, "Most connections open at once; further ones are closed at once.";
    log_entries: u64 = 1_000_000, Bounds::Count { most: 1_000_000_000 }, true, "Most requests the log in memory remembers; the oldest go first.";
}

impl Settings {
    /// Reads `name=value`, as given with `--set`.
    pub fn set_from(&mut self, assignment: &str) -> Result<(), SettingsError> {
        let (name, value) =
            assignment.split_once('=').ok_or_else(|| SettingsError::NoValue(assignment.to_owned()))?;
        let number = value.trim().parse().map_err(|_| SettingsError::BadValue {
            name: name.trim().to_owned(),
            value: value.trim().to_owned(),
            wanted: "a number".to_owned(),
        })?;
        self.set(name.trim(), number)
    }

    /// Reads a TOML document of `name = value` lines.
    pub fn set_from_toml(&mut self, text: &str) -> Result<(), SettingsError> {
        let not_toml = |error: toml::de::Error| {
            let before = &text.as_bytes()[..error.span().map_or(0, |span| span.start.min(text.len()))];
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            SettingsError::NotToml { line, what: error.message().to_owned() }
        };
        let table: toml::Table = toml::from_str(text).map_err(not_toml)?;
        for (name, value) in table {
            let number = match value {
                toml::Value::Integer(whole) => whole as f64,
                toml::Value::Float(number) => number,
                other => {
                    let value = format!("a {}", other.type_str());
                    return Err(SettingsError::BadValue { name, value, wanted: "a number".to_owned() });
                }
            };
            self.set(&name, number)?;
        }
        Ok(())
    }

    /// Checks what no single value can tell.
    pub fn checked(self) -> Result<Settings, SettingsError> {
        let wrong = |sentence: &str| Err(SettingsError::Contradiction(sentence.to_owned()));
        if self.sites == 0 {
            return wrong("there must be at least one site: the portal");
        }
        if self.fewest_links > self.most_links {
            return wrong("fewest_links is larger than most_links");
        }
        if self.language_weights().iter().sum::<f64>() <= 0.0 {
            return wrong("no language has a weight above 0");
        }
        for group in self.exclusive() {
            let together: f64 = group.iter().map(|(_, share)| share).sum();
            if together > 1.0 + 1e-9 {
                let names: Vec<&str> = group.iter().map(|(name, _)| *name).collect();
                return wrong(&format!(
                    "the shares {} exclude each other: they may be at most 1 together, not {together:.3}",
                    names.join(", ")
                ));
            }
        }
        Ok(self)
    }

    /// In the order of `Language::ALL`.
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

    /// The groups of shares of which only one can befall a site or a page.
    fn exclusive(&self) -> [Vec<(&'static str, f64)>; 6] {
        macro_rules! group {
            ($($name:ident)*) => { vec![$((stringify!($name), self.$name)),*] };
        }
        [
            group!(robots_missing robots_disallow_some robots_disallow_all robots_crawl_delay robots_server_error
                robots_forbidden robots_redirected robots_slow robots_huge robots_malformed),
            group!(slow dripping flaky down silent nameless servfail),
            group!(aliases mirrors),
            group!(dynamic private),
            group!(redirect_loops redirect_chains),
            group!(duplicates near_duplicates redirects meta_refresh missing gone soft_404 error_pages truncated
                reset text_pages pdf_pages image_pages),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_name_is_rejected_with_the_nearest_one() {
        let error = Settings::default().set_from("duplicate=0.5").unwrap_err();
        assert_eq!(error.to_string(), "no setting is called `duplicate`; did you mean `duplicates`?");
    }

    #[test]
    fn values_out_of_bounds_are_rejected() {
        let mut settings = Settings::default();
        for bad in ["duplicates=1.5", "duplicates=-0.1", "sites=2.5", "sites=x", "sites", "duplicates=NaN"] {
            assert!(settings.set_from(bad).is_err(), "{bad}");
        }
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn toml_sets_many_at_once() {
        let mut settings = Settings::plain();
        settings.set_from_toml("sites = 7\nduplicates = 0.25\n# remark\n").unwrap();
        assert_eq!((settings.sites, settings.duplicates), (7, 0.25));
        assert!(settings.set_from_toml("sites = 'many'").is_err());
        assert!(settings.set_from_toml("[sites]").is_err());
        let error = settings.set_from_toml("seed = 3\nsites = = 1").unwrap_err().to_string();
        assert!(error.starts_with("line 2 is not TOML: "), "{error}");
        assert!(settings.set_from_toml("seed = 9007199254740993").is_err(), "it would be rounded");
        settings.set_from_toml("seed = 9007199254740991").unwrap();
        assert_eq!(settings.seed, 9_007_199_254_740_991);
    }

    #[test]
    fn shares_that_exclude_each_other_cannot_be_more_than_one_together() {
        for group in Settings::default().exclusive() {
            let mut settings = Settings::plain();
            for (name, _) in &group {
                settings.set(name, 1.0 / group.len() as f64).unwrap();
            }
            assert!(settings.clone().checked().is_ok(), "{group:?}");
            settings.set(group[0].0, 1.0).unwrap();
            let sentence = settings.checked().unwrap_err().to_string();
            assert!(group.iter().all(|(name, _)| sentence.contains(name)), "{sentence}");
        }
        assert!(Settings::default().checked().is_ok());
        assert!(Settings::plain().checked().is_ok());
    }

    #[test]
    fn every_default_is_within_its_own_bounds() {
        for doc in Settings::all() {
            Settings::default().set(doc.name, doc.default).unwrap();
        }
    }
}
