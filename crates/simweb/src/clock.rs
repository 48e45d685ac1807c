//! What time is it on the synthetic Web? Its clock runs as many times faster than the real one as is set, and tests
//! can move it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::date::{EPOCH, Moment};

/// The clock by which pages change. Politeness is measured in real time: the request log has that.
#[derive(Debug)]
pub struct Clock {
    started: Instant,
    start_s: f64,
    factor: f64,
    moved_ms: AtomicU64,
}

impl Clock {
    /// A clock that shows `start_day` days after the beginning now, and runs `factor` times as fast as real time.
    pub fn new(start_day: f64, factor: f64) -> Clock {
        Clock { started: Instant::now(), start_s: start_day * 86_400.0, factor, moved_ms: AtomicU64::new(0) }
    }

    /// Seconds since this Web began.
    pub fn seconds(&self) -> u64 {
        let moved_s = self.moved_ms.load(Ordering::Relaxed) as f64 / 1000.0;
        (self.start_s + self.started.elapsed().as_secs_f64() * self.factor + moved_s) as u64
    }

    /// The date and time on this Web.
    pub fn now(&self) -> Moment {
        EPOCH + self.seconds()
    }

    /// Moves the clock forward. There is no way back: pages never grow younger.
    pub fn advance(&self, by: Duration) {
        self.moved_ms.fetch_add(by.as_millis() as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_clock_moves_only_by_hand() {
        let clock = Clock::new(10.0, 0.0);
        assert_eq!(clock.seconds(), 864_000);
        clock.advance(Duration::from_secs(3600));
        assert_eq!(clock.now(), EPOCH + 867_600);
    }
}
