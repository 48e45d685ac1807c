//! Does the server show what is there, to those who may see it, and harm nobody? All tests run the real program, and ask it
//! over real sockets; some by way of a real browser.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod archive;
mod browser;
mod browsing;
mod hostile;
mod interface;
mod safety;
mod schema;
mod served;
mod tls;
