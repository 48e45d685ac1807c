//! What comes until the server closes? The whole protocol of gopher, and of the data connections of ftp.

use model::Reason;
use tokio::net::TcpStream;

use crate::answer::{Answer, Cut};
use crate::clock::Clock;
use crate::http1::read_piece;

/// Receives a body of at most `limit_bytes`; its status is 200 if there is anything in it, or nothing went wrong.
pub(crate) async fn receive(stream: &mut TcpStream, limit_bytes: usize, clock: &mut Clock<'_>) -> Answer {
    let mut body = Vec::new();
    let (cut, failure) = loop {
        let mut is_full = false;
        let take = |piece: &[u8]| {
            let length = piece.len().min(limit_bytes - body.len());
            body.extend_from_slice(&piece[..length]);
            is_full = length < piece.len();
        };
        match clock.wait(read_piece(stream, take)).await {
            Ok(Ok(0)) => break (None, None),
            Ok(Ok(_)) if is_full => break (Some(Cut::Length), None),
            Ok(Ok(length)) => clock.received(length),
            Ok(Err(_)) => break (Some(Cut::Disconnect), Some(Reason::ConnectionLost)),
            Err(reason) => break (Some(Cut::Time), Some(reason)),
        }
    };
    match failure {
        Some(reason) if body.is_empty() => Answer::failed(reason),
        failure => Answer { status: 200, body, cut, failure, ..Answer::default() },
    }
}

/// Cuts a body that grew when it was made into a page.
pub(crate) fn limit(answer: &mut Answer, limit_bytes: usize) {
    if answer.body.len() > limit_bytes {
        answer.body.truncate(limit_bytes);
        answer.cut = Some(Cut::Length);
    }
}
