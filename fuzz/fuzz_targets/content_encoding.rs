//! Decodes any bytes with any content encodings: the output is within its limit, the memory is in proportion to it, and a
//! lower limit gives the beginning of the same output.
//!
//! The input is one byte that selects the encodings, and the body.
#![no_main]

use std::borrow::Cow;
use std::fs;

use libfuzzer_sys::fuzz_target;
use parse::{DecodeEnd, decode_content};

/// Values of `Content-Encoding`; one byte selects one of them.
const ENCODINGS: [&str; 8] = [
    "gzip",
    "deflate",
    "br",
    "zstd",
    "gzip, br",
    "zstd, deflate",
    "br, zstd, gzip",
    "gzip, gzip, gzip, gzip, gzip",
];
const MAX_BYTES: usize = 1 << 20;
/// Maximum growth of the process: two outputs (a nested encoding has input and output), the window of a decoder (16 MiB of
/// brotli, 8 MiB of zstd) and its tables.
const MAX_GROWTH_BYTES: usize = 64 << 20;

/// Value of a field of `/proc/self/status` in bytes.
fn process_bytes(field: &str) -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim_start_matches(':').trim_end_matches("kB").trim().parse::<usize>().ok().map(|kib| kib << 10)
}

fuzz_target!(|data: &[u8]| {
    let [selector, body @ ..] = data else { return };
    let encodings = ENCODINGS[usize::from(*selector) % ENCODINGS.len()];
    // Resets the peak of the resident memory (proc(5), clear_refs).
    let has_reset = fs::write("/proc/self/clear_refs", "5").is_ok();
    let before = process_bytes("VmRSS").filter(|_| has_reset);
    let decoded = decode_content(body, encodings, MAX_BYTES);
    if let Some((before, peak)) = before.zip(process_bytes("VmHWM")) {
        assert!(peak <= before + MAX_GROWTH_BYTES, "{encodings}: {before} bytes grew to {peak}");
    }
    assert!(decoded.bytes.len() <= body.len().max(MAX_BYTES));
    if decoded.end == DecodeEnd::Undecodable {
        assert!(decoded.bytes.is_empty());
    }
    // Nested encodings share one limit; plain text that is declared as encoded is returned as it is.
    let was_decoded = decoded.end == DecodeEnd::Complete && matches!(decoded.bytes, Cow::Owned(_));
    if !encodings.contains(',') && was_decoded && !decoded.bytes.is_empty() {
        let half = decoded.bytes.len() / 2;
        let start = decode_content(body, encodings, half);
        assert_eq!(*start.bytes, decoded.bytes[..half]);
        assert_eq!(start.end, DecodeEnd::LimitReached);
    }
});
