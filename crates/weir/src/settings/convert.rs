//! Conversion of the settings to the typed settings of the other crates.

use std::net::SocketAddr;
use std::path::Path;

use fetch::{
    BasicCredentials, DnsSettings, FetchSettings, NetworkFilter, Proxy, SiteHeaders, SiteRequestSettings,
};
use frontier::{
    DomainBudget, Limits, Politeness, PollIntervals, PriorityModel, RetryPolicy, Scope, ScopeRules,
    SiteScope, SiteScopes, TemplateLimits, TrapLimits,
};
use harvest::{CommitSettings, LookupLimits, RobotsSettings, SitemapSettings};
use harvest::{CrawlSettings, Focus, GatherSettings, RevisitIntervals, SiteOverride};
use model::{ParameterList, PortFilter, UrlRules};
use parse::html::{Limits as ParseLimits, Options, TagAllowlist};
use search::{IndexSettings, Ranking};
use store::{PageStoreSettings, StoreSettings};
use web::WebSettings;

use super::network_values::BasicAuth;
use super::sections::{RobotsObedience, ScopeRule, ScopeSection};
use super::value::Value;
use super::{FILE, Settings, SiteMatch, SiteSection};
use crate::exit::UsageError;
use crate::server_auth::ServerAuth;

/// Maximum size of a file of certificates.
const MAX_CA_BYTES: u64 = 16 << 20;

impl Settings {
    /// Settings of the store.
    pub(crate) fn store_settings(&self) -> StoreSettings {
        StoreSettings {
            page_store: PageStoreSettings {
                max_file_bytes: self.warc.max_file_size.0,
                compression_level: self.warc.compression_level,
                warcinfo: self.warc_info(),
                ..PageStoreSettings::default()
            },
            max_dirty_pages: self.memory.max_dirty_pages as usize,
            max_dirty_sites: self.memory.max_dirty_sites as usize,
            url_cache_entries: self.memory.url_cache_entries as usize,
        }
    }

    /// Fields of the `warcinfo` record: the program, and the sites whose robots.txt is ignored.
    fn warc_info(&self) -> Vec<(String, String)> {
        let sites = self.sites_without_robots();
        let robots =
            (!sites.is_empty()).then(|| ("robots".to_owned(), format!("ignored for {}", sites.join(", "))));
        warc_info().into_iter().chain(robots).collect()
    }

