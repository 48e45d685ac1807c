//! Random histories on a simulated disk: operations, faults and power cuts, compared with a model.
//!
//! After each fault the collection is opened again, and must be at its last acknowledged commit, or at the one that was
//! in progress; `weir check` must find nothing, and work goes on. Everything is determined by the seed of the history.
//!
//! `WEIR_LONG=1` runs histories from a random seed for ten minutes, or for `WEIR_HISTORY_MINUTES`. `WEIR_HISTORY=SEED`
//! runs one and prints its steps.

mod analysis;
mod history;
mod model;
mod writes;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use history::History;

/// Number of histories of a short run.
const HISTORIES: u64 = 2_000;
/// Default duration of a long run.
const LONG_RUN_MINUTES: u64 = 10;

/// Duration of a long run; `None` for a short one.
fn long_run() -> Option<Duration> {
    let is_long = std::env::var_os("WEIR_LONG").is_some_and(|value| !value.is_empty() && value != "0");
    let minutes = std::env::var("WEIR_HISTORY_MINUTES").ok().and_then(|minutes| minutes.parse().ok());
    is_long.then(|| Duration::from_secs(60 * minutes.unwrap_or(LONG_RUN_MINUTES)))
}

#[test]
fn no_fault_and_no_power_cut_loses_an_acknowledged_commit() {
    if let Ok(seed) = std::env::var("WEIR_HISTORY") {
        History::run(seed.parse().unwrap(), true);
        return;
    }
    let started = Instant::now();
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let long_run = long_run();
    let first = if long_run.is_some() { since_epoch.as_nanos() as u64 } else { 0 };
    let next = AtomicU64::new(0);
    let worker = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let is_over = long_run.map_or(number >= HISTORIES, |limit| started.elapsed() > limit);
            if is_over {
                return;
            }
            let seed = first.wrapping_add(number);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| History::run(seed, false))) {
                println!("failed: repeat it with WEIR_HISTORY={seed}");
                std::panic::resume_unwind(panic);
            }
        }
    };
    thread::scope(|scope| {
        let other = scope.spawn(worker);
        worker();
        other.join().unwrap();
    });
    let histories = next.into_inner();
    println!("{histories} histories in {:.1} s", started.elapsed().as_secs_f64());
}

#[test]
fn a_history_is_determined_by_its_seed() {
    for seed in 0..40 {
        assert_eq!(History::run(seed, false), History::run(seed, false), "seed {seed}");
    }
}
