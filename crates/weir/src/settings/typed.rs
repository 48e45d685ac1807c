//! What do the other crates want to know of the settings?

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use crawl::{CrawlSettings, Focus, GatherSettings, Revisits, SiteOverride};
use fetch::{Credentials, DnsSettings, FetchSettings, Networks, Proxy, SiteExtras, SiteRequest};
use frontier::{DomainBudget, HostList, Limits, Patience, Profit, RejectPatterns, Scope, TrapRules, Waits};
use model::{ParameterList, UrlRules};
use parse::html::{KeptTags, Limits as ParseLimits, Options};
use search::{IndexSettings, Ranking};
use store::{PageSettings, StoreSettings};
use web::WebSettings;

use super::place::Login;
use super::sections::{ScopeSection, SearchSection};
use super::value::Value;
use super::{FILE, Settings, SiteMatch, SiteSection};
use crate::door::Door;
use crate::failure::WrongUse;

impl Settings {
    /// What the store is to know.
    pub(crate) fn store_settings(&self) -> StoreSettings {
        StoreSettings {
            bodies: PageSettings {
                roll_over_bytes: self.pages.roll_over.0,
                level: self.pages.compression_level,
                info: warc_info(),
                ..PageSettings::default()
            },
            changed_pages: self.memory.changed_pages as usize,
            changed_sites: self.memory.changed_sites as usize,
            cached_urls: self.memory.cached_urls as usize,
        }
    }

