//! Timeouts of one exchange: connection, first byte, transfer rate and total time.
//!
//! Every wait of an exchange goes through [`ExchangeTimer::with_timeout`], so that a server that stalls in any phase hits one
//! of the limits.

use std::future::Future;
use std::time::Duration;

use model::Reason;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::settings::FetchSettings;

/// Deadlines and measured times of one exchange.
#[derive(Debug)]
pub(crate) struct ExchangeTimer<'s> {
    settings: &'s FetchSettings,
    /// Deadline of the whole exchange.
    deadline: Instant,
    /// Deadline of the current phase: connection, first byte, or minimum transfer rate.
    phase_deadline: Instant,
    phase_timeout_reason: Reason,
    requested_at: Option<Instant>,
    first_byte_at: Option<Instant>,
    first_byte: Option<&'s Notify>,
    received_bytes: u64,
}

impl<'s> ExchangeTimer<'s> {
    /// Starts the exchange in its first phase, the connection.
    pub(crate) fn start(settings: &'s FetchSettings) -> ExchangeTimer<'s> {
        let now = Instant::now();
        ExchangeTimer {
            settings,
            deadline: deadline_after(now, settings.total_timeout),
            phase_deadline: deadline_after(now, settings.connect_timeout),
            phase_timeout_reason: Reason::ConnectTimeout,
            requested_at: None,
            first_byte_at: None,
            first_byte: None,
            received_bytes: 0,
        }
    }

    /// Notifies `first_byte` when the first byte of the response arrives.
    pub(crate) fn notifying(self, first_byte: Option<&'s Notify>) -> ExchangeTimer<'s> {
        ExchangeTimer { first_byte, ..self }
    }

    /// Starts the phase of another connection.
    pub(crate) fn connect_started(&mut self) {
        self.phase_deadline = deadline_after(Instant::now(), self.settings.connect_timeout);
        self.phase_timeout_reason = Reason::ConnectTimeout;
    }

    /// Starts the phase that ends with the first byte of the response.
    pub(crate) fn request_started(&mut self) {
        let now = Instant::now();
        self.requested_at = Some(now);
        self.first_byte_at = None;
        self.received_bytes = 0;
        self.phase_deadline = deadline_after(now, self.settings.first_byte_timeout);
        self.phase_timeout_reason = Reason::FirstByteTimeout;
    }

    /// Counts received bytes of the response and moves the deadline of the minimum transfer rate.
    pub(crate) fn on_bytes(&mut self, bytes: usize) {
        if self.first_byte_at.is_none() {
            self.first_byte.inspect(|first_byte| first_byte.notify_one());
        }
        let first_byte_at = *self.first_byte_at.get_or_insert_with(Instant::now);
        self.received_bytes += bytes as u64;
        self.phase_timeout_reason = Reason::TooSlow;
        self.phase_deadline = match u64::from(self.settings.min_bytes_per_s) {
            0 => self.deadline,
            min_bytes_per_s => {
                // The time at which the mean rate falls below the minimum if no further byte arrives. A fast start
                // therefore allows a later pause.
                let allowed =
                    Duration::from_millis(self.received_bytes.saturating_mul(1000) / min_bytes_per_s);
                deadline_after(first_byte_at, allowed.max(self.settings.min_speed_grace))
            }
        };
    }

    /// Whether any byte of the response was received.
    pub(crate) fn has_received(&self) -> bool {
        self.first_byte_at.is_some()
    }

    /// Waits for `future` up to the deadline of the phase or of the exchange, whichever is earlier.
    pub(crate) async fn with_timeout<T>(&self, future: impl Future<Output = T>) -> Result<T, Reason> {
        if self.phase_deadline < self.deadline {
            timeout_at(self.phase_deadline, future).await.map_err(|_| self.phase_timeout_reason)
        } else {
            timeout_at(self.deadline, future).await.map_err(|_| Reason::TotalTimeout)
        }
    }

    /// Waits for `future`, a resource of this machine, and moves all times by the wait: it is not the server's.
    pub(crate) async fn without_timeout<T>(&mut self, future: impl Future<Output = T>) -> T {
        let start = Instant::now();
        let value = future.await;
        let waited = start.elapsed();
        for time in [&mut self.deadline, &mut self.phase_deadline] {
            *time += waited;
        }
        for time in [&mut self.requested_at, &mut self.first_byte_at].into_iter().flatten() {
            *time += waited;
        }
        value
    }

    /// Times from the request to the first byte, and to now.
    pub(crate) fn elapsed_ms(&self) -> (Option<u32>, Option<u32>) {
        let since_request = |end: Instant| {
            let elapsed = end.saturating_duration_since(self.requested_at?);
            Some(u32::try_from(elapsed.as_millis()).unwrap_or(u32::MAX))
        };
        let latency_ms = self.first_byte_at.and_then(since_request);
        (latency_ms, self.first_byte_at.and_then(|_| since_request(Instant::now())))
    }
}

/// Adds a timeout to a time, capped so that the sum cannot overflow.
fn deadline_after(start: Instant, timeout: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 86_400);
    start + timeout.min(YEAR)
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::sleep;

    use super::*;

    fn settings() -> FetchSettings {
        FetchSettings {
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(20),
            total_timeout: Duration::from_secs(100),
            min_bytes_per_s: 100,
            min_speed_grace: Duration::from_secs(5),
            ..FetchSettings::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_for_a_local_resource_moves_all_deadlines() {
        let settings = settings();
        let mut timer = ExchangeTimer::start(&settings);
        timer.request_started();
        sleep(Duration::from_secs(1)).await;
        timer.on_bytes(10);
        timer.without_timeout(sleep(Duration::from_secs(1_000))).await;
        assert_eq!(timer.elapsed_ms(), (Some(1_000), Some(1_000)));
        assert!(timer.with_timeout(sleep(Duration::from_secs(4))).await.is_ok());
        assert_eq!(timer.with_timeout(pending::<()>()).await, Err(Reason::TooSlow));
    }

    /// Waits for ever; the reason of the timeout, and when it came.
    async fn stall(timer: &ExchangeTimer<'_>, start: Instant) -> (Reason, u64) {
        let reason = timer.with_timeout(pending::<()>()).await.unwrap_err();
        (reason, start.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn each_phase_has_its_own_timeout() {
        let settings = settings();
        let start = Instant::now();
        let mut timer = ExchangeTimer::start(&settings);
        assert_eq!(stall(&timer, start).await, (Reason::ConnectTimeout, 10));
        timer.request_started();
        assert_eq!(stall(&timer, start).await, (Reason::FirstByteTimeout, 30));
        assert!(!timer.has_received());
        timer.connect_started();
        assert_eq!(stall(&timer, start).await, (Reason::ConnectTimeout, 40));
    }

    #[tokio::test(start_paused = true)]
    async fn the_mean_rate_counts_from_the_first_byte_and_after_the_grace_period() {
        let settings = settings();
        let start = Instant::now();
        let mut timer = ExchangeTimer::start(&settings);
        timer.request_started();
        sleep(Duration::from_secs(3)).await;
        timer.on_bytes(1);
        // 1 byte allows 10 ms, less than the grace period of 5 s.
        assert_eq!(stall(&timer, start).await, (Reason::TooSlow, 8));
        timer.on_bytes(999);
        // 1,000 bytes allow 10 s since the first byte.
        assert_eq!(stall(&timer, start).await, (Reason::TooSlow, 13));
    }

    #[tokio::test(start_paused = true)]
    async fn the_total_timeout_ends_every_phase() {
        let settings = FetchSettings { min_bytes_per_s: 0, ..settings() };
        let start = Instant::now();
        let mut timer = ExchangeTimer::start(&settings);
        timer.request_started();
        timer.on_bytes(1);
        assert_eq!(stall(&timer, start).await, (Reason::TotalTimeout, 100));
        let endless =
            FetchSettings { total_timeout: Duration::MAX, connect_timeout: Duration::MAX, ..settings };
        let timer = ExchangeTimer::start(&endless);
        assert_eq!(stall(&timer, Instant::now()).await.0, Reason::TotalTimeout);
    }

    #[tokio::test(start_paused = true)]
    async fn latency_and_duration_start_with_the_request_that_gets_the_response() {
        let settings = settings();
        let mut timer = ExchangeTimer::start(&settings);
        sleep(Duration::from_secs(1)).await;
        timer.request_started();
        assert_eq!(timer.elapsed_ms(), (None, None), "no byte was received");
        sleep(Duration::from_millis(70)).await;
        // The first connection was closed: the request is sent again.
        timer.connect_started();
        timer.request_started();
        sleep(Duration::from_millis(30)).await;
        timer.on_bytes(10);
        sleep(Duration::from_millis(500)).await;
        timer.on_bytes(10);
        assert_eq!(timer.elapsed_ms(), (Some(30), Some(530)));
    }
}
