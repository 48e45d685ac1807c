//! Where can a test pull the plug? At every step named here, when built with the feature `failpoints`.
//!
//! `WEIR_FAILPOINT=NAME` stops the process as a power cut would, without any cleaning up, when that step is reached;
//! `NAME#3` when it is reached for the third time. `WEIR_STEPS=FILE` appends a line with the name of each step to the
//! file, so that whoever kills the process knows what it was at: work that takes a while has a step `WHAT: begins` and
//! a step `WHAT: ends`. Without the feature nothing of this is in the program.

/// A step at which a test may stop the process.
#[cfg(feature = "failpoints")]
pub(crate) fn failpoint(name: &str) {
    tell(name);
    stop(name);
}

/// A step at which a test may stop the process.
#[cfg(not(feature = "failpoints"))]
pub(crate) fn failpoint(_name: &str) {}

#[cfg(feature = "failpoints")]
fn tell(name: &str) {
    use std::io::Write;

    let Some(path) = std::env::var_os("WEIR_STEPS") else { return };
    let line = format!("{name}\n");
    let told = std::fs::File::options().append(true).open(path);
    // A test that does not hear of it fails.
    let _ = told.and_then(|mut file| file.write_all(line.as_bytes()));
}

#[cfg(feature = "failpoints")]
fn stop(name: &str) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static REACHED: AtomicU32 = AtomicU32::new(0);

    let Ok(wanted) = std::env::var("WEIR_FAILPOINT") else { return };
    let (wanted, times) = wanted.split_once('#').unwrap_or((&wanted, "1"));
    if wanted == name && REACHED.fetch_add(1, Ordering::Relaxed) + 1 == times.parse().unwrap_or(1) {
        std::process::abort();
    }
}
