//! Exchange over HTTP/1.1: sends one request and feeds a [`ResponseReader`] until the response is complete.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Poll, ready};

use bytes::BufMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};

use crate::exchange_timer::ExchangeTimer;
use crate::http::response_reader::ResponseReader;
use crate::tls_stream::MaybeTlsStream;

/// Large enough for head and body of most pages.
const READ_BUFFER_BYTES: usize = 64 << 10;

thread_local! {
    // One buffer serves all connections of a thread: it is borrowed only within a poll, never across an await.
    static READ_BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BUFFER_BYTES].into_boxed_slice());
}

/// Sends a request and receives until the response is complete or has failed.
pub(crate) async fn exchange(
    stream: &mut MaybeTlsStream,
    request: &[u8],
    reader: &mut ResponseReader<'_>,
    timer: &mut ExchangeTimer<'_>,
) {
    timer.request_started();
    match timer.with_timeout(send(stream, request)).await {
        Err(reason) => return reader.on_timeout(reason),
        Ok(Err(_)) => return reader.on_disconnect(),
        Ok(Ok(())) => {}
    }
    while !reader.is_done() {
        match timer.with_timeout(read_once(stream, reader)).await {
            Err(reason) => reader.on_timeout(reason),
            Ok(Err(_)) => reader.on_disconnect(),
            Ok(Ok(0)) => reader.on_close(),
            Ok(Ok(length)) => timer.on_bytes(length),
        }
        if let Some((budget, max_bytes)) = reader.body_limit() {
            let bytes = reader.response.body.len();
            if !budget.grow(&mut reader.response.reservation, bytes, max_bytes, timer).await {
                reader.on_memory_limit();
            }
        }
    }
}

async fn send(stream: &mut MaybeTlsStream, request: &[u8]) -> io::Result<()> {
    stream.write_all(request).await?;
    stream.flush().await
}

/// Reads once: directly into the body where its length is known, otherwise through the shared buffer.
async fn read_once(stream: &mut MaybeTlsStream, reader: &mut ResponseReader<'_>) -> io::Result<usize> {
    if let Some((body, max_bytes)) = reader.body_buffer() {
        body.reserve(max_bytes.min(READ_BUFFER_BYTES));
        let length = stream.read_buf(&mut body.limit(max_bytes)).await?;
        reader.advance_body(length);
        return Ok(length);
    }
    read_chunk(stream, |chunk| reader.push(chunk)).await
}

/// Reads the available bytes and passes them to `on_chunk`; returns their number, 0 at the end of the stream.
pub(crate) async fn read_chunk(
    stream: &mut (impl AsyncRead + Unpin),
    mut on_chunk: impl FnMut(&[u8]),
) -> io::Result<usize> {
    poll_fn(|context| {
        READ_BUFFER.with_borrow_mut(|buffer| {
            let mut buffer = ReadBuf::new(buffer);
            ready!(Pin::new(&mut *stream).poll_read(context, &mut buffer))?;
            let filled = buffer.filled();
            if !filled.is_empty() {
                on_chunk(filled);
            }
            Poll::Ready(Ok(filled.len()))
        })
    })
    .await
}