    /// Patterns of the sites whose robots.txt is ignored.
    pub(crate) fn sites_without_robots(&self) -> Vec<String> {
        let sites = self.sites.iter().filter(|site| site.robots == Some(RobotsObedience::Ignore));
        sites.map(|site| site.r#match.write().trim_matches('"').to_owned()).collect()
    }

    /// Settings of the web server.
    pub(crate) fn web_settings(
        &self,
        dir: &Path,
        listen: SocketAddr,
        auth: ServerAuth,
    ) -> Result<WebSettings, UsageError> {
        let ServerAuth { token, tls, .. } = auth;
        Ok(WebSettings {
            dir: dir.to_owned(),
            listen,
            token,
            tls,
            allowed_hosts: self.web.allowed_hosts.clone(),
            crawl: self.crawl_settings(dir)?,
            ranking: self.ranking(),
        })
    }

    /// Rules of URL canonicalisation.
    pub(crate) fn url_rules(&self) -> UrlRules {
        let list = |names: &[String]| ParameterList::new(names.iter().map(String::as_str));
        let scope = &self.scope;
        UrlRules {
            drop_session_ids: !(scope.session_parameters.is_empty()
                && scope.session_hash_parameters.is_empty()),
            session_parameters: list(&scope.session_parameters),
            session_hash_parameters: list(&scope.session_hash_parameters),
            drop_tracking: !scope.tracking_parameters.is_empty(),
            tracking_parameters: list(&scope.tracking_parameters),
            sort_query: scope.sort_query,
            max_length_bytes: scope.max_url_length.0 as u16,
        }
    }

    /// Settings of a crawl. File names are relative to the collection directory.
    pub(crate) fn crawl_settings(&self, dir: &Path) -> Result<CrawlSettings, UsageError> {
        let Settings { crawl, quality, politeness, sitemaps, revisit, dns, commit, .. } = self;
        Ok(CrawlSettings {
            robots: RobotsSettings {
                agent: crawl.agent.0.clone(),
                max_age_s: seconds(politeness.robots_ttl),
                retry_s: seconds(politeness.robots_retry_delay),
            },
            sitemaps: SitemapSettings {
                enabled: sitemaps.enabled,
                robots_rdf: sitemaps.robots_rdf,
                default_path: sitemaps.default_path,
                max_urls: sitemaps.max_urls_per_site,
                max_bytes: sitemaps.max_size.0 as usize,
            },
            commits: CommitSettings { interval_ms: ms(commit.interval), max_bytes: commit.max_bytes.0 },
            lookups: LookupLimits {
                max_concurrent: dns.max_concurrent_queries as usize,
                max_per_second: dns.max_queries_per_second,
            },
            strategy: crawl.strategy,
            weight_overrides: quality.weights.weights(),
            priority: PriorityModel {
                quality_exponent: quality.quality_exponent,
                freshness_exponent: quality.freshness_exponent,
                representation_exponent: quality.representation_exponent,
                objective: quality.objective,
            },
            min_discovery_share: quality.discovery_share,
            max_requests_per_day: crawl.max_requests_per_day,
            max_requests_per_site_per_day: crawl.max_requests_per_site_per_day,
            max_requests_per_second: f64::from(crawl.max_requests_per_second),
            max_batch_pages: crawl.max_batch_pages as usize,
            max_batch_pages_per_site: crawl.max_batch_pages_per_site as usize,
            threads: usize::from(crawl.threads),
            max_connections: crawl.max_connections as usize,
            keep_alive_ms: ms(self.fetch.keep_alive),
            max_idle_ms: ms(crawl.max_idle),
            follow_links_of_duplicates: self.scope.follow_duplicates,
            revisits: RevisitIntervals {
                success_s: seconds(revisit.min_interval_ok),
                client_error_s: seconds(revisit.min_interval_client_error),
                failure_s: seconds(revisit.min_interval_failed),
                polls: PollIntervals {
                    min_s: seconds(revisit.min_poll_interval),
                    max_s: seconds(revisit.max_poll_interval),
                },
            },
            url_patterns: quality.url_keywords.clone(),
            gathering: GatherSettings { focus: self.focus_query(dir)?, ..self.gather_settings()? },
            limits: self.limits(),
            politeness: self.politeness(),
            retry: self.retry_policy(),
            fetch: self.fetch_settings(dir)?,
            dns: self.dns_settings(),
            site_overrides: self.site_overrides()?,
            setting_digests: self.setting_digests(),
            clock: None,
        })
    }

    /// Overrides of `[[site]]` entries. Headers for all sites are a last entry that matches every site.
    fn site_overrides(&self) -> Result<Vec<SiteOverride>, UsageError> {
        let for_all = (!self.fetch.headers.is_empty()).then(SiteSection::default);
        let entry = |site: &SiteSection| {
            Ok(SiteOverride {
                sites: match site.r#match.clone() {
                    SiteMatch::Host(host) => harvest::SiteMatch::Host(host),
                    SiteMatch::Suffix(suffix) => harvest::SiteMatch::Suffix(suffix),
                    SiteMatch::Surt(start) => harvest::SiteMatch::Surt(start),
                },
                delay_ms: site.delay.map(ms),
                max_pages: site.max_pages,
                max_depth: site.max_depth,
                headers: self.site_request(site)?,
                robots_agent: site.robots_agent.as_ref().map(|name| name.0.clone()),
                ignores_robots: site.robots == Some(RobotsObedience::Ignore),
                skip: site.skip.unwrap_or(false),
            })
        };
        self.sites.iter().chain(&for_all).map(entry).collect()
    }

