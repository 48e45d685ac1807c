//! Retry policy: the consequences of the result of a fetch for the page and for its site.
//!
//! Failures count against the site: a server that is overloaded or unreachable enters back-off as a whole, for a time that
//! doubles with each consecutive failure. A page is retried a few times, then given up with the last reason. Jitter is only
//! added, never subtracted: sites that failed together are not retried together, and none is contacted before the time in
//! its `Retry-After`.
//!
//! This module only decides; the caller sets the clocks. A site that would delay its batch is released instead, so that a
//! run does not end with idle connections and a few sites in back-off.

use model::Reason;

/// Parameters of back-off and retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Back-off of a site after one failure; doubled by each consecutive one. 30 s.
    pub initial_back_off_ms: u64,
    /// Maximum back-off caused by failures alone. 1 day.
    pub max_back_off_ms: u64,
    /// Upper bound for `Retry-After`. 1 day.
    pub max_retry_after_ms: u64,
    /// Number of consecutive failures after which a site leaves its batch. 5.
    pub max_site_errors: u16,
    /// Back-off of a site after twice `max_site_errors` consecutive fetches without any response, which lets a crawl
    /// finish. A site that responds with errors is exempt: when only its bad pages are left, they all fail. 30 days.
    pub unresponsive_site_back_off_ms: u64,
    /// Maximum back-off within a batch; a site with a longer one leaves the batch. 10 min.
    pub max_in_batch_delay_ms: u64,
    /// Number of failed fetches after which a page is given up. 3.
    pub max_page_failures: u16,
    /// Delay before the first retry of a page; multiplied by four for each further one. 10 min.
    pub initial_page_retry_ms: u64,
    /// Maximum delay before a retry of a page, apart from the back-off of its site. 1 day.
    pub max_page_retry_ms: u64,
}

/// Result of a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchEvent {
    /// Content, a redirect, or 304 (not modified).
    Success,
    /// Client error: most of 4xx.
    ClientError,
    /// Server error: most of 5xx.
    ServerError,
    /// The server asked to retry later: 429, 503, or 5xx with `Retry-After`.
    Throttled {
        /// Value of `Retry-After`, counted from the end of the response.
        retry_after_ms: Option<u64>,
    },
    /// No response, or an unusable one.
    NoResponse(Reason),
    /// robots.txt was unreachable, so the page was not requested.
    RobotsUnreachable,
}

/// Consequences of one fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryDecision {
    /// Back-off of the site, counted from the end of the fetch. The longer of this and the usual delay applies.
    pub site_back_off_ms: u64,
    /// Whether the site leaves the batch: its queued pages return to the manager, to be fetched after the back-off.
    pub releases_site: bool,
    /// Consecutive failures of the site, including this fetch.
    pub consecutive_errors: u16,
    /// Consequence for the page.
    pub page: PageDecision,
}

/// Consequence of a fetch for its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageDecision {
    /// The fetch is complete.
    Done,
    /// The page is retried after this delay, counted from the end of the fetch.
    Retry {
        /// At least the back-off of the site.
        delay_ms: u64,
    },
    /// The page has failed; the manager may select it again after the interval for failed pages.
    GiveUp(Reason),
}

/// Extent of a failure: nothing, the page, or the site.
enum FaultScope {
    None,
    /// This page only; other pages of the site may succeed.
    Page(Reason),
    /// The site: any of its pages could have failed.
    Site(Reason),
    /// The whole site: all its pages fail for now.
    SiteDown(Reason),
    /// The site; the page itself was not requested.
    Robots,
}

impl FetchEvent {
    /// Classifies an HTTP status; `retry_after_ms` is the value of `Retry-After`, if present.
    pub fn from_status(status: u16, retry_after_ms: Option<u64>) -> FetchEvent {
        match status {
            429 | 503 => FetchEvent::Throttled { retry_after_ms },
            500.. if retry_after_ms.is_some() => FetchEvent::Throttled { retry_after_ms },
            // 408 (request timeout) and 425 (too early): the same request may succeed later. A status above 599 is processed like
            // 5xx (RFC 9110, section 15).
            408 | 425 | 500.. => FetchEvent::ServerError,
            400..=499 => FetchEvent::ClientError,
            200..=399 => FetchEvent::Success,
            _ => FetchEvent::NoResponse(Reason::InvalidResponse),
        }
    }

    fn fault_scope(self) -> FaultScope {
        match self {
            FetchEvent::Success => FaultScope::None,
            FetchEvent::ClientError => FaultScope::Page(Reason::ClientError),
            FetchEvent::ServerError => FaultScope::Site(Reason::ServerError),
            FetchEvent::Throttled { .. } => FaultScope::Site(Reason::RetryLater),
            FetchEvent::RobotsUnreachable => FaultScope::Robots,
            FetchEvent::NoResponse(reason) => fault_scope_of(reason),
        }
    }
}

