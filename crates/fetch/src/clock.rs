//! How long is it worth waiting for the next byte, and what is it called when it does not come?
//!
//! Every wait of an exchange goes through here, so that a server that does something forever meets one of the limits.

use std::future::Future;
use std::time::Duration;

use model::Reason;
use tokio::time::{Instant, timeout_at};

use crate::settings::FetchSettings;

/// The times of one exchange.
#[derive(Debug)]
pub(crate) struct Clock<'s> {
    settings: &'s FetchSettings,
    /// When everything is over.
    end: Instant,
    /// Until when the step that is being made must be made.
    step_end: Instant,
    step_reason: Reason,
    asked: Option<Instant>,
    first_byte: Option<Instant>,
    received_bytes: u64,
}

impl<'s> Clock<'s> {
    /// Begins with a connection.
    pub(crate) fn start(settings: &'s FetchSettings) -> Clock<'s> {
        let now = Instant::now();
        Clock {
            settings,
            end: after(now, settings.total_timeout),
            step_end: after(now, settings.connect_timeout),
            step_reason: Reason::ConnectTimedOut,
            asked: None,
            first_byte: None,
            received_bytes: 0,
        }
    }

    /// Another connection is needed.
    pub(crate) fn connecting(&mut self) {
        self.step_end = after(Instant::now(), self.settings.connect_timeout);
        self.step_reason = Reason::ConnectTimedOut;
    }

    /// The request is about to be sent.
    pub(crate) fn asking(&mut self) {
        let now = Instant::now();
        self.asked = Some(now);
        self.first_byte = None;
        self.received_bytes = 0;
        self.step_end = after(now, self.settings.first_byte_timeout);
        self.step_reason = Reason::FirstByteTimedOut;
    }

    /// So many bytes of the answer came.
    pub(crate) fn received(&mut self, bytes: usize) {
        let first_byte = *self.first_byte.get_or_insert_with(Instant::now);
        self.received_bytes += bytes as u64;
        self.step_reason = Reason::TooSlow;
        self.step_end = match u64::from(self.settings.least_bytes_per_s) {
            0 => self.end,
            least => {
                // The moment when the average falls below the least, if nothing comes until then.
                let paid_for = Duration::from_millis(self.received_bytes.saturating_mul(1000) / least);
                after(first_byte, paid_for.max(self.settings.speed_grace))
            }
        };
    }

    /// Whether anything of the answer came.
    pub(crate) fn has_received(&self) -> bool {
        self.first_byte.is_some()
    }

    /// Waits as long as it is worth it.
    pub(crate) async fn wait<T>(&self, what: impl Future<Output = T>) -> Result<T, Reason> {
        if self.step_end < self.end {
            timeout_at(self.step_end, what).await.map_err(|_| self.step_reason)
        } else {
            timeout_at(self.end, what).await.map_err(|_| Reason::TotalTimedOut)
        }
    }

    /// From the request to the first byte, and to now.
    pub(crate) fn times_ms(&self) -> (Option<u32>, Option<u32>) {
        let since_asked = |then: Instant| {
            let past = then.saturating_duration_since(self.asked?);
            Some(u32::try_from(past.as_millis()).unwrap_or(u32::MAX))
        };
        (self.first_byte.and_then(since_asked), self.first_byte.and_then(|_| since_asked(Instant::now())))
    }
}

/// Time-outs without end are far enough away.
fn after(start: Instant, time: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 86_400);
    start + time.min(YEAR)
}
