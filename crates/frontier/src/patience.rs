//! What does the outcome of a visit mean for the page, and for its site?
//!
//! Trouble is the site's: a server that is overloaded or gone is left alone as a whole, for a time that doubles with each
//! failure in a row. A page is tried again a few times, then given up with the last reason. Jitter only ever adds, so that
//! sites which failed together do not come back together, and none comes back before the time it asked for.
//!
//! Nothing is done here: the verdict says how long, and the caller sets the clocks. A site that would hold a batch up is
//! handed back instead of waited for, so that no run ends with idle hands and a few sites that back off.

use model::Reason;

/// When to come back, and when to give up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patience {
    /// How long a site is left alone after one failure; each further one in a row doubles it. 30 s.
    pub first_back_off_ms: u64,
    /// The longest that failures alone keep a site alone. A day.
    pub most_back_off_ms: u64,
    /// The longest `Retry-After` that is obeyed to the letter. A day.
    pub most_retry_after_ms: u64,
    /// A site is given up for its batch after so many failures in a row. 5.
    pub site_errors: u16,
    /// How long a site is left alone that gave no answer at all in twice that many visits, however far apart: a crawl must
    /// come to an end. One that answers, if badly, is not given up for that: when only bad pages are left, they fail in a
    /// row. 30 days.
    pub given_up_ms: u64,
    /// A site that has to be left alone for longer goes back to the manager instead. 10 min.
    pub longest_wait_in_batch_ms: u64,
    /// A page is given up after so many failed visits. 3.
    pub page_failures: u16,
    /// How long until a page is tried again after one failure; each further one makes it four times as long. 10 min.
    pub first_retry_ms: u64,
    /// The longest time until a page is tried again on its own account. A day.
    pub most_retry_ms: u64,
}

/// How a visit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The server answered as it should: content, a redirect, or that nothing has changed.
    Ok,
    /// The server answered that there is nothing for us: most of 4xx.
    NotFound,
    /// The server failed: most of 5xx.
    ServerError,
    /// The server asked us to come back later: 429, 503.
    AskedToWait {
        /// From `Retry-After`, counted from the end of the answer.
        retry_after_ms: Option<u64>,
    },
    /// There was no answer, or none of use.
    NoAnswer(Reason),
    /// Robots.txt could not be had, so the page was not asked for.
    RobotsUnreachable,
}

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// How long the site is left alone, counted from the end of the visit; its usual wait counts besides, the longer of
    /// the two holds.
    pub site_back_off_ms: u64,
    /// Whether the site leaves the batch: its waiting pages go back to the manager, not before the back-off is over.
    pub site_gives_up: bool,
    /// The site's failures in a row, with this visit.
    pub errors_in_a_row: u16,
    /// What becomes of the page.
    pub page: PageVerdict,
}

/// What becomes of a page after a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageVerdict {
    /// The visit brought what it could.
    Done,
    /// It is tried again, not before this time has passed since the end of the visit.
    Retry {
        /// Never shorter than the site's back-off.
        delay_ms: u64,
    },
    /// It is left alone until the manager finds that a failed page may be asked anew.
    GiveUp(Reason),
}

/// Whose trouble an event is.
enum Trouble {
    None,
    /// This page will fail again, others need not.
    Page(Reason),
    /// Any page of the site could have failed.
    Site(Reason),
    /// All pages of the site fail, today.
    WholeSite(Reason),
    /// Nothing was asked of the page.
    Robots,
}

impl Event {
    /// What an HTTP status means; `retry_after_ms` is that of the answer's `Retry-After`, if there was one.
    pub fn of_status(status: u16, retry_after_ms: Option<u64>) -> Event {
        match status {
            429 | 503 => Event::AskedToWait { retry_after_ms },
            500..=599 if retry_after_ms.is_some() => Event::AskedToWait { retry_after_ms },
            // Request Timeout, Too Early: the same request may succeed later.
            408 | 425 | 500..=599 => Event::ServerError,
            400..=499 => Event::NotFound,
            200..=399 => Event::Ok,
            _ => Event::NoAnswer(Reason::BadAnswer),
        }
    }