    /// Settings of the gatherer.
    pub(crate) fn gather_settings(&self) -> Result<GatherSettings, UsageError> {
        Ok(GatherSettings {
            rules: self.url_rules(),
            scope: self.scope()?,
            options: Options {
                limits: ParseLimits {
                    text_bytes: self.parse.max_text_size.0 as usize,
                    links: self.parse.max_links as usize,
                    ..ParseLimits::default()
                },
                agent: self.crawl.agent.0.to_ascii_lowercase(),
                simplify: None,
            },
            followed_kinds: self.parse.link_elements.iter().map(|element| element.0).collect(),
            compression_level: self.warc.compression_level,
            store_requests: self.warc.request_records,
            focus: Focus::default(),
        })
    }

    /// Settings of the text index.
    pub(crate) fn index_settings(&self) -> Result<IndexSettings, UsageError> {
        Ok(IndexSettings {
            positions: self.search.positions,
            memory_bytes: self.search.index_memory.0 as usize,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            parse_options: self.gather_settings()?.options,
        })
    }

    /// Product token of the crawler.
    pub(crate) fn agent(&self) -> &str {
        &self.crawl.agent.0
    }

    /// Ranking weights of the search.
    pub(crate) fn ranking(&self) -> Ranking {
        let search = &self.search;
        Ranking {
            title: search.title_weight,
            headings: search.headings_weight,
            anchor: search.anchor_weight,
            url: search.url_weight,
            body: search.body_weight,
            pagerank: search.pagerank_weight,
            pagerank_half: search.pagerank_half,
        }
    }

    /// Scope of the crawl.
    pub(crate) fn scope(&self) -> Result<Scope, UsageError> {
        let ScopeSection { accept, reject, hops_outside, schemes, enter_by_front_page, .. } = &self.scope;
        let traps = &self.traps;
        Ok(Scope {
            accept: scope_rules(accept).map_err(invalid("scope.accept"))?,
            reject: scope_rules(reject).map_err(invalid("scope.reject"))?,
            sites: self.site_scopes()?,
            hops_outside: *hops_outside,
            schemes: schemes.clone(),
            ports: PortFilter::new(self.network.allowed_ports.clone()),
            extensions: self.extensions.lists(),
            enter_by_front_page: *enter_by_front_page,
            traps: TrapLimits {
                url_bytes: traps.max_url_length.0 as usize,
                path_segments: usize::from(traps.max_path_segments),
                segment_repeats: usize::from(traps.max_segment_repeats),
                segment_run_repeats: usize::from(traps.max_sequence_repeats),
                query_parameters: usize::from(traps.max_query_parameters),
                calendar_years: traps.calendar_years.as_ref().map(|years| years.0.clone()),
            },
        })
    }

