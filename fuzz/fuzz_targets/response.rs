//! Parses any bytes as an HTTP/1.1 response, in one chunk and in many: no limit is exceeded, and the result does not depend
//! on how the bytes are split, except for which of two faults of a head is reported.
//!
//! The input is three bytes, which give the chunk size and the limits of head and body, followed by the bytes of the server.
#![no_main]

use fetch::{Response, parse_response};
use libfuzzer_sys::fuzz_target;
use model::Reason;

fuzz_target!(|data: &[u8]| {
    let [chunk, head, body, sent @ ..] = data else { return };
    let (max_head_bytes, max_body_bytes) = (usize::from(*head) * 16, usize::from(*body) * 16);
    let whole = parse_response([sent], max_head_bytes, max_body_bytes);
    assert!(whole.head.len() <= max_head_bytes && whole.body.len() <= max_body_bytes);
    // A head has a status, and without a head there is a reason.
    assert_eq!(whole.status == 0, whole.head.is_empty());
    assert!(whole.status != 0 || whole.failure.is_some());
    assert!((100..1_000).contains(&whole.status) || whole.status == 0, "{}", whole.status);
    let split = parse_response(sent.chunks(usize::from(*chunk).max(1)), max_head_bytes, max_body_bytes);
    // A head that is both too large and invalid is reported by the fault that was detected first.
    let either = |response: &Response| {
        matches!(response.failure, Some(Reason::HeadersTooLarge | Reason::InvalidResponse))
    };
    assert!(
        split == whole || whole.head.is_empty() && either(&whole) && either(&split),
        "{split:?} {whole:?}"
    );
});