    fn trouble(self) -> Trouble {
        match self {
            Event::Ok => Trouble::None,
            Event::NotFound => Trouble::Page(Reason::Refused),
            Event::ServerError => Trouble::Site(Reason::ServerTrouble),
            Event::AskedToWait { .. } => Trouble::Site(Reason::AskedToWait),
            Event::RobotsUnreachable => Trouble::Robots,
            Event::NoAnswer(reason) => trouble_of(reason),
        }
    }
}

fn trouble_of(reason: Reason) -> Trouble {
    match reason {
        Reason::NameNotFound | Reason::BlockedAddress | Reason::Certificate => Trouble::WholeSite(reason),
        Reason::NameServerFailed
        | Reason::ConnectFailed
        | Reason::ConnectTimedOut
        | Reason::TlsFailed
        | Reason::FirstByteTimedOut
        | Reason::TotalTimedOut
        | Reason::TooSlow
        | Reason::ConnectionLost
        | Reason::BadAnswer
        | Reason::ProxyFailed
        | Reason::ServerTrouble
        | Reason::AskedToWait => Trouble::Site(reason),
        Reason::RobotsUnreachable => Trouble::Robots,
        _ => Trouble::Page(reason),
    }
}

/// Whether nobody answered, or nobody we may listen to.
fn is_silence(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::NameNotFound
            | Reason::NameServerFailed
            | Reason::BlockedAddress
            | Reason::ConnectFailed
            | Reason::ConnectTimedOut
            | Reason::Certificate
            | Reason::TlsFailed
            | Reason::FirstByteTimedOut
            | Reason::ProxyFailed
    )
}

impl Patience {
    /// What follows from a visit.
    ///
    /// `errors_in_a_row` are the site's and `page_failures` the page's failed visits before this one; `jitter` is any
    /// random number.
    pub fn after(&self, event: Event, errors_in_a_row: u16, page_failures: u16, jitter: u64) -> Verdict {
        let (whole_site, page) = match event.trouble() {
            Trouble::None => return Verdict::without_trouble(0, PageVerdict::Done),
            // The site has answered, if not well: that is neither a failure nor a recovery.
            Trouble::Page(reason) => {
                let errors = if event == Event::NotFound { 0 } else { errors_in_a_row };
                return Verdict::without_trouble(errors, PageVerdict::GiveUp(reason));
            }
            Trouble::Robots => (false, None),
            Trouble::Site(reason) => (false, Some(reason)),
            Trouble::WholeSite(reason) => (true, Some(reason)),
        };
        let errors = errors_in_a_row.saturating_add(1);
        let site_back_off_ms = self.site_back_off_ms(event, errors, jitter);
        let page = match page {
            None => PageVerdict::Retry { delay_ms: site_back_off_ms },
            Some(reason) => self.page_verdict(reason, page_failures, site_back_off_ms, jitter),
        };
        let too_long = site_back_off_ms > self.longest_wait_in_batch_ms;
        let site_gives_up = whole_site || too_long || errors >= self.site_errors;
        Verdict { site_back_off_ms, site_gives_up, errors_in_a_row: errors, page }
    }

    fn site_back_off_ms(&self, event: Event, errors: u16, jitter: u64) -> u64 {
        let own = grown(self.first_back_off_ms, 2, errors.saturating_sub(1)).min(self.most_back_off_ms);
        let asked = match event {
            Event::AskedToWait { retry_after_ms } => {
                retry_after_ms.unwrap_or(0).min(self.most_retry_after_ms)
            }
            Event::NoAnswer(reason) if is_silence(reason) && errors >= self.site_errors.saturating_mul(2) => {
                self.given_up_ms
            }
            _ => 0,
        };
        with_jitter(own.max(asked), jitter)
    }

    fn page_verdict(&self, reason: Reason, failures: u16, site_back_off_ms: u64, jitter: u64) -> PageVerdict {
        if failures.saturating_add(1) >= self.page_failures {
            return PageVerdict::GiveUp(reason);
        }
        let own = grown(self.first_retry_ms, 4, failures).min(self.most_retry_ms);
        PageVerdict::Retry { delay_ms: with_jitter(own, jitter).max(site_back_off_ms) }
    }
}

impl Verdict {
    fn without_trouble(errors_in_a_row: u16, page: PageVerdict) -> Verdict {
        Verdict { site_back_off_ms: 0, site_gives_up: false, errors_in_a_row, page }
    }
}