    /// Rules of the `[[site]]` entries that have some.
    fn site_scopes(&self) -> Result<SiteScopes, UsageError> {
        let mut entries = Vec::new();
        for site in &self.sites {
            let own = |rules: &Option<Vec<ScopeRule>>| scope_rules(rules.as_deref().unwrap_or_default());
            let scope = SiteScope {
                accept: own(&site.accept).map_err(invalid("site.accept"))?,
                reject: own(&site.reject).map_err(invalid("site.reject"))?,
            };
            let selector = match &site.r#match {
                SiteMatch::Host(host) => format!("http://{host}"),
                SiteMatch::Suffix(suffix) => suffix.clone(),
                SiteMatch::Surt(surt) => surt.clone(),
            };
            // An entry without rules hides later entries for the same sites, as for all other settings.
            entries.push((selector, scope));
        }
        let has_rules =
            |(_, scope): &(String, SiteScope)| !scope.accept.is_empty() || !scope.reject.is_empty();
        if !entries.iter().any(has_rules) {
            return Ok(SiteScopes::default());
        }
        SiteScopes::new(entries).map_err(invalid("site.match"))
    }

    /// Size limits.
    pub(crate) fn limits(&self) -> Limits {
        let limits = &self.limits;
        Limits {
            depth_static: limits.max_depth_static,
            depth_dynamic: limits.max_depth_dynamic,
            pages_per_site: u64::from(limits.max_pages_per_site),
            pages: u64::from(limits.max_pages),
            sites: u64::from(limits.max_sites),
            redirects: limits.max_redirects,
            domain: DomainBudget {
                base_pages: u64::from(limits.domain_budget_base),
                pages_per_linking_domain: u64::from(limits.domain_budget_per_linking_domain),
                max_pages: u64::from(limits.domain_budget_max),
            },
            templates: TemplateLimits {
                pages: u64::from(self.traps.max_pages_per_template),
                site_pages: u64::from(self.traps.max_unsupported_pages_per_site),
                pages_per_evidence: u64::from(self.traps.pages_per_supporting_link),
                max_groups: self.traps.max_templates as usize,
            },
        }
    }

    /// Delays between requests.
    pub(crate) fn politeness(&self) -> Politeness {
        let politeness = &self.politeness;
        Politeness {
            site_delay_ms: ms(politeness.delay),
            large_site_delay_ms: ms(politeness.large_site_delay),
            large_site_min_pages: politeness.large_site_pages,
            address_delay_ms: politeness.ip_delay.map(ms),
            max_crawl_delay_ms: ms(politeness.max_crawl_delay),
        }
    }

    /// Retries and back-off.
    pub(crate) fn retry_policy(&self) -> RetryPolicy {
        let politeness = &self.politeness;
        RetryPolicy {
            initial_back_off_ms: ms(politeness.back_off),
            max_back_off_ms: ms(politeness.max_back_off),
            max_retry_after_ms: ms(politeness.max_retry_after),
            max_site_errors: politeness.max_site_failures,
            unresponsive_site_back_off_ms: ms(self.revisit.min_interval_failed),
            max_in_batch_delay_ms: ms(politeness.max_delay_in_batch),
            max_page_failures: politeness.max_attempts,
            initial_page_retry_ms: ms(politeness.retry_delay),
            max_page_retry_ms: ms(politeness.max_retry_delay),
        }
    }

    /// Settings of the HTTP client. File names are relative to the collection directory.
    pub(crate) fn fetch_settings(&self, dir: &Path) -> Result<FetchSettings, UsageError> {
        let fetch = &self.fetch;
        let mut networks = NetworkFilter::public();
        for network in &self.network.blocked_networks {
            networks.block(&network.to_string()).map_err(invalid("network.blocked_networks"))?;
        }
        for network in &self.network.allowed_networks {
            networks.allow(&network.to_string()).map_err(invalid("network.allowed_networks"))?;
        }
        Ok(FetchSettings {
            user_agent: self.user_agent(),
            from: if self.crawl.contact.contains('@') { self.crawl.contact.clone() } else { String::new() },
            accept_language: fetch.accept_language.clone(),
            mime_types: fetch.mime_types.clone(),
            connect_timeout: fetch.connect_timeout,
            first_byte_timeout: fetch.first_byte_timeout,
            total_timeout: fetch.total_timeout,
            min_bytes_per_s: u32::try_from(fetch.min_speed.0).unwrap_or(u32::MAX),
            min_speed_grace: fetch.min_speed_grace,
            max_head_bytes: fetch.max_header_size.0 as usize,
            max_body_bytes: fetch.max_body_size.0 as usize,
            max_body_memory_bytes: fetch.max_body_memory.0 as usize,
            http2: fetch.http2,
            accept_invalid_certificates: fetch.accept_invalid_certificates,
            extra_ca_pem: self.ca_pem(dir)?,
            network_filter: networks,
            port_filter: PortFilter::new(self.network.allowed_ports.clone()),
            proxy: fetch.proxy.as_ref().map(|proxy| Proxy {
                address: proxy.address,
                credentials: proxy.basic_auth.as_ref().map(credentials),
            }),
        })
    }

    /// User-Agent: product, version and contact.
    fn user_agent(&self) -> String {
        let product = format!("{}/{}", self.crawl.agent.0, env!("CARGO_PKG_VERSION"));
        let contact = self.crawl.contact.trim_start_matches("mailto:");
        if contact.is_empty() { product } else { format!("{product} (+{contact})") }
    }

    fn ca_pem(&self, dir: &Path) -> Result<Vec<u8>, UsageError> {
        let name = &self.fetch.ca_file.0;
        if name.as_os_str().is_empty() {
            return Ok(Vec::new());
        }
        let path = dir.join(name);
        store::read_limited(&path, MAX_CA_BYTES).map_err(|error| {
            UsageError(format!("{FILE}: fetch.ca_file: cannot read {}: {error}", path.display()))
        })
    }

    /// Settings of the resolver.
    pub(crate) fn dns_settings(&self) -> DnsSettings {
        let dns = &self.dns;
        DnsSettings {
            name_servers: dns.servers.iter().map(|server| server.0).collect(),
            hosts: dns.hosts.0.iter().map(|(host, address)| (host.clone(), *address)).collect(),
            timeout: dns.timeout,
            max_attempts: usize::from(dns.max_attempts),
            min_ttl: dns.min_ttl,
            max_ttl: dns.max_ttl,
            negative_ttl: dns.negative_ttl,
            max_cache_entries: dns.max_cache_entries as usize,
        }
    }

    /// Headers, cookies and credentials of the requests to a site.
    fn site_request(&self, site: &SiteSection) -> Result<SiteHeaders, UsageError> {
        let own = site.headers.as_deref().unwrap_or_default();
        let is_own = |name: &str| own.iter().any(|header| header.name.eq_ignore_ascii_case(name));
        let general = self.fetch.headers.iter().filter(|header| !is_own(&header.name));
        let extras = SiteRequestSettings {
            user_agent: None,
            headers: general.chain(own).map(|header| (header.name.clone(), header.value.clone())).collect(),
            cookie: site.cookies.clone(),
            credentials: site.basic_auth.as_ref().map(credentials),
        };
        SiteHeaders::new(&extras)
            .map_err(|error| UsageError(format!("{FILE}: [[site]] {}: {error}", site.r#match.write())))
    }

    /// Tags and attributes of the simplified HTML.
    pub(crate) fn simplified_tags(&self) -> TagAllowlist {
        let words =
            |list: &'_ [String]| list.iter().map(|word| word.to_ascii_lowercase()).collect::<Vec<_>>();
        let (tags, attributes) =
            (words(&self.parse.simplified_tags), words(&self.parse.simplified_attributes));
        TagAllowlist::new(tags.iter().map(String::as_str), attributes.iter().map(String::as_str))
    }
}

/// Fields of the `warcinfo` record.
pub(crate) fn warc_info() -> Vec<(String, String)> {
    vec![("software".to_owned(), concat!("weir/", env!("CARGO_PKG_VERSION")).to_owned())]
}

fn scope_rules(rules: &[ScopeRule]) -> Result<ScopeRules, frontier::Error> {
    ScopeRules::new(rules.iter().map(|rule| &rule.0))
}

fn ms(time: std::time::Duration) -> u64 {
    time.as_millis() as u64
}

fn seconds(time: std::time::Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}

fn credentials(basic_auth: &BasicAuth) -> BasicCredentials {
    BasicCredentials { user: basic_auth.user.clone(), password: basic_auth.password.clone() }
}

/// Prepends the name of a setting to an error.
fn invalid<E: std::fmt::Display>(name: &'static str) -> impl Fn(E) -> UsageError {
    move |error| UsageError(format!("{FILE}: {name}: {error}"))
}
