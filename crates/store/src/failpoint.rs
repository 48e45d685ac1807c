//! Fault injection for tests: named steps at which the process can be aborted, with the feature `failpoints`.
//!
//! `WEIR_FAILPOINT=NAME` aborts the process without any cleanup when that step is reached, as a power failure would;
//! `NAME#3` when it is reached for the third time. `WEIR_FAILPOINT_LOG=FILE` appends the name of each step to the file,
//! so that a test that kills the process knows its state: long operations have a step `NAME: begins` and a step
//! `NAME: ends`. Without the feature, nothing of this is compiled.

/// Marks a step at which a test can abort the process.
#[cfg(feature = "failpoints")]
pub(crate) fn failpoint(name: &str) {
    log_step(name);
    abort_process(name);
}

/// Marks a step at which a test can abort the process.
#[cfg(not(feature = "failpoints"))]
pub(crate) fn failpoint(_name: &str) {}

#[cfg(feature = "failpoints")]
fn log_step(name: &str) {
    use std::io::Write;

    let Some(path) = std::env::var_os("WEIR_FAILPOINT_LOG") else { return };
    let line = format!("{name}\n");
    let log = std::fs::File::options().append(true).open(path);
    // An error is ignored: the test fails when the step is missing in its log.
    let _ = log.and_then(|mut file| file.write_all(line.as_bytes()));
}

#[cfg(feature = "failpoints")]
fn abort_process(name: &str) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static REACHED: AtomicU32 = AtomicU32::new(0);

    let Ok(target) = std::env::var("WEIR_FAILPOINT") else { return };
    let (target, times) = target.split_once('#').unwrap_or((&target, "1"));
    if target == name && REACHED.fetch_add(1, Ordering::Relaxed) + 1 == times.parse().unwrap_or(1) {
        std::process::abort();
    }
}