impl Default for Patience {
    fn default() -> Patience {
        const MINUTE_MS: u64 = 60_000;
        const DAY_MS: u64 = 24 * 60 * MINUTE_MS;
        Patience {
            first_back_off_ms: MINUTE_MS / 2,
            most_back_off_ms: DAY_MS,
            most_retry_after_ms: DAY_MS,
            site_errors: 5,
            given_up_ms: 30 * DAY_MS,
            longest_wait_in_batch_ms: 10 * MINUTE_MS,
            page_failures: 3,
            first_retry_ms: 10 * MINUTE_MS,
            most_retry_ms: DAY_MS,
        }
    }
}

fn grown(first_ms: u64, factor: u64, times: u16) -> u64 {
    first_ms.saturating_mul(factor.saturating_pow(u32::from(times)))
}

/// Up to a quarter more; for the same random number, more for a longer time.
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

    /// Without jitter: back-off, whether the site gives up, its errors, and the page's fate.
    fn after(event: Event, errors: u16, failures: u16) -> (u64, bool, u16, PageVerdict) {
        let verdict = Patience::default().after(event, errors, failures, 0);
        (verdict.site_back_off_ms, verdict.site_gives_up, verdict.errors_in_a_row, verdict.page)
    }

    fn retry(delay_ms: u64) -> PageVerdict {
        PageVerdict::Retry { delay_ms }
    }

    #[test]
    #[rustfmt::skip]
    fn each_outcome_has_its_verdict() {
        let timed_out = Event::NoAnswer(Reason::FirstByteTimedOut);
        let asked = |retry_after_ms| Event::AskedToWait { retry_after_ms };
        let give_up = PageVerdict::GiveUp;
        let cases = [
            // All is well, and a site that was in trouble is out of it.
            ((Event::Ok, 4, 2), (0, false, 0, PageVerdict::Done)),
            ((Event::NotFound, 4, 0), (0, false, 0, give_up(Reason::Refused))),
            // Failures double the back-off; a page has three tries; a fifth failure in a row is the site's last.
            ((Event::ServerError, 0, 0), (30_000, false, 1, retry(10 * MINUTE_MS))),
            ((Event::ServerError, 1, 1), (MINUTE_MS, false, 2, retry(40 * MINUTE_MS))),
            ((timed_out, 2, 2), (2 * MINUTE_MS, false, 3, give_up(Reason::FirstByteTimedOut))),
            ((timed_out, 3, 0), (4 * MINUTE_MS, false, 4, retry(10 * MINUTE_MS))),
            ((timed_out, 4, 0), (8 * MINUTE_MS, true, 5, retry(10 * MINUTE_MS))),
            ((timed_out, 8, 0), (128 * MINUTE_MS, true, 9, retry(128 * MINUTE_MS))),
            // Ten times without an answer are enough; a server that answers badly is only left alone for longer.
            ((timed_out, 9, 0), (30 * DAY_MS, true, 10, retry(30 * DAY_MS))),
            ((Event::ServerError, 9, 0), (256 * MINUTE_MS, true, 10, retry(256 * MINUTE_MS))),
            ((Event::ServerError, 60_000, 60_000), (DAY_MS, true, 60_001, give_up(Reason::ServerTrouble))),
            ((Event::ServerError, u16::MAX, 0), (DAY_MS, true, u16::MAX, retry(DAY_MS))),
            // Asked to wait: the longer of what is asked and what failures demand, and no batch waits for hours.
            ((asked(None), 0, 0), (30_000, false, 1, retry(10 * MINUTE_MS))),
            ((asked(Some(5_000)), 0, 0), (30_000, false, 1, retry(10 * MINUTE_MS))),
            ((asked(Some(600_000)), 0, 0), (600_000, false, 1, retry(600_000))),
            ((asked(Some(601_000)), 0, 0), (601_000, true, 1, retry(601_000))),
            ((asked(Some(u64::MAX)), 0, 2), (DAY_MS, true, 1, give_up(Reason::AskedToWait))),
            // A name that is gone or a wrong certificate is so for all pages.
            ((Event::NoAnswer(Reason::NameNotFound), 0, 0), (30_000, true, 1, retry(10 * MINUTE_MS))),
            ((Event::NoAnswer(Reason::Certificate), 0, 2), (30_000, true, 1, give_up(Reason::Certificate))),
            // A page that is too much for us says little about its site.
            ((Event::NoAnswer(Reason::HeadTooLong), 3, 0), (0, false, 3, give_up(Reason::HeadTooLong))),
            // Nothing was asked of the page: it is never given up for that.
            ((Event::RobotsUnreachable, 0, 9), (30_000, false, 1, retry(30_000))),
            ((Event::NoAnswer(Reason::RobotsUnreachable), 7, 9), (64 * MINUTE_MS, true, 8, retry(64 * MINUTE_MS))),
        ];
        for ((event, errors, failures), expected) in cases {
            assert_eq!(after(event, errors, failures), expected, "{event:?} {errors} {failures}");
        }
    }

    #[test]
    fn statuses_are_read() {
        let asked = |retry_after_ms| Event::AskedToWait { retry_after_ms };
        let cases = [
            (200, None, Event::Ok),
            (304, Some(1), Event::Ok),
            (301, None, Event::Ok),
            (404, Some(1), Event::NotFound),
            (408, None, Event::ServerError),
            (429, None, asked(None)),
            (429, Some(1), asked(Some(1))),
            (500, None, Event::ServerError),
            (502, Some(7), asked(Some(7))),
            (503, None, asked(None)),
            (999, None, Event::NoAnswer(Reason::BadAnswer)),
            (0, None, Event::NoAnswer(Reason::BadAnswer)),
        ];
        for (status, retry_after_ms, expected) in cases {
            assert_eq!(Event::of_status(status, retry_after_ms), expected, "{status}");
        }
    }

    fn any_event() -> impl Strategy<Value = Event> {
        prop_oneof![
            Just(Event::Ok),
            Just(Event::NotFound),
            Just(Event::ServerError),
            Just(Event::RobotsUnreachable),
            prop::option::of(prop_oneof![0..2 * DAY_MS, any::<u64>()])
                .prop_map(|retry_after_ms| Event::AskedToWait { retry_after_ms }),
            prop::sample::select(Reason::all().collect::<Vec<_>>()).prop_map(Event::NoAnswer),
        ]
    }

    proptest! {
        #[test]
        fn nobody_is_asked_before_the_time_it_named(retry_after_ms: u64, errors: u16, failures: u16, jitter: u64) {
            let event = Event::AskedToWait { retry_after_ms: Some(retry_after_ms) };
            let verdict = Patience::default().after(event, errors, failures, jitter);
            prop_assert!(verdict.site_back_off_ms >= retry_after_ms.min(DAY_MS));
            prop_assert!(verdict.site_back_off_ms <= DAY_MS + DAY_MS / 4);
        }

        #[test]
        fn more_failures_never_mean_less_patience(event in any_event(), errors in 0u16..u16::MAX, failures: u16, jitter: u64) {
            let patience = Patience::default();
            let verdict = patience.after(event, errors, failures, jitter);
            let worse = patience.after(event, errors + 1, failures, jitter);
            prop_assert!(worse.site_back_off_ms >= verdict.site_back_off_ms);
            prop_assert!(worse.site_gives_up >= verdict.site_gives_up);
        }

        #[test]
        fn jitter_only_adds_and_a_page_never_comes_before_its_site(event in any_event(), errors: u16, failures: u16, jitter: u64) {
            let patience = Patience::default();
            let (verdict, exact) = (patience.after(event, errors, failures, jitter), patience.after(event, errors, failures, 0));
            prop_assert!(verdict.site_back_off_ms >= exact.site_back_off_ms);
            if let (PageVerdict::Retry { delay_ms }, PageVerdict::Retry { delay_ms: least_ms }) = (verdict.page, exact.page) {
                prop_assert!(delay_ms >= verdict.site_back_off_ms && delay_ms >= least_ms);
            }
            // Nothing in a batch waits for longer than it may.
            prop_assert!(verdict.site_gives_up || verdict.site_back_off_ms <= patience.longest_wait_in_batch_ms);
        }
    }

    #[test]
    fn sites_that_fail_together_come_back_apart() {
        let back_off = |jitter| Patience::default().after(Event::ServerError, 3, 0, jitter).site_back_off_ms;
        assert_eq!((back_off(0), back_off(u64::MAX / 2), back_off(u64::MAX)), (240_000, 269_999, 299_999));
    }
}
