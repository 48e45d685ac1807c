//! Local faults of a process: a circuit breaker for requests and one for DNS lookups, shared by all threads.
//!
//! A fault of this machine says nothing about the site that was to be contacted: the request is retried, and the state of the
//! site stays as it was. Since the next request would fail, too, none starts for a while; then a single one is the probe. If
//! it fails by a local fault again, the back-off doubles, otherwise everything continues.
//!
//! Missing descriptors, memory and ports also reduce the number of requests in flight, which grows again slowly.
//!
//! A network that fails silently gives timeouts, as a dead server does. Therefore this module remembers the servers that have
//! responded; the check that distinguishes the two is in `harvester/outage.rs`.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fetch::LocalFault;
use serde::Serialize;
use tokio::sync::watch;

/// Back-off after the first fault. Descriptors are often free again at once.
const INITIAL_BACK_OFF: Duration = Duration::from_millis(250);
/// Maximum back-off: a network that works again should not wait for long, and a probe costs little.
pub(crate) const MAX_BACK_OFF: Duration = Duration::from_secs(15);
/// Interval at which the limit of requests in flight grows by one request.
const LIMIT_GROWTH_INTERVAL: Duration = Duration::from_secs(2);
/// Minimum of the limit: descriptors can be used up by something else than requests.
const MIN_REQUEST_LIMIT: u64 = 8;
/// Time after which a thread checks the limit of requests in flight again.
const LIMIT_CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Number of servers that are remembered because they have responded.
const MAX_RESPONDERS: usize = 8;
/// Time after which a server that has responded is forgotten: it need not expect a connection any more. Longer than an outage is
/// assumed without a confirmation by the name server.
const MAX_RESPONDER_AGE: Duration = Duration::from_secs(1_800);

/// Current time: that of tokio, which tests can pause.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Activity that local faults pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    /// Requests to servers.
    Requests = 0,
    /// DNS lookups.
    Lookups = 1,
}

/// Local fault that pauses a crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LocalFaultStatus {
    /// Fault.
    pub fault: LocalFault,
    /// Time since it began.
    pub duration_ms: u64,
}

/// Local faults of a process.
#[derive(Debug)]
pub(crate) struct LocalFaults {
    state: Mutex<State>,
    /// Whether nothing is paused or limited, so that most requests need no lock.
    is_normal: AtomicBool,
    changes: watch::Sender<()>,
    /// Result of the last check for an outage, and its time. The lock makes checks exclusive.
    pub(crate) last_check: tokio::sync::Mutex<Option<(Instant, bool)>>,
}

#[derive(Debug, Default)]
struct State {
    /// By [`Activity`].
    incidents: [Option<Incident>; 2],
    limit: Option<RequestLimit>,
    /// Requests and lookups that were retried because of a local fault, and the last fault.
    retried: u64,
    last_fault: Option<LocalFault>,
    /// Servers that have responded, each address once, with the time of the last response, the least recent first.
    responders: VecDeque<(SocketAddr, Instant)>,
    last_response: Option<Instant>,
    silent_since: Option<Instant>,
    /// End of the last fault of the network.
    last_network_fault: Option<Instant>,
}

#[derive(Debug)]
struct Incident {
    fault: LocalFault,
    since: Instant,
    back_off: Duration,
    not_before: Instant,
    /// Start of the last probe, if it has not ended.
    probe_since: Option<Instant>,
}

#[derive(Debug)]
struct RequestLimit {
    requests: u64,
    since: Instant,
}

/// Permission to start a request or a lookup. Dropping it without a result leaves the probe to the next one.
#[derive(Debug)]
pub(crate) struct Admission {
    faults: Arc<LocalFaults>,
    activity: Activity,
    is_probe: bool,
}

impl Default for LocalFaults {
    fn default() -> LocalFaults {
        LocalFaults {
            state: Mutex::default(),
            is_normal: AtomicBool::new(true),
            changes: watch::Sender::new(()),
            last_check: tokio::sync::Mutex::default(),
        }
    }
}

