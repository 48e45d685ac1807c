//! Any bytes are an answer over HTTP/1.1, whole or in pieces: no limit is passed, and where pieces end does not
//! matter, but for which of two faults of a head is told.
//!
//! The input is three bytes, which give the length of the pieces and the limits of head and body, and what a server sends.
#![no_main]

use fetch::{Answer, read_answer};
use libfuzzer_sys::fuzz_target;
use model::Reason;

fuzz_target!(|data: &[u8]| {
    let [piece, head, body, sent @ ..] = data else { return };
    let (head_bytes, body_bytes) = (usize::from(*head) * 16, usize::from(*body) * 16);
    let whole = read_answer([sent], head_bytes, body_bytes);
    assert!(whole.head.len() <= head_bytes && whole.body.len() <= body_bytes);
    // A head that came is one with a status, and without a head there is a reason.
    assert_eq!(whole.status == 0, whole.head.is_empty());
    assert!(whole.status != 0 || whole.failure.is_some());
    assert!((100..1_000).contains(&whole.status) || whole.status == 0, "{}", whole.status);
    let pieces = read_answer(sent.chunks(usize::from(*piece).max(1)), head_bytes, body_bytes);
    // A head that is too long and wrong as well is told by what was noticed first.
    let either = |answer: &Answer| matches!(answer.failure, Some(Reason::HeadTooLong | Reason::BadAnswer));
    assert!(
        pieces == whole || whole.head.is_empty() && either(&whole) && either(&pieces),
        "{pieces:?} {whole:?}"
    );
});
