//! Clock of the synthetic Web: real time multiplied by a speed; tests can advance it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::world::date::{EPOCH, Moment};

/// Clock of page changes. Politeness is measured in real time, with the request log.
#[derive(Debug)]
pub struct Clock {
    started: Instant,
    start_s: f64,
    speed: f64,
    advanced_ms: AtomicU64,
}

impl Clock {
    /// Creates a clock that starts `start_day` days after the beginning of this Web and runs at `speed` times real
    /// time.
    pub fn new(start_day: f64, speed: f64) -> Clock {
        Clock {
            started: Instant::now(),
            start_s: start_day * 86_400.0,
            speed,
            advanced_ms: AtomicU64::new(0),
        }
    }

    /// Seconds since the beginning of this Web.
    pub fn seconds(&self) -> u64 {
        let moved_s = self.advanced_ms.load(Ordering::Relaxed) as f64 / 1000.0;
        (self.start_s + self.started.elapsed().as_secs_f64() * self.speed + moved_s) as u64
    }

    /// Date and time on this Web.
    pub fn now(&self) -> Moment {
        EPOCH + self.seconds()
    }

    /// Moves the clock forward. It cannot be moved back, because pages never revert to an older version.
    pub fn advance(&self, by: Duration) {
        self.advanced_ms.fetch_add(by.as_millis() as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_clock_moves_only_when_advanced() {
        let clock = Clock::new(10.0, 0.0);
        assert_eq!(clock.seconds(), 864_000);
        clock.advance(Duration::from_secs(3600));
        assert_eq!(clock.now(), EPOCH + 867_600);
    }
}
