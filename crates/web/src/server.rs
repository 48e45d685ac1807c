//! Who listens? One thread with a runtime of its own: it takes connections, a bounded number at a time, and hands what
//! they ask to the routes.
//!
//! The thread belongs to [`Serving`], and ends with it: connections that are idle are closed, answers under way get a
//! moment.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::{Extension, Router};
use crawl::Helm;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};

use crate::desk::Desk;
use crate::error::{Error, Result};
use crate::routes;
use crate::web_settings::WebSettings;

/// Connections at the same time; more of them wait to be taken.
const MOST_CONNECTIONS: usize = 256;
/// The head of a request.
const MOST_HEAD_BYTES: usize = 32 << 10;
/// For it to come; also how long an idle connection is kept.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// For answers under way when the server ends.
const END_TIME: Duration = Duration::from_secs(2);
/// After a connection could not be taken: mostly because the process has too many files open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A server that has its address, and does not answer yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    settings: WebSettings,
    helm: Option<Helm>,
}

impl Server {
    /// Takes the address, for a collection and the crawl of it that this helm steers, if one runs here; tells whether it can be had, and may be.
    pub fn bind(settings: WebSettings, helm: Option<Helm>) -> Result<Server> {
        let address = settings.listen;
        if !address.ip().is_loopback() && settings.token.is_none() {
            return Err(Error::NoToken { address });
        }
        let listener = TcpListener::bind(address);
        let bound = listener.and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?, listener))
        });
        let (address, listener) = bound.map_err(|source| Error::Listen { address, source })?;
        Ok(Server { listener, address, settings, helm })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers from now on, on another thread.
    pub fn start(self) -> Result<Serving> {
        let Server { listener, address, settings, helm } = self;
        let start = |source| Error::Start { source };
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(start)?;
        let router = routes::router(&Arc::new(Desk::new(settings, helm, address.port())?));
        let (stop, stopped) = oneshot::channel();
        let work = move || run(runtime, listener, router, stopped);
        let thread = thread::Builder::new().name("web".to_owned()).spawn(work).map_err(start)?;
        Ok(Serving { address, stop: Some(stop), thread: Some(thread) })
    }
}

/// A server that answers until this is gone.
pub struct Serving {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it; answers under way get a moment.
    pub fn stop(self) {}
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there was told there.
            let _ = thread.join();
        }
    }
}

fn run(runtime: Runtime, listener: TcpListener, router: Router, stopped: oneshot::Receiver<()>) {
    runtime.block_on(async move {
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
        let connections = GracefulShutdown::new();
        tokio::select! {
            () = accept(&listener, router, &connections) => {}
            _ = stopped => {}
        }
        drop(listener);
        // Whoever has not got their answer by then does not get it.
        let _ = timeout(END_TIME, connections.shutdown()).await;
    });
    // Nor is work waited for that nobody will see.
    runtime.shutdown_timeout(END_TIME);
}

async fn accept(listener: &tokio::net::TcpListener, router: Router, connections: &GracefulShutdown) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((socket, peer)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let client = Extension(stream::ClientAddress(peer.ip()));
        let service = TowerToHyperService::new(router.clone().layer(client));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(MOST_HEAD_BYTES)
            .serve_connection(TokioIo::new(socket), service);
        let connection = connections.watch(connection);
        tokio::spawn(async move {
            // A client that went away, or never spoke HTTP, is no failure of ours.
            let _ = connection.await;
            drop(place);
        });
    }
}
