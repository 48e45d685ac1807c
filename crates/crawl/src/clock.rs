//! What time is it? Unix time that never goes back, so that nobody who sets the computer's clock makes the crawl impolite.
//!
//! A laboratory may have a clock of its own, which runs faster: every wait of a crawl is then shorter by as much, and weeks
//! pass in seconds. What others take their time for (answers, names, disks) takes its real time, of course.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The time of one crawl: when it began, and what has passed since.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    began: Instant,
    began_us: u64,
    /// Seconds of this clock in a real one.
    speed: f64,
}

impl Clock {
    /// The time of the system, from now on.
    pub fn start() -> Clock {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Clock { began: Instant::now(), began_us: now.as_micros() as u64, speed: 1.0 }
    }

    /// A clock for laboratories: it is this time now, in Unix milliseconds, and time passes so many times as fast. For a
    /// synthetic Web with a clock of its own, never for the Web: waits become shorter, too.
    pub fn sped_up(now_ms: u64, speed: f64) -> Clock {
        Clock {
            began: Instant::now(),
            began_us: now_ms.saturating_mul(1_000),
            speed: speed.max(f64::MIN_POSITIVE),
        }
    }

    /// The last full millisecond: before anything that begins now.
    pub fn now_ms(self) -> u64 {
        self.now_us() / 1_000
    }

    /// The next full millisecond: after everything that ended now. A wait that is counted from here is never short.
    pub(crate) fn passed_ms(self) -> u64 {
        self.now_us().div_ceil(1_000)
    }

    pub(crate) fn now_s(self) -> u32 {
        seconds(self.now_ms())
    }

    /// When a time will be.
    pub(crate) fn instant(self, time_ms: u64) -> Instant {
        let later_us = time_ms.saturating_mul(1_000).saturating_sub(self.began_us);
        self.began + self.real(Duration::from_micros(later_us))
    }

    /// How long a while of this clock really takes.
    pub(crate) fn real(self, while_: Duration) -> Duration {
        if self.speed == 1.0 {
            return while_;
        }
        // Far beyond the end of any crawl, and never beyond what an instant can hold.
        Duration::from_secs_f64((while_.as_secs_f64() / self.speed).min(LONGEST_S))
    }

    pub(crate) fn now_us(self) -> u64 {
        let passed = self.began.elapsed();
        let passed_us = match self.speed {
            1.0 => passed.as_micros() as u64,
            speed => (passed.as_secs_f64() * speed * 1e6) as u64,
        };
        self.began_us + passed_us
    }
}

const LONGEST_S: f64 = 1e9;

/// Milliseconds as states keep times: in seconds, in 32 bits.
pub(crate) fn seconds(time_ms: u64) -> u32 {
    u32::try_from(time_ms / 1_000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sped_up_clock_makes_waits_shorter_by_as_much() {
        let clock = Clock::sped_up(1_000_000, 86_400.0);
        let day = clock.instant(1_000_000 + 86_400_000).duration_since(clock.began);
        assert!(day.abs_diff(Duration::from_secs(1)) < Duration::from_millis(1), "{day:?}");
        assert_eq!(clock.real(Duration::from_secs(86_400 * 7)), Duration::from_secs(7));
        assert_eq!(clock.instant(5), clock.began, "what has passed is now");
        let earlier_ms = clock.now_ms();
        assert!(earlier_ms >= 1_000_000 && clock.passed_ms() >= earlier_ms);
        clock.instant(u64::MAX);
    }

    #[test]
    fn the_systems_clock_is_left_as_it_is() {
        let clock = Clock::start();
        assert_eq!(clock.real(Duration::from_nanos(1)), Duration::from_nanos(1));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        assert!(clock.now_ms().abs_diff(now) < 10_000);
    }
}
