//! Skipping of tests that cannot run on this machine.

/// Environment variable that allows tests to be skipped.
const ALLOW_SKIP: &str = "WEIR_ALLOW_SKIP";

/// Fails the test, or reports that it is skipped if the environment variable `WEIR_ALLOW_SKIP` is set. The caller returns
/// from the test afterwards.
///
/// # Panics
/// Without `WEIR_ALLOW_SKIP`.
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
pub fn skip(reason: &str) {
    let is_allowed = std::env::var_os(ALLOW_SKIP).is_some_and(|value| !value.is_empty() && value != "0");
    assert!(is_allowed, "cannot run this test: {reason} (set {ALLOW_SKIP}=1 to skip it)");
    eprintln!("skipped: {reason}");
}
