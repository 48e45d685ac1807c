//! Reader of data that ends when the server closes the connection: gopher, and the data connections of ftp.

use model::{Reason, Truncation};
use tokio::io::AsyncRead;

use crate::body_budget::BodyReservation;
use crate::exchange_timer::ExchangeTimer;
use crate::http::http1::read_chunk;
use crate::http::response_reader::ReadLimits;
use crate::response::Response;

/// Reads a body up to its maximum size. The status is 200 unless the transfer failed before the first byte.
pub(crate) async fn read_to_close(
    stream: &mut (impl AsyncRead + Unpin),
    limits: &ReadLimits<'_>,
    timer: &mut ExchangeTimer<'_>,
) -> Response {
    let max_bytes = limits.max_body_bytes;
    let (mut body, mut reservation) = (Vec::new(), BodyReservation::default());
    let (truncation, failure) = loop {
        if let Some(budget) = limits.body_budget
            && !budget.grow(&mut reservation, body.len(), max_bytes, timer).await
        {
            break (Some(Truncation::Length), None);
        }
        let mut is_full = false;
        let on_chunk = |chunk: &[u8]| {
            let length = chunk.len().min(max_bytes - body.len());
            body.extend_from_slice(&chunk[..length]);
            is_full = length < chunk.len();
        };
        match timer.with_timeout(read_chunk(stream, on_chunk)).await {
            Ok(Ok(0)) => break (None, None),
            Ok(Ok(_)) if is_full => break (Some(Truncation::Length), None),
            Ok(Ok(length)) => timer.on_bytes(length),
            Ok(Err(_)) => break (Some(Truncation::Disconnect), Some(Reason::ConnectionClosed)),
            Err(reason) => break (Some(Truncation::Time), Some(reason)),
        }
    };
    match failure {
        Some(reason) if body.is_empty() => Response::from_failure(reason),
        failure => Response { status: 200, body, reservation, truncation, failure, ..Response::default() },
    }
}

/// Applies the size limit again to a body that grew when it was converted to HTML.
pub(crate) fn truncate_body(response: &mut Response, max_bytes: usize) {
    if response.body.len() > max_bytes {
        response.body.truncate(max_bytes);
        response.truncation = Some(Truncation::Length);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncWriteExt, duplex};

    use super::*;
    use crate::settings::FetchSettings;

    /// Sends `parts`, 3 seconds apart, then closes or stalls; the limit is 10 bytes.
    async fn receive(
        parts: &'static [&'static str],
        stalls: bool,
    ) -> (String, Option<Truncation>, Option<Reason>) {
        let settings = FetchSettings {
            first_byte_timeout: Duration::from_secs(20),
            total_timeout: Duration::from_secs(60),
            min_bytes_per_s: 0,
            ..FetchSettings::default()
        };
        let (mut server, mut client) = duplex(64);
        let sender = tokio::spawn(async move {
            for part in parts {
                tokio::time::sleep(Duration::from_secs(3)).await;
                // Fails once the client has enough.
                let _ = server.write_all(part.as_bytes()).await;
            }
            if stalls {
                std::future::pending::<()>().await;
            }
        });
        let mut timer = ExchangeTimer::start(&settings);
        timer.request_started();
        let limits =
            ReadLimits { max_head_bytes: 0, max_body_bytes: 10, mime_types: None, body_budget: None };
        let response = read_to_close(&mut client, &limits, &mut timer).await;
        sender.abort();
        (String::from_utf8(response.body).unwrap(), response.truncation, response.failure)
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_ends_with_the_connection_or_at_its_limit() {
        assert_eq!(receive(&["abc", "def"], false).await, ("abcdef".to_owned(), None, None));
        assert_eq!(receive(&["0123456789"], false).await, ("0123456789".to_owned(), None, None));
        let (body, truncation, failure) = receive(&["0123456", "789+"], false).await;
        assert_eq!((body.as_str(), truncation, failure), ("0123456789", Some(Truncation::Length), None));
        assert_eq!(receive(&[], false).await, (String::new(), None, None));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stalled_body_is_kept_and_marked() {
        let (body, truncation, failure) = receive(&["abc"], true).await;
        assert_eq!(body, "abc");
        assert_eq!((truncation, failure), (Some(Truncation::Time), Some(Reason::TotalTimeout)));
        let nothing = receive(&[], true).await;
        assert_eq!(nothing, (String::new(), None, Some(Reason::FirstByteTimeout)));
    }
}
