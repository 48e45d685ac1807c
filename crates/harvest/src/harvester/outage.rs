//! Check for outages of the network, which give timeouts as dead servers do.
//!
//! A timeout is a failure of the site if any other server has responded shortly before, as is nearly always the case in a large
//! crawl. Otherwise something else is tried: servers that responded before in this run, and the name server. If they
//! do not respond either, the network is the cause, and the request is repeated later. Without anything to compare with, as
//! in a crawl of dead sites only, the timeout counts as a failure of the site.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fetch::{Connection, FetchRequest, Fetcher, LocalFault, Resolver, Response};
use model::{CanonicalUrl, Reason};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::control::local_faults;
use crate::control::local_faults::{LocalFaults, MAX_BACK_OFF};
use crate::settings::crawl_settings::CrawlSettings;

/// Maximum number of servers that a check contacts.
const MAX_CHECKED_SERVERS: usize = 4;
/// Minimum number of servers that must be gone together before the network is blamed; one can be switched off.
const MIN_GONE_SERVERS: usize = 2;
/// Maximum age of a response that shows that the network works. A network can fail at any time during a request, so that
/// responses at the beginning of its timeout show nothing.
const RECENT_RESPONSE: Duration = Duration::from_secs(2);
/// Status of a proxy that requires other credentials, or any (RFC 9110, section 15.5.8).
const PROXY_AUTHENTICATION_REQUIRED: u16 = 407;
/// Maximum age of another response through the proxy that shows that it accepts the credentials, so that a status of 407 is that
/// of the site. Credentials are rarely changed during a crawl; in a crawl of few sites responses are seconds apart.
const RECENT_PROXY_RESPONSE: Duration = Duration::from_secs(120);
/// Timeout of a connection to a server that responded before.
const CHECK_TIMEOUT: Duration = Duration::from_secs(4);
/// Maximum duration of an outage that only the servers suggest, while the name server responds: perhaps they have been
/// switched off. The crawl must end, too, when all servers are gone for good.
const MAX_UNCONFIRMED_OUTAGE: Duration = Duration::from_secs(600);

/// Fetcher whose failures are checked for an outage.
pub(super) struct CheckedFetcher {
    pub(super) faults: Arc<LocalFaults>,
    pub(super) settings: Arc<CrawlSettings>,
    pub(super) fetcher: Rc<Fetcher>,
    /// Whether the request tries whether a fault has ended.
    pub(super) is_probe: bool,
}

/// Evidence for or against an outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Evidence {
    /// Servers that responded before and were contacted again, and whether any of them is reachable.
    servers: usize,
    any_reachable: bool,
    /// Whether the name server is healthy; `None` if the address of the site does not depend on it.
    name_server: Option<bool>,
    /// Time without any response.
    silence: Duration,
}

impl Evidence {
    fn is_outage(&self) -> bool {
        if self.any_reachable {
            return false;
        }
        self.name_server == Some(false)
            || self.servers >= MIN_GONE_SERVERS && self.silence < MAX_UNCONFIRMED_OUTAGE
    }
}

impl CheckedFetcher {
    /// Sends one request. The failure is marked as a local fault if the network is down.
    pub(super) async fn fetch(
        &self,
        request: &FetchRequest<'_>,
        reusable: Option<Connection>,
    ) -> (Response, Option<Connection>) {
        let started = local_faults::now();
        let (mut response, connection) = self.fetcher.fetch(request, reusable).await;
        self.examine(&mut response, request.url, started).await;
        (response, connection)
    }

