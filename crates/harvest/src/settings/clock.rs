//! Clock of a crawl: monotonic Unix time, so that a change of the system clock never shortens a politeness delay.
//!
//! Experiments can run a faster clock: every delay of the crawl becomes shorter by the same factor, and weeks pass in
//! seconds. The network, DNS and the disk still take their real time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Monotonic clock of one crawl.
#[derive(Debug, Clone, Copy)]
pub struct CrawlClock {
    started: Instant,
    started_us: u64,
    /// Seconds of this clock per real second.
    speed: f64,
}

impl CrawlClock {
    /// Starts at the current system time.
    pub fn start() -> CrawlClock {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        CrawlClock { started: Instant::now(), started_us: now.as_micros() as u64, speed: 1.0 }
    }

    /// Starts at `now_ms` (Unix milliseconds) and runs `speed` times as fast as real time. Only for a synthetic web with
    /// the same clock, never for real servers: politeness delays shrink, too.
    pub fn with_speed(now_ms: u64, speed: f64) -> CrawlClock {
        CrawlClock {
            started: Instant::now(),
            started_us: now_ms.saturating_mul(1_000),
            speed: speed.max(f64::MIN_POSITIVE),
        }
    }

    /// Current time in Unix milliseconds, rounded down: not after an event that starts now.
    pub fn now_ms(self) -> u64 {
        self.now_us() / 1_000
    }

    /// Current time in Unix milliseconds, rounded up: not before an event that ended now. A delay counted from here is
    /// never too short.
    pub fn now_ceil_ms(self) -> u64 {
        self.now_us().div_ceil(1_000)
    }

    /// Current time in Unix seconds, rounded down.
    pub fn now_s(self) -> u32 {
        seconds(self.now_ms())
    }

    /// Converts a time of this clock to an [`Instant`]; a time before the start becomes the start.
    pub fn instant(self, time_ms: u64) -> Instant {
        let later_us = time_ms.saturating_mul(1_000).saturating_sub(self.started_us);
        self.started + self.to_real_time(Duration::from_micros(later_us))
    }

    /// Converts a duration of this clock to real time.
    pub fn to_real_time(self, duration: Duration) -> Duration {
        if self.speed == 1.0 {
            return duration;
        }
        // Longer than any crawl, and still within the range of `Instant`.
        Duration::from_secs_f64((duration.as_secs_f64() / self.speed).min(MAX_DURATION_S))
    }

    /// Current time in Unix microseconds.
    pub fn now_us(self) -> u64 {
        let elapsed = self.started.elapsed();
        let elapsed_us = match self.speed {
            1.0 => elapsed.as_micros() as u64,
            speed => (elapsed.as_secs_f64() * speed * 1e6) as u64,
        };
        self.started_us + elapsed_us
    }
}

const MAX_DURATION_S: f64 = 1e9;

/// Converts Unix milliseconds to the 32-bit Unix seconds of page and site states.
pub fn seconds(time_ms: u64) -> u32 {
    u32::try_from(time_ms / 1_000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_clock_shortens_delays_by_its_speed() {
        let clock = CrawlClock::with_speed(1_000_000, 86_400.0);
        let day = clock.instant(1_000_000 + 86_400_000).duration_since(clock.started);
        assert!(day.abs_diff(Duration::from_secs(1)) < Duration::from_millis(1), "{day:?}");
        assert_eq!(clock.to_real_time(Duration::from_secs(86_400 * 7)), Duration::from_secs(7));
        assert_eq!(clock.instant(5), clock.started, "a time before the start is the start");
        let earlier_ms = clock.now_ms();
        assert!(earlier_ms >= 1_000_000 && clock.now_ceil_ms() >= earlier_ms);
        clock.instant(u64::MAX);
    }

    #[test]
    fn a_clock_of_normal_speed_does_not_scale_durations() {
        let clock = CrawlClock::start();
        assert_eq!(clock.to_real_time(Duration::from_nanos(1)), Duration::from_nanos(1));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        assert!(clock.now_ms().abs_diff(now) < 10_000);
    }
}