impl LocalFaults {
    /// Admits a request or lookup, or returns the time at which to ask again. `in_flight` is the number of requests in flight
    /// in this process.
    pub(crate) fn admit(
        self: &Arc<Self>,
        activity: Activity,
        in_flight: u64,
        now: Instant,
    ) -> Result<Admission, Instant> {
        let mut is_probe = false;
        if !self.is_normal.load(Relaxed) {
            let mut state = self.lock();
            if let Some(incident) = &mut state.incidents[activity as usize] {
                // The end of the probe wakes all threads. A server that never responds must not prolong the fault.
                if let Some(next) =
                    incident.probe_since.map(|since| since + MAX_BACK_OFF).filter(|next| now < *next)
                {
                    return Err(next);
                }
                if now < incident.not_before {
                    return Err(incident.not_before);
                }
                incident.probe_since = Some(now);
                is_probe = true;
            } else if activity == Activity::Requests && !state.is_within_limit(in_flight, now) {
                return Err(now + LIMIT_CHECK_INTERVAL);
            }
        }
        Ok(Admission { faults: Arc::clone(self), activity, is_probe })
    }

    /// Changes of the state, which wake waiting threads.
    pub(crate) fn subscribe(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Records a response of a server, or its refusal: the network works.
    pub(crate) fn record_response(&self, server: Option<SocketAddr>, now: Instant) {
        let mut state = self.lock();
        state.last_response = state.last_response.max(Some(now));
        state.silent_since = None;
        let Some(server) = server else { return };
        state.responders.retain(|(known, _)| known.ip() != server.ip());
        if state.responders.len() >= MAX_RESPONDERS {
            state.responders.pop_front();
        }
        state.responders.push_back((server, now));
    }

    /// Whether any server responded since a time.
    pub(crate) fn has_response_since(&self, time: Instant) -> bool {
        self.lock().last_response.is_some_and(|last| last >= time)
    }

    /// Whether the network had a fault at any time since `started`, or has one now.
    pub(crate) fn had_network_fault_since(&self, started: Instant) -> bool {
        let state = self.lock();
        let current = state.incidents[Activity::Requests as usize].as_ref();
        current.is_some_and(|incident| is_network_fault(incident.fault))
            || state.last_network_fault.is_some_and(|end| end >= started)
    }

    /// Servers that have responded not too long ago, except those at an address, the least recent first.
    pub(crate) fn responders(&self, except: IpAddr, now: Instant) -> Vec<SocketAddr> {
        let mut state = self.lock();
        state.responders.retain(|(_, time)| now.saturating_duration_since(*time) < MAX_RESPONDER_AGE);
        let servers = state.responders.iter().map(|(server, _)| *server);
        servers.filter(|server| server.ip() != except).collect()
    }

    /// Forgets the servers that have responded: another worker may contact them now.
    pub(crate) fn forget_responders(&self) {
        self.lock().responders.clear();
    }

    /// Records the result of lookups that are not paused by faults, for the status.
    pub(crate) fn record_lookups(&self, fault: Option<LocalFault>, now: Instant) {
        self.update(|state| match fault {
            Some(fault) => state.report(Activity::Lookups, fault, true, 0, now),
            None => state.incidents[Activity::Lookups as usize].take().is_some(),
        });
    }

    /// Time since the first failure that can be caused by the network and was followed by no response; this is one.
    pub(crate) fn silence(&self, now: Instant) -> Duration {
        now.saturating_duration_since(*self.lock().silent_since.get_or_insert(now))
    }

    /// Current fault.
    pub(crate) fn status(&self, now: Instant) -> Option<LocalFaultStatus> {
        if self.is_normal.load(Relaxed) {
            return None;
        }
        let state = self.lock();
        let incident = state.incidents.iter().flatten().next()?;
        let duration_ms = now.saturating_duration_since(incident.since).as_millis() as u64;
        Some(LocalFaultStatus { fault: incident.fault, duration_ms })
    }

    /// Number of requests and lookups that were retried, and the fault of the last one.
    pub(crate) fn retried(&self) -> (u64, Option<LocalFault>) {
        let state = self.lock();
        (state.retried, state.last_fault)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the state, and wakes the threads that wait for a change if it has changed.
    fn update(&self, change: impl FnOnce(&mut State) -> bool) {
        let mut state = self.lock();
        let has_changed = change(&mut state);
        let is_normal = state.incidents.iter().all(Option::is_none) && state.limit.is_none();
        self.is_normal.store(is_normal, Relaxed);
        drop(state);
        if has_changed {
            self.changes.send_replace(());
        }
    }
}

impl State {
    fn is_within_limit(&mut self, in_flight: u64, now: Instant) -> bool {
        let Some(limit) = &self.limit else { return true };
        let growth = now.saturating_duration_since(limit.since).as_secs() / LIMIT_GROWTH_INTERVAL.as_secs();
        in_flight < limit.requests + growth
    }

    /// Records a fault. Returns whether the state has changed.
    fn report(
        &mut self,
        activity: Activity,
        fault: LocalFault,
        is_probe: bool,
        in_flight: u64,
        now: Instant,
    ) -> bool {
        self.retried += 1;
        self.last_fault = Some(fault);
        let incident = &mut self.incidents[activity as usize];
        match incident {
            // Requests that started before the fault was known end with it one after the other.
            Some(_) if !is_probe => return false,
            Some(incident) => {
                incident.probe_since = None;
                incident.fault = fault;
                incident.back_off = (incident.back_off * 2).min(MAX_BACK_OFF);
                incident.not_before = now + incident.back_off;
            }
            None => {
                let (back_off, not_before) = (INITIAL_BACK_OFF, now + INITIAL_BACK_OFF);
                *incident = Some(Incident { fault, since: now, back_off, not_before, probe_since: None });
            }
        }
        if matches!(fault, LocalFault::TooManyOpenFiles | LocalFault::OutOfMemory | LocalFault::NoLocalPort) {
            let requests = (in_flight - in_flight / 8).max(MIN_REQUEST_LIMIT);
            self.limit = Some(RequestLimit { requests, since: now });
        }
        true
    }
}

impl Admission {
    /// Whether this is the only request that is admitted during a fault, to find out whether it has ended.
    pub(crate) fn is_probe(&self) -> bool {
        self.is_probe
    }

    /// Whether this is the probe during a fault of the network.
    pub(crate) fn is_network_probe(&self) -> bool {
        let is_network_fault = |incident: &Incident| is_network_fault(incident.fault);
        self.is_probe
            && self.faults.lock().incidents[self.activity as usize].as_ref().is_some_and(is_network_fault)
    }

    /// Records that the request or lookup failed by a local fault.
    pub(crate) fn fail(mut self, fault: LocalFault, in_flight: u64, now: Instant) {
        let (activity, is_probe) = (self.activity, std::mem::take(&mut self.is_probe));
        self.faults.update(|state| state.report(activity, fault, is_probe, in_flight, now));
    }

    /// Records that the request or lookup ended without a local fault.
    pub(crate) fn complete(mut self) {
        self.end_incident();
    }

    /// Records that the server responds, which ends a probe before the end of a slow response. Only the proxy, whose status is
    /// not known yet, can still reject the request.
    pub(crate) fn on_first_byte(&mut self) {
        if !self.is_probe {
            return;
        }
        let fault =
            self.faults.lock().incidents[self.activity as usize].as_ref().map(|incident| incident.fault);
        if fault != Some(LocalFault::ProxyAuthentication) {
            self.end_incident();
        }
    }

    fn end_incident(&mut self) {
        if std::mem::take(&mut self.is_probe) {
            self.faults.update(|state| {
                let ended = state.incidents[self.activity as usize].take();
                if ended.as_ref().is_some_and(|incident| is_network_fault(incident.fault)) {
                    state.last_network_fault = Some(now());
                }
                ended.is_some()
            });
        }
    }
}

/// Whether a fault makes requests time out.
fn is_network_fault(fault: LocalFault) -> bool {
    matches!(fault, LocalFault::NetworkUnreachable | LocalFault::NetworkOutage)
}

impl Drop for Admission {
    fn drop(&mut self) {
        if self.is_probe {
            self.faults.update(|state| {
                if let Some(incident) = &mut state.incidents[self.activity as usize] {
                    incident.probe_since = None;
                }
                // No thread is woken: one that cannot use its probe would otherwise wake itself in a loop.
                false
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNREACHABLE: LocalFault = LocalFault::NetworkUnreachable;

    fn admit(faults: &Arc<LocalFaults>, now: Instant) -> Result<Admission, Instant> {
        faults.admit(Activity::Requests, 0, now)
    }

    #[test]
    fn a_fault_pauses_its_activity_until_a_single_probe_succeeds() {
        let (faults, start) = (Arc::<LocalFaults>::default(), Instant::now());
        let (first, second) = (admit(&faults, start).unwrap(), admit(&faults, start).unwrap());
        first.fail(UNREACHABLE, 1, start);
        second.fail(UNREACHABLE, 0, start);
        assert_eq!(admit(&faults, start).unwrap_err(), start + INITIAL_BACK_OFF);
        assert!(faults.admit(Activity::Lookups, 0, start).is_ok(), "lookups are not affected");
        let later = start + INITIAL_BACK_OFF;
        let probe = admit(&faults, later).unwrap();
        assert!(admit(&faults, later).is_err(), "only one probe at a time");
        assert_eq!(
            faults.status(start + Duration::from_secs(2)),
            Some(LocalFaultStatus { fault: UNREACHABLE, duration_ms: 2_000 })
        );
        probe.complete();
        assert!(faults.status(later).is_none());
        assert!(admit(&faults, later).is_ok() && admit(&faults, later).is_ok());
        assert_eq!(faults.retried(), (2, Some(UNREACHABLE)));
    }

    #[test]
    fn the_back_off_doubles_with_each_failed_probe_up_to_its_maximum() {
        let (faults, mut now) = (Arc::<LocalFaults>::default(), Instant::now());
        admit(&faults, now).unwrap().fail(UNREACHABLE, 0, now);
        let mut back_offs = Vec::new();
        for _ in 0..8 {
            let next = admit(&faults, now).unwrap_err();
            back_offs.push((next - now).as_millis());
            now = next;
            admit(&faults, now).unwrap().fail(UNREACHABLE, 0, now);
        }
        assert_eq!(back_offs, [250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
    }

    #[test]
    fn a_probe_that_is_dropped_is_left_to_the_next_request() {
        let (faults, now) = (Arc::<LocalFaults>::default(), Instant::now());
        admit(&faults, now).unwrap().fail(UNREACHABLE, 0, now);
        let later = now + INITIAL_BACK_OFF;
        drop(admit(&faults, later).unwrap());
        assert!(faults.status(later).is_some());
        admit(&faults, later).unwrap().complete();
        assert!(faults.status(later).is_none());
    }

    #[test]
    fn a_probe_that_is_dropped_wakes_no_thread() {
        let (faults, now) = (Arc::<LocalFaults>::default(), Instant::now());
        admit(&faults, now).unwrap().fail(UNREACHABLE, 0, now);
        let changes = faults.subscribe();
        drop(admit(&faults, now + INITIAL_BACK_OFF).unwrap());
        assert!(!changes.has_changed().unwrap());
    }

    #[test]
    fn the_first_byte_of_a_response_ends_a_fault_except_a_rejection_by_the_proxy() {
        for (fault, ends) in [(UNREACHABLE, true), (LocalFault::ProxyAuthentication, false)] {
            let (faults, now) = (Arc::<LocalFaults>::default(), Instant::now());
            admit(&faults, now).unwrap().fail(fault, 0, now);
            let later = now + INITIAL_BACK_OFF;
            let mut probe = admit(&faults, later).unwrap();
            probe.on_first_byte();
            assert_eq!(faults.status(later).is_none(), ends, "{fault}");
            probe.complete();
            assert!(faults.status(later).is_none());
        }
    }

    #[test]
    fn a_probe_without_a_response_is_followed_by_another_one() {
        let (faults, now) = (Arc::<LocalFaults>::default(), Instant::now());
        admit(&faults, now).unwrap().fail(UNREACHABLE, 0, now);
        let later = now + INITIAL_BACK_OFF;
        let slow = admit(&faults, later).unwrap();
        assert_eq!(admit(&faults, later).unwrap_err(), later + MAX_BACK_OFF);
        admit(&faults, later + MAX_BACK_OFF).unwrap().complete();
        assert!(faults.status(later + MAX_BACK_OFF).is_none());
        drop(slow);
    }

    #[test]
    fn requests_from_before_the_fault_neither_end_nor_extend_it() {
        let (faults, now) = (Arc::<LocalFaults>::default(), Instant::now());
        let (slow, late) = (admit(&faults, now).unwrap(), admit(&faults, now).unwrap());
        admit(&faults, now).unwrap().fail(UNREACHABLE, 0, now);
        slow.complete();
        late.fail(UNREACHABLE, 0, now + INITIAL_BACK_OFF);
        assert!(faults.status(now).is_some());
        assert!(admit(&faults, now + INITIAL_BACK_OFF).is_ok());
    }

    #[test]
    fn a_request_that_overlaps_a_fault_of_the_network_is_known() {
        let (faults, start) = (Arc::<LocalFaults>::default(), now());
        assert!(!faults.had_network_fault_since(start));
        admit(&faults, start).unwrap().fail(UNREACHABLE, 0, start);
        assert!(faults.had_network_fault_since(start + MAX_BACK_OFF), "it lasts");
        admit(&faults, start + INITIAL_BACK_OFF).unwrap().complete();
        assert!(faults.had_network_fault_since(start));
        assert!(!faults.had_network_fault_since(now() + Duration::from_secs(1)));
    }

    #[test]
    fn missing_descriptors_limit_the_requests_in_flight_which_grow_again_slowly() {
        let (faults, now) = (Arc::<LocalFaults>::default(), Instant::now());
        admit(&faults, now).unwrap().fail(LocalFault::TooManyOpenFiles, 80, now);
        let later = now + INITIAL_BACK_OFF;
        admit(&faults, later).unwrap().complete();
        let is_admitted = |in_flight, now| faults.admit(Activity::Requests, in_flight, now).is_ok();
        assert!(is_admitted(69, later) && !is_admitted(70, later));
        assert!(is_admitted(70, now + LIMIT_GROWTH_INTERVAL));
        assert!(faults.admit(Activity::Lookups, 100, later).is_ok());
    }

    #[test]
    fn silence_lasts_from_the_first_failure_to_the_next_response() {
        let (faults, start) = (LocalFaults::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(faults.silence(after(5)), Duration::ZERO);
        assert_eq!(faults.silence(after(65)), Duration::from_secs(60));
        faults.record_response(None, after(66));
        assert_eq!(faults.silence(after(70)), Duration::ZERO);
    }

    #[test]
    fn the_last_servers_that_responded_are_known_by_their_addresses() {
        let (faults, now) = (LocalFaults::default(), Instant::now());
        assert!(!faults.has_response_since(now));
        for port in [1, 2, 3] {
            for last in 1..=u8::try_from(MAX_RESPONDERS).unwrap() + 1 {
                faults.record_response(Some(SocketAddr::from(([192, 0, 2, last], port))), now);
            }
        }
        assert!(faults.has_response_since(now));
        let known = faults.responders([192, 0, 2, 2].into(), now);
        assert_eq!(known.len(), MAX_RESPONDERS - 1);
        assert_eq!(known[0], SocketAddr::from(([192, 0, 2, 3], 3)));
        assert!(faults.responders([192, 0, 2, 2].into(), now + MAX_RESPONDER_AGE).is_empty());
        faults.record_response(Some(known[0]), now);
        faults.forget_responders();
        assert!(faults.responders([192, 0, 2, 2].into(), now).is_empty());
    }

    #[test]
    fn a_fault_of_lookups_outside_of_the_dispatcher_is_shown_until_they_succeed() {
        let (faults, now) = (LocalFaults::default(), Instant::now());
        faults.record_lookups(None, now);
        assert!(faults.status(now).is_none());
        faults.record_lookups(Some(LocalFault::NameServerUnavailable), now);
        let status = faults.status(now).map(|status| status.fault);
        assert_eq!(status, Some(LocalFault::NameServerUnavailable));
        faults.record_lookups(None, now);
        assert!(faults.status(now).is_none());
    }
}