    /// Records a response, or marks a failure as a local fault if the network is down.
    async fn examine(&self, response: &mut Response, url: &CanonicalUrl, started: Instant) {
        let has_proxy = self.settings.fetch.proxy.is_some();
        if response.status == PROXY_AUTHENTICATION_REQUIRED && has_proxy {
            // It is no sign that the proxy accepts the credentials, whichever of the two sent it.
            let now = local_faults::now();
            let recently = now.checked_sub(RECENT_PROXY_RESPONSE).unwrap_or(started);
            if self.faults.has_response_since(recently) {
                response.local_fault = None;
            }
            return;
        }
        if response.local_fault.is_some() {
            return;
        }
        if has_responded(response) {
            // Behind a proxy the address of the site cannot be contacted directly.
            let server = response.address.filter(|_| !has_proxy);
            let server = server.map(|address| SocketAddr::new(address, url.port()));
            self.faults.record_response(server, local_faults::now());
        } else if is_suspicious(response) && !has_proxy && self.is_outage(response, url, started).await {
            response.local_fault = Some(LocalFault::NetworkOutage);
        }
    }

    async fn is_outage(&self, response: &Response, url: &CanonicalUrl, started: Instant) -> bool {
        // Others may have responded before the fault and after it.
        if !self.is_probe && self.faults.had_network_fault_since(started) {
            return true;
        }
        let failed = local_faults::now();
        let recently = failed - RECENT_RESPONSE.min(failed.saturating_duration_since(started) / 2);
        if self.faults.has_response_since(recently) {
            return false;
        }
        // Requests that fail within a short time share one check: servers must not be contacted at each timeout.
        let mut last_check = self.faults.last_check.lock().await;
        if self.faults.has_response_since(recently) {
            return false;
        }
        if let Some((time, was_outage)) = last_check.filter(|(time, _)| failed < *time + MAX_BACK_OFF)
            && !(was_outage && self.faults.has_response_since(time))
        {
            return was_outage;
        }
        let is_outage = self.collect(response, url).await.is_outage();
        *last_check = Some((local_faults::now(), is_outage));
        is_outage
    }

    /// Contacts what responded before.
    async fn collect(&self, response: &Response, url: &CanonicalUrl) -> Evidence {
        let responders = |address| self.faults.responders(address, local_faults::now());
        let mut servers = response.address.map(responders).unwrap_or_default();
        servers.truncate(MAX_CHECKED_SERVERS);
        let (any_reachable, name_server) =
            tokio::join!(self.any_reachable(&servers), self.check_name_server(url));
        let now = local_faults::now();
        if any_reachable {
            self.faults.record_response(None, now);
        }
        let silence = self.faults.silence(now);
        Evidence { servers: servers.len(), any_reachable, name_server, silence }
    }

    async fn any_reachable(&self, servers: &[SocketAddr]) -> bool {
        let mut checks = JoinSet::new();
        for server in servers.iter().copied() {
            let fetcher = Rc::clone(&self.fetcher);
            checks.spawn_local(async move {
                timeout(CHECK_TIMEOUT, fetcher.is_reachable(server)).await.unwrap_or(false)
            });
        }
        while let Some(ended) = checks.join_next().await {
            if ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())) {
                return true;
            }
        }
        false
    }

    /// Health of the name server; `None` if the host needs none, or there is none.
    async fn check_name_server(&self, url: &CanonicalUrl) -> Option<bool> {
        let resolver =
            Resolver::new(&self.settings.dns).ok().filter(|resolver| !resolver.is_static(url.host()))?;
        Some(resolver.is_healthy(Some(url.host())).await)
    }
}

/// Whether something arrived from the server: a response, a refusal or the end of the connection.
fn has_responded(response: &Response) -> bool {
    response.status != 0
        || response.latency_ms.is_some()
        || match response.failure {
            Some(Reason::ConnectFailed) => !response.is_unreachable,
            Some(
                Reason::InvalidCertificate
                | Reason::TlsHandshakeFailed
                | Reason::ConnectionClosed
                | Reason::InvalidResponse
                | Reason::HeadersTooLarge
                | Reason::ProxyFailed,
            ) => true,
            _ => false,
        }
}

