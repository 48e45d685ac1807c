//! Write timeout of a connection.
//!
//! A client that reads nothing would hold its connection for ever, with the rest of the response in the buffer. Each write that
//! cannot proceed therefore has a timeout, which restarts with every accepted byte: a long response may take as long as it
//! makes progress.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use stream::{ActiveRequest, ConnectionActivity};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Write timeout of a connection, shared with the handler, which may change it for the current response.
#[derive(Clone)]
pub(crate) struct WriteTimeout(Arc<AtomicU64>);

impl WriteTimeout {
    pub(crate) fn new(time: Duration) -> WriteTimeout {
        WriteTimeout(Arc::new(AtomicU64::new(time.as_millis() as u64)))
    }

    pub(crate) fn set(&self, time: Duration) {
        self.0.store(time.as_millis() as u64, Ordering::Relaxed);
    }

    fn get(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// Connection whose writes fail when the client accepts nothing for too long.
pub(crate) struct StallTimeout<S> {
    inner: S,
    timeout: WriteTimeout,
    activity: ConnectionActivity,
    stalled: Option<StalledWrite>,
}

/// Write that cannot proceed. The connection is busy meanwhile: the response is not complete.
struct StalledWrite {
    timer: Pin<Box<Sleep>>,
    _active_request: ActiveRequest,
}

impl<S> StallTimeout<S> {
    pub(crate) fn new(inner: S, timeout: WriteTimeout, activity: ConnectionActivity) -> StallTimeout<S> {
        StallTimeout { inner, timeout, activity, stalled: None }
    }

    /// Passes the result of a write on; fails with `TimedOut` if the write was pending for too long.
    fn check_stall(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let (timeout, activity) = (&self.timeout, &self.activity);
        let stalled = self.stalled.get_or_insert_with(|| StalledWrite {
            timer: Box::pin(sleep(timeout.get())),
            _active_request: activity.begin_request(),
        });
        ready!(stalled.timer.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StallTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StallTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.check_stall(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, buffers);
        self.check_stall(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::runtime::Builder;

    use super::*;

    const SHORT: Duration = Duration::from_millis(100);

    fn run(test: impl Future<Output = ()>) {
        Builder::new_current_thread().enable_time().build().unwrap().block_on(test);
    }

    #[test]
    fn a_client_that_reads_nothing_times_out() {
        run(async {
            let (ours, _theirs) = duplex(16);
            let mut ours = StallTimeout::new(ours, WriteTimeout::new(SHORT), ConnectionActivity::default());
            let error = ours.write_all(&[0; 64]).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        });
    }

    #[test]
    fn a_slow_client_gets_the_whole_response() {
        run(async {
            let (ours, mut theirs) = duplex(16);
            let mut ours = StallTimeout::new(ours, WriteTimeout::new(SHORT), ConnectionActivity::default());
            let reader = async {
                let mut chunk = [0; 16];
                for _ in 0..8 {
                    sleep(SHORT / 2).await;
                    theirs.read_exact(&mut chunk).await.unwrap();
                }
            };
            // The whole transfer takes longer than the timeout of one write.
            let (written, ()) = tokio::join!(ours.write_all(&[0; 128]), reader);
            written.unwrap();
        });
    }
}
