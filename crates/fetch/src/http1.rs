//! How does an answer come over HTTP/1.1? One request out, one answer in; the rules are those of [`Reception`].

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Poll, ready};

use bytes::BufMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};

use crate::clock::Clock;
use crate::reception::Reception;
use crate::stream::Stream;

/// Enough for head and body of most pages in one go.
const PIECE_BYTES: usize = 64 << 10;

thread_local! {
    /// Where bytes land before anybody knows what they are. Nobody holds it while waiting, so that one does for all
    /// connections of a thread, however many there are.
    static PIECE: RefCell<Box<[u8]>> = RefCell::new(vec![0; PIECE_BYTES].into_boxed_slice());
}

/// Sends `request`, and receives until the answer is complete or given up.
pub(crate) async fn exchange(
    stream: &mut Stream,
    request: &[u8],
    reception: &mut Reception<'_>,
    clock: &mut Clock<'_>,
) {
    clock.asking();
    match clock.wait(send(stream, request)).await {
        Err(reason) => return reception.out_of_time(reason),
        Ok(Err(_)) => return reception.broken(),
        Ok(Ok(())) => {}
    }
    while !reception.is_done() {
        match clock.wait(receive(stream, reception)).await {
            Err(reason) => reception.out_of_time(reason),
            Ok(Err(_)) => reception.broken(),
            Ok(Ok(0)) => reception.closed(),
            Ok(Ok(length)) => clock.received(length),
        }
    }
}

async fn send(stream: &mut Stream, request: &[u8]) -> io::Result<()> {
    stream.write_all(request).await?;
    stream.flush().await
}

/// Receives once: straight into the body where its length is known, or else by way of the shared piece.
async fn receive(stream: &mut Stream, reception: &mut Reception<'_>) -> io::Result<usize> {
    if let Some((body, wanted)) = reception.direct() {
        body.reserve(wanted.min(PIECE_BYTES));
        let length = stream.read_buf(&mut body.limit(wanted)).await?;
        reception.took(length);
        return Ok(length);
    }
    read_piece(stream, |piece| reception.take(piece)).await
}

/// Reads what is there and hands it on; 0 is the end.
pub(crate) async fn read_piece(
    stream: &mut (impl AsyncRead + Unpin),
    mut take: impl FnMut(&[u8]),
) -> io::Result<usize> {
    poll_fn(|context| {
        PIECE.with_borrow_mut(|piece| {
            let mut buffer = ReadBuf::new(piece);
            ready!(Pin::new(&mut *stream).poll_read(context, &mut buffer))?;
            let filled = buffer.filled();
            if !filled.is_empty() {
                take(filled);
            }
            Poll::Ready(Ok(filled.len()))
        })
    })
    .await
}