/// Whether a failure can be caused by the network.
pub(super) fn is_suspicious(response: &Response) -> bool {
    response.is_unreachable
        || matches!(
            response.failure,
            Some(Reason::ConnectTimeout | Reason::FirstByteTimeout | Reason::TotalTimeout | Reason::TooSlow)
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Evidence =
        Evidence { servers: 0, any_reachable: false, name_server: None, silence: Duration::ZERO };

    #[test]
    fn without_anything_to_compare_with_the_site_is_judged_as_usual() {
        assert!(!NOTHING.is_outage());
        assert!(!Evidence { servers: 1, ..NOTHING }.is_outage(), "one server can be switched off");
        assert!(!Evidence { name_server: Some(true), ..NOTHING }.is_outage());
    }

    #[test]
    fn the_network_is_down_if_nothing_that_responded_before_responds() {
        assert!(Evidence { servers: 2, ..NOTHING }.is_outage());
        assert!(Evidence { servers: 2, name_server: Some(true), ..NOTHING }.is_outage());
        assert!(Evidence { name_server: Some(false), ..NOTHING }.is_outage());
        let reachable = Evidence { servers: 4, any_reachable: true, name_server: Some(false), ..NOTHING };
        assert!(!reachable.is_outage());
    }

    #[test]
    fn an_outage_without_confirmation_by_the_name_server_ends_after_ten_minutes() {
        let long = Evidence { servers: 3, silence: MAX_UNCONFIRMED_OUTAGE, ..NOTHING };
        assert!(!long.is_outage());
        assert!(!Evidence { name_server: Some(true), ..long }.is_outage());
        assert!(Evidence { name_server: Some(false), ..long }.is_outage());
    }

    #[tokio::test]
    async fn a_status_of_407_is_that_of_the_site_if_the_proxy_has_just_passed_another_response() {
        let proxy =
            Some(fetch::Proxy { address: SocketAddr::from(([192, 0, 2, 1], 3128)), credentials: None });
        let mut settings = CrawlSettings::default();
        settings.fetch.proxy = proxy;
        let checked = CheckedFetcher {
            faults: Arc::default(),
            settings: Arc::new(settings),
            fetcher: Rc::new(Fetcher::new(Arc::default()).unwrap()),
            is_probe: false,
        };
        let url = model::UrlRules::default().canonical("http://a.example/").unwrap();
        let rejection = Response {
            status: 407,
            local_fault: Some(LocalFault::ProxyAuthentication),
            ..Response::default()
        };
        let examine = async |response: &Response| {
            let mut response = response.clone();
            checked.examine(&mut response, &url, local_faults::now()).await;
            response.local_fault
        };
        for _ in 0..2 {
            assert_eq!(examine(&rejection).await, rejection.local_fault, "nothing has passed the proxy");
        }
        assert_eq!(examine(&Response { status: 404, ..Response::default() }).await, None);
        assert_eq!(examine(&rejection).await, None);
    }

    #[test]
    fn only_timeouts_and_unreachable_hosts_are_suspicious() {
        let response = |failure, is_unreachable| Response {
            failure: Some(failure),
            is_unreachable,
            ..Response::default()
        };
        for failure in
            [Reason::ConnectTimeout, Reason::FirstByteTimeout, Reason::TotalTimeout, Reason::TooSlow]
        {
            assert!(is_suspicious(&response(failure, false)) && !has_responded(&response(failure, false)));
        }
        assert!(is_suspicious(&response(Reason::ConnectFailed, true)));
        for failure in [Reason::ConnectFailed, Reason::ConnectionClosed, Reason::InvalidCertificate] {
            assert!(has_responded(&response(failure, false)) && !is_suspicious(&response(failure, false)));
        }
        for failure in [Reason::IpBlocked, Reason::MimeType, Reason::SchemeNotAllowed] {
            assert!(!has_responded(&response(failure, false)) && !is_suspicious(&response(failure, false)));
        }
    }
}
