//! How long is a client waited for that takes nothing of its answer?
//!
//! A connection whose client reads nothing would be held for ever: the rest of the answer lies ready, and nobody comes for it. So
//! every piece that cannot be written is given a time. What has been taken meanwhile makes it begin anew: a long answer may take as
//! long as it moves.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How long the answer that is under way may stand still; who answers may change it.
#[derive(Clone)]
pub(crate) struct Patience(Arc<AtomicU64>);

impl Patience {
    pub(crate) fn new(time: Duration) -> Patience {
        Patience(Arc::new(AtomicU64::new(time.as_millis() as u64)))
    }

    pub(crate) fn set(&self, time: Duration) {
        self.0.store(time.as_millis() as u64, Ordering::Relaxed);
    }

    fn time(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// A connection that is given up when nothing of an answer is taken for too long.
pub(crate) struct Patient<S> {
    inner: S,
    patience: Patience,
    /// Since when nothing could be written.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub(crate) fn new(inner: S, patience: Patience) -> Patient<S> {
        Patient { inner, patience, stalled: None }
    }

    /// What came of writing; an error if nothing has for too long.
    fn judge(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let patience = &self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(patience.time())));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.judge(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, pieces);
        self.judge(context, written)
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
    fn who_takes_nothing_is_given_up() {
        run(async {
            let (ours, _theirs) = duplex(16);
            let mut ours = Patient::new(ours, Patience::new(SHORT));
            let error = ours.write_all(&[0; 64]).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        });
    }

    #[test]
    fn who_takes_a_little_now_and_then_gets_all() {
        run(async {
            let (ours, mut theirs) = duplex(16);
            let mut ours = Patient::new(ours, Patience::new(SHORT));
            let reader = async {
                let mut piece = [0; 16];
                for _ in 0..8 {
                    sleep(SHORT / 2).await;
                    theirs.read_exact(&mut piece).await.unwrap();
                }
            };
            // In all this takes longer than anybody is waited for at once.
            let (written, ()) = tokio::join!(ours.write_all(&[0; 128]), reader);
            written.unwrap();
        });
    }
}