fn fault_scope_of(reason: Reason) -> FaultScope {
    match reason {
        Reason::DnsNotFound | Reason::IpBlocked | Reason::PortBlocked | Reason::InvalidCertificate => {
            FaultScope::SiteDown(reason)
        }
        Reason::DnsFailed
        | Reason::ConnectFailed
        | Reason::ConnectTimeout
        | Reason::TlsHandshakeFailed
        | Reason::FirstByteTimeout
        | Reason::TotalTimeout
        | Reason::TooSlow
        | Reason::ConnectionClosed
        | Reason::InvalidResponse
        | Reason::InvalidBody
        | Reason::ProxyFailed
        | Reason::ServerError
        | Reason::RetryLater => FaultScope::Site(reason),
        Reason::RobotsUnreachable => FaultScope::Robots,
        _ => FaultScope::Page(reason),
    }
}

/// Whether no response came at all, or none from a server that may be trusted.
fn is_no_response(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::DnsNotFound
            | Reason::DnsFailed
            | Reason::IpBlocked
            | Reason::PortBlocked
            | Reason::ConnectFailed
            | Reason::ConnectTimeout
            | Reason::InvalidCertificate
            | Reason::TlsHandshakeFailed
            | Reason::FirstByteTimeout
            | Reason::ProxyFailed
    )
}

impl RetryPolicy {
    /// Decides the consequences of a fetch.
    ///
    /// `consecutive_errors` counts failed fetches of the site and `page_failures` those of the page, both before this one;
    /// `jitter` is any random number.
    pub fn decide(
        &self,
        event: FetchEvent,
        consecutive_errors: u16,
        page_failures: u16,
        jitter: u64,
    ) -> RetryDecision {
        let (site_down, page) = match event.fault_scope() {
            FaultScope::None => return RetryDecision::without_back_off(0, PageDecision::Done),
            // A 4xx shows that the site works, so its count of failures is reset. Any other failure of a page is neutral.
            FaultScope::Page(reason) => {
                let errors = if event == FetchEvent::ClientError { 0 } else { consecutive_errors };
                return RetryDecision::without_back_off(errors, PageDecision::GiveUp(reason));
            }
            FaultScope::Robots => (false, None),
            FaultScope::Site(reason) => (false, Some(reason)),
            FaultScope::SiteDown(reason) => (true, Some(reason)),
        };
        let errors = consecutive_errors.saturating_add(1);
        let site_back_off_ms = self.site_back_off_ms(event, errors, jitter);
        let page = match page {
            None => PageDecision::Retry { delay_ms: site_back_off_ms },
            Some(reason) => self.decide_page(reason, page_failures, site_back_off_ms, jitter),
        };
        let too_long = site_back_off_ms > self.max_in_batch_delay_ms;
        let releases_site = site_down || too_long || errors >= self.max_site_errors;
        RetryDecision { site_back_off_ms, releases_site, consecutive_errors: errors, page }
    }

    fn site_back_off_ms(&self, event: FetchEvent, errors: u16, jitter: u64) -> u64 {
        let back_off_ms =
            exponential(self.initial_back_off_ms, 2, errors.saturating_sub(1)).min(self.max_back_off_ms);
        let min_ms = match event {
            FetchEvent::Throttled { retry_after_ms } => {
                retry_after_ms.unwrap_or(0).min(self.max_retry_after_ms)
            }
            FetchEvent::NoResponse(reason)
                if is_no_response(reason) && errors >= self.max_site_errors.saturating_mul(2) =>
            {
                self.unresponsive_site_back_off_ms
            }
            _ => 0,
        };
        with_jitter(back_off_ms.max(min_ms), jitter)
    }

    fn decide_page(&self, reason: Reason, failures: u16, site_back_off_ms: u64, jitter: u64) -> PageDecision {
        if failures.saturating_add(1) >= self.max_page_failures {
            return PageDecision::GiveUp(reason);
        }
        let delay_ms = exponential(self.initial_page_retry_ms, 4, failures).min(self.max_page_retry_ms);
        PageDecision::Retry { delay_ms: with_jitter(delay_ms, jitter).max(site_back_off_ms) }
    }
}

