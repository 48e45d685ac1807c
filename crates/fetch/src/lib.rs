//! How does one request become one answer? Over http, https, ftp or gopher, within limits, to addresses that may be asked.
//!
//! This crate never schedules, retries or stores: it is told what to ask whom, and tells what came back.