    /// What a server is to know that shows a collection at an address.
    pub(crate) fn web_settings(
        &self,
        folder: &Path,
        listen: SocketAddr,
        door: Door,
    ) -> Result<WebSettings, WrongUse> {
        let (names, rules, ranking) = (self.web.names.clone(), self.crawl_settings(folder)?, self.ranking());
        let (folder, Door { token, tls, .. }) = (folder.to_owned(), door);
        Ok(WebSettings { folder, listen, token, tls, names, rules, ranking })
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

    /// What a crawl is to know. Files that are named lie relative to the collection's folder.
    pub(crate) fn crawl_settings(&self, folder: &Path) -> Result<CrawlSettings, WrongUse> {
        let Settings { crawl, quality, politeness, sitemaps, revisit, dns, commit, .. } = self;
        Ok(CrawlSettings {
            robots_agent: crawl.agent.0.clone(),
            strategy: crawl.strategy,
            own_weights: quality.weights.weights(),
            profit: Profit {
                quality_exponent: quality.quality_exponent,
                freshness_exponent: quality.freshness_exponent,
                representation_exponent: quality.representation_exponent,
                aim: quality.aim,
            },
            discovery_share: quality.discovery_share,
            requests_per_day: crawl.requests_per_day,
            requests_per_site_per_day: crawl.requests_per_site_per_day,
            requests_per_second: f64::from(crawl.requests_per_second),
            batch_pages: crawl.batch_pages as usize,
            batch_pages_per_site: crawl.batch_pages_per_site as usize,
            threads: usize::from(crawl.threads),
            connections: crawl.connections as usize,
            names_at_once: dns.names_at_once as usize,
            names_per_second: dns.names_per_second,
            keep_connection_ms: ms(self.fetch.keep_connection),
            commit_every_ms: ms(commit.interval),
            commit_bytes: commit.bytes.0,
            robots_period_s: seconds(politeness.robots_period),
            robots_retry_s: seconds(politeness.robots_retry),
            sitemaps: sitemaps.read,
            robots_rdf: sitemaps.robots_rdf,
            sitemap_period_s: seconds(sitemaps.period),
            sitemap_urls: sitemaps.urls,
            sitemap_bytes: sitemaps.longest.0 as usize,
            longest_pause_ms: ms(crawl.longest_pause),
            links_of_duplicates: self.scope.links_of_duplicates,
            revisits: Revisits {
                ok_s: seconds(revisit.ok),
                not_ok_s: seconds(revisit.not_ok),
                error_s: seconds(revisit.error),
            },
            url_words: quality.url_words.clone(),
            gather: GatherSettings { focus: self.driving_query(folder)?, ..self.gathering()? },
            limits: self.limits(),
            waits: self.waits(),
            patience: self.patience(),
            fetch: self.fetching(folder)?,
            dns: self.resolving(),
            sites: self.site_overrides()?,
            clock: None,
        })
    }

    /// What is different for some sites. Headers for all are an entry that fits all, and come last.
    fn site_overrides(&self) -> Result<Vec<SiteOverride>, WrongUse> {
        let for_all = (!self.fetch.headers.is_empty()).then(SiteSection::default);
        let entry = |site: &SiteSection| {
            Ok(SiteOverride {
                sites: match site.site.clone() {
                    SiteMatch::Host(host) => crawl::SiteMatch::Host(host),
                    SiteMatch::Suffix(suffix) => crawl::SiteMatch::Suffix(suffix),
                    SiteMatch::Surt(start) => crawl::SiteMatch::Surt(start),
                },
                wait_ms: site.wait.map(ms),
                pages: site.pages,
                depth: site.depth,
                request: self.site_request(site)?,
                robots_agent: site.robots_agent.as_ref().map(|name| name.0.clone()),
                skip: site.skip.unwrap_or(false),
            })
        };
        self.sites.iter().chain(&for_all).map(entry).collect()
    }

    /// How pages are read.
    pub(crate) fn gathering(&self) -> Result<GatherSettings, WrongUse> {
        Ok(GatherSettings {
            rules: self.url_rules(),
            scope: self.scope()?,
            options: Options {
                limits: ParseLimits {
                    text_bytes: self.parse.text.0 as usize,
                    links: self.parse.links as usize,
                    ..ParseLimits::default()
                },
                agent: self.crawl.agent.0.to_ascii_lowercase(),
                keep: None,
            },
            level: self.pages.compression_level,
            keep_requests: self.pages.requests,
            focus: Focus::default(),
        })
    }

    /// How the index of the text is made.
    pub(crate) fn index_settings(&self) -> Result<IndexSettings, WrongUse> {
        Ok(IndexSettings {
            positions: self.search.positions,
            memory_bytes: self.search.memory.0 as usize,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            options: self.gathering()?.options,
        })
    }

    /// What makes one page a better answer than another.
    pub(crate) fn ranking(&self) -> Ranking {
        let SearchSection { title, headings, anchor, url, body, links, links_half, .. } = self.search;
        Ranking { title, headings, anchor, url, body, links, links_half }
    }

    /// Which URLs belong.
    pub(crate) fn scope(&self) -> Result<Scope, WrongUse> {
        let ScopeSection { accept, reject, schemes, front_page_only, .. } = &self.scope;
        let traps = &self.traps;
        Ok(Scope {
            accept: HostList::new(accept.iter().map(|suffix| &suffix.0)).map_err(wrong("scope.accept"))?,
            schemes: schemes.clone(),
            reject: RejectPatterns::new(reject.iter().map(|pattern| &pattern.0))
                .map_err(wrong("scope.reject"))?,
            extensions: self.extensions.lists(),
            front_page_only: *front_page_only,
            traps: TrapRules {
                url_bytes: traps.url.0 as usize,
                segments: usize::from(traps.segments),
                same_segment: usize::from(traps.same_segment),
                same_run: usize::from(traps.same_run),
                parameters: usize::from(traps.parameters),
                years: traps.years.as_ref().map(|years| years.0.clone()),
            },
        })
    }

    /// How large a site and the collection may become.
    pub(crate) fn limits(&self) -> Limits {
        let limits = &self.limits;
        Limits {
            depth_static: limits.depth_static,
            depth_dynamic: limits.depth_dynamic,
            pages_per_site: u64::from(limits.pages_per_site),
            pages: u64::from(limits.pages),
            sites: u64::from(limits.sites),
            redirects: limits.redirects,
            domain: DomainBudget {
                base: u64::from(limits.domain_pages),
                per_linking_domain: u64::from(limits.domain_pages_per_link),
                most: u64::from(limits.domain_pages_most),
            },
        }
    }

    /// How long a site is left alone between two requests.
    pub(crate) fn waits(&self) -> Waits {
        let polite = &self.politeness;
        Waits {
            wait_ms: ms(polite.wait),
            large_site_wait_ms: ms(polite.large_site_wait),
            large_site_pages: polite.large_site_pages,
            address_wait_ms: polite.address_wait.map(ms),
            most_crawl_delay_ms: ms(polite.most_crawl_delay),
        }
    }

    /// What happens after failures.
    pub(crate) fn patience(&self) -> Patience {
        let polite = &self.politeness;
        Patience {
            first_back_off_ms: ms(polite.back_off),
            most_back_off_ms: ms(polite.most_back_off),
            most_retry_after_ms: ms(polite.most_retry_after),
            site_errors: polite.site_errors,
            given_up_ms: ms(self.revisit.error),
            longest_wait_in_batch_ms: ms(polite.longest_wait_in_batch),
            page_failures: polite.tries,
            first_retry_ms: ms(polite.page_retry),
            most_retry_ms: ms(polite.most_page_retry),
        }
    }

    /// How pages are asked for. Files that are named lie relative to the collection's folder.
    pub(crate) fn fetching(&self, folder: &Path) -> Result<FetchSettings, WrongUse> {
        let written = &self.fetch;
        let mut networks = Networks::public();
        for network in &self.network.blocked {
            networks.block(&network.to_string()).map_err(wrong("network.blocked"))?;
        }
        for network in &self.network.allowed {
            networks.allow(&network.to_string()).map_err(wrong("network.allowed"))?;
        }
        Ok(FetchSettings {
            agent: self.user_agent(),
            from: if self.crawl.contact.contains('@') { self.crawl.contact.clone() } else { String::new() },
            accept_language: written.languages.clone(),
            media_types: written.media_types.clone(),
            connect_timeout: written.connect_timeout,
            first_byte_timeout: written.first_byte_timeout,
            total_timeout: written.total_timeout,
            least_bytes_per_s: u32::try_from(written.least_speed.0).unwrap_or(u32::MAX),
            speed_grace: written.speed_grace,
            head_bytes: written.head.0 as usize,
            body_bytes: written.body.0 as usize,
            http2: written.http2,
            accept_bad_certificates: written.bad_certificates,
            extra_roots_pem: self.extra_roots(folder)?,
            networks,
            proxy: written.proxy.as_ref().map(|proxy| Proxy {
                address: proxy.address,
                credentials: proxy.login.as_ref().map(credentials),
            }),
        })
    }

    /// Product, version and contact.
    fn user_agent(&self) -> String {
        let product = format!("{}/{}", self.crawl.agent.0, env!("CARGO_PKG_VERSION"));
        let contact = self.crawl.contact.trim_start_matches("mailto:");
        if contact.is_empty() { product } else { format!("{product} (+{contact})") }
    }

    fn extra_roots(&self, folder: &Path) -> Result<Vec<u8>, WrongUse> {
        let name = &self.fetch.roots.0;
        if name.as_os_str().is_empty() {
            return Ok(Vec::new());
        }
        let path = folder.join(name);
        fs::read(&path).map_err(|error| {
            WrongUse(format!(
                "{FILE}: fetch.roots: cannot read {}: {error}; write the name of a file, or \"\"",
                path.display()
            ))
        })
    }

    /// How names are resolved.
    pub(crate) fn resolving(&self) -> DnsSettings {
        let dns = &self.dns;
        DnsSettings {
            name_servers: dns.servers.iter().map(|server| server.0).collect(),
            hosts: dns.hosts.0.iter().map(|(host, address)| (host.clone(), *address)).collect(),
            timeout: dns.timeout,
            attempts: usize::from(dns.tries),
            least_ttl: dns.least_ttl,
            most_ttl: dns.most_ttl,
            failure_ttl: dns.failure_ttl,
            cache_entries: dns.cache as usize,
        }
    }

    /// What is sent with each request to some sites.
    fn site_request(&self, site: &SiteSection) -> Result<SiteRequest, WrongUse> {
        let own = site.headers.as_deref().unwrap_or_default();
        let is_own = |name: &str| own.iter().any(|header| header.name.eq_ignore_ascii_case(name));
        let general = self.fetch.headers.iter().filter(|header| !is_own(&header.name));
        let extras = SiteExtras {
            agent: None,
            headers: general.chain(own).map(|header| (header.name.clone(), header.value.clone())).collect(),
            cookie: site.cookies.clone(),
            credentials: site.login.as_ref().map(credentials),
        };
        SiteRequest::new(&extras)
            .map_err(|error| WrongUse(format!("{FILE}: [[site]] {}: {error}", site.site.write())))
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

fn ms(time: std::time::Duration) -> u64 {
    time.as_millis() as u64
}

fn seconds(time: std::time::Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}

fn credentials(login: &Login) -> Credentials {
    Credentials { user: login.user.clone(), password: login.password.clone() }
}

/// What a crate finds wrong with a setting.
fn wrong<E: std::fmt::Display>(name: &'static str) -> impl Fn(E) -> WrongUse {
    move |error| WrongUse(format!("{FILE}: {name}: {error}"))
}