impl RetryDecision {
    fn without_back_off(consecutive_errors: u16, page: PageDecision) -> RetryDecision {
        RetryDecision { site_back_off_ms: 0, releases_site: false, consecutive_errors, page }
    }
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        const MINUTE_MS: u64 = 60_000;
        const DAY_MS: u64 = 24 * 60 * MINUTE_MS;
        RetryPolicy {
            initial_back_off_ms: MINUTE_MS / 2,
            max_back_off_ms: DAY_MS,
            max_retry_after_ms: DAY_MS,
            max_site_errors: 5,
            unresponsive_site_back_off_ms: 30 * DAY_MS,
            max_in_batch_delay_ms: 10 * MINUTE_MS,
            max_page_failures: 3,
            initial_page_retry_ms: 10 * MINUTE_MS,
            max_page_retry_ms: DAY_MS,
        }
    }
}

fn exponential(first_ms: u64, factor: u64, times: u16) -> u64 {
    first_ms.saturating_mul(factor.saturating_pow(u32::from(times)))
}

/// Adds up to a quarter; for the same random number, the result grows with the time.
fn with_jitter(time_ms: u64, jitter: u64) -> u64 {
    let extra = (u128::from(time_ms / 4) * u128::from(jitter)) >> 64;
    time_ms.saturating_add(extra as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MINUTE_MS: u64 = 60_000;
    const HOUR_MS: u64 = 60 * MINUTE_MS;
    const DAY_MS: u64 = 24 * HOUR_MS;

    /// Decision without jitter: back-off, whether the site is released, its errors, and the page.
    fn after(event: FetchEvent, errors: u16, failures: u16) -> (u64, bool, u16, PageDecision) {
        let decision = RetryPolicy::default().decide(event, errors, failures, 0);
        (decision.site_back_off_ms, decision.releases_site, decision.consecutive_errors, decision.page)
    }

    fn retry(delay_ms: u64) -> PageDecision {
        PageDecision::Retry { delay_ms }
    }

    #[test]
    #[rustfmt::skip]
    fn each_result_has_its_decision() {
        let timeout = FetchEvent::NoResponse(Reason::FirstByteTimeout);
        let throttled = |retry_after_ms| FetchEvent::Throttled { retry_after_ms };
        let give_up = PageDecision::GiveUp;
        let cases = [
            // A response ends the series of failures of a site.
            ((FetchEvent::Success, 4, 2), (0, false, 0, PageDecision::Done)),
            ((FetchEvent::ClientError, 4, 0), (0, false, 0, give_up(Reason::ClientError))),
            // Failures double the back-off; a page has three attempts; the fifth consecutive failure releases the site.
            ((FetchEvent::ServerError, 0, 0), (30_000, false, 1, retry(10 * MINUTE_MS))),
            ((FetchEvent::ServerError, 1, 1), (MINUTE_MS, false, 2, retry(40 * MINUTE_MS))),
            ((timeout, 2, 2), (2 * MINUTE_MS, false, 3, give_up(Reason::FirstByteTimeout))),
            ((timeout, 3, 0), (4 * MINUTE_MS, false, 4, retry(10 * MINUTE_MS))),
            ((timeout, 4, 0), (8 * MINUTE_MS, true, 5, retry(10 * MINUTE_MS))),
            ((timeout, 8, 0), (128 * MINUTE_MS, true, 9, retry(128 * MINUTE_MS))),
            // Ten times without a response lead to the long back-off; error responses do not.
            ((timeout, 9, 0), (30 * DAY_MS, true, 10, retry(30 * DAY_MS))),
            ((FetchEvent::ServerError, 9, 0), (256 * MINUTE_MS, true, 10, retry(256 * MINUTE_MS))),
            ((FetchEvent::ServerError, 60_000, 60_000), (DAY_MS, true, 60_001, give_up(Reason::ServerError))),
            ((FetchEvent::ServerError, u16::MAX, 0), (DAY_MS, true, u16::MAX, retry(DAY_MS))),
            // Throttled: the longer of Retry-After and the back-off; a batch never waits longer than its limit.
            ((throttled(None), 0, 0), (30_000, false, 1, retry(10 * MINUTE_MS))),
            ((throttled(Some(5_000)), 0, 0), (30_000, false, 1, retry(10 * MINUTE_MS))),
            ((throttled(Some(600_000)), 0, 0), (600_000, false, 1, retry(600_000))),
            ((throttled(Some(601_000)), 0, 0), (601_000, true, 1, retry(601_000))),
            ((throttled(Some(u64::MAX)), 0, 2), (DAY_MS, true, 1, give_up(Reason::RetryLater))),
            // A missing host or an invalid certificate affects all pages.
            ((FetchEvent::NoResponse(Reason::DnsNotFound), 0, 0), (30_000, true, 1, retry(10 * MINUTE_MS))),
            ((FetchEvent::NoResponse(Reason::InvalidCertificate), 0, 2), (30_000, true, 1, give_up(Reason::InvalidCertificate))),
            // A broken transfer is retried.
            ((FetchEvent::NoResponse(Reason::InvalidBody), 0, 0), (30_000, false, 1, retry(10 * MINUTE_MS))),
            // Headers that are too large say little about the site.
            ((FetchEvent::NoResponse(Reason::HeadersTooLarge), 3, 0), (0, false, 3, give_up(Reason::HeadersTooLarge))),
            // The page was not requested, so it is never given up.
            ((FetchEvent::RobotsUnreachable, 0, 9), (30_000, false, 1, retry(30_000))),
            ((FetchEvent::NoResponse(Reason::RobotsUnreachable), 7, 9), (64 * MINUTE_MS, true, 8, retry(64 * MINUTE_MS))),
        ];
        for ((event, errors, failures), expected) in cases {
            assert_eq!(after(event, errors, failures), expected, "{event:?} {errors} {failures}");
        }
    }

    #[test]
    fn statuses_are_classified() {
        let throttled = |retry_after_ms| FetchEvent::Throttled { retry_after_ms };
        let cases = [
            (200, None, FetchEvent::Success),
            (304, Some(1), FetchEvent::Success),
            (301, None, FetchEvent::Success),
            (404, Some(1), FetchEvent::ClientError),
            (408, None, FetchEvent::ServerError),
            (429, None, throttled(None)),
            (429, Some(1), throttled(Some(1))),
            (500, None, FetchEvent::ServerError),
            (502, Some(7), throttled(Some(7))),
            (503, None, throttled(None)),
            (999, None, FetchEvent::ServerError),
            (199, None, FetchEvent::NoResponse(Reason::InvalidResponse)),
            (0, None, FetchEvent::NoResponse(Reason::InvalidResponse)),
        ];
        for (status, retry_after_ms, expected) in cases {
            assert_eq!(FetchEvent::from_status(status, retry_after_ms), expected, "{status}");
        }
    }

    fn any_event() -> impl Strategy<Value = FetchEvent> {
        prop_oneof![
            Just(FetchEvent::Success),
            Just(FetchEvent::ClientError),
            Just(FetchEvent::ServerError),
            Just(FetchEvent::RobotsUnreachable),
            prop::option::of(prop_oneof![0..2 * DAY_MS, any::<u64>()])
                .prop_map(|retry_after_ms| FetchEvent::Throttled { retry_after_ms }),
            prop::sample::select(Reason::all().collect::<Vec<_>>()).prop_map(FetchEvent::NoResponse),
        ]
    }

    proptest! {
        #[test]
        fn no_site_is_contacted_before_its_retry_after(retry_after_ms: u64, errors: u16, failures: u16, jitter: u64) {
            let event = FetchEvent::Throttled { retry_after_ms: Some(retry_after_ms) };
            let decision = RetryPolicy::default().decide(event, errors, failures, jitter);
            prop_assert!(decision.site_back_off_ms >= retry_after_ms.min(DAY_MS));
            prop_assert!(decision.site_back_off_ms <= DAY_MS + DAY_MS / 4);
        }

        #[test]
        fn more_failures_never_shorten_the_back_off(event in any_event(), errors in 0u16..u16::MAX, failures: u16, jitter: u64) {
            let policy = RetryPolicy::default();
            let decision = policy.decide(event, errors, failures, jitter);
            let worse = policy.decide(event, errors + 1, failures, jitter);
            prop_assert!(worse.site_back_off_ms >= decision.site_back_off_ms);
            prop_assert!(worse.releases_site >= decision.releases_site);
        }

        #[test]
        fn jitter_only_adds_and_a_page_is_never_retried_before_its_site(event in any_event(), errors: u16, failures: u16, jitter: u64) {
            let policy = RetryPolicy::default();
            let (decision, exact) = (policy.decide(event, errors, failures, jitter), policy.decide(event, errors, failures, 0));
            prop_assert!(decision.site_back_off_ms >= exact.site_back_off_ms);
            if let (PageDecision::Retry { delay_ms }, PageDecision::Retry { delay_ms: min_ms }) = (decision.page, exact.page) {
                prop_assert!(delay_ms >= decision.site_back_off_ms && delay_ms >= min_ms);
            }
            // A site that stays in the batch never waits longer than the limit.
            prop_assert!(decision.releases_site || decision.site_back_off_ms <= policy.max_in_batch_delay_ms);
        }
    }

    #[test]
    fn sites_that_fail_together_are_retried_apart() {
        let back_off =
            |jitter| RetryPolicy::default().decide(FetchEvent::ServerError, 3, 0, jitter).site_back_off_ms;
        assert_eq!((back_off(0), back_off(u64::MAX / 2), back_off(u64::MAX)), (240_000, 269_999, 299_999));
    }
}
