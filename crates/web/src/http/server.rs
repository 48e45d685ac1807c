//! Server thread with its own runtime: accepts a bounded number of connections and serves them with the router.
//!
//! The thread belongs to [`RunningServer`] and ends with it: idle connections are closed, responses in progress get a short
//! time to finish.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use harvest::CrawlHandle;
use hyper_util::server::graceful::GracefulShutdown;
use stream::ConnectionTable;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};

use crate::credentials::tls::Tls;
use crate::error::{Error, Result};
use crate::http::connection::{Connection, refuse};
use crate::http::router;
use crate::settings::WebSettings;
use crate::state::app_state::AppState;

/// Maximum number of concurrent 503 responses to refused connections; further ones are closed without a response.
const MAX_REFUSALS: usize = 32;
/// Time for responses in progress at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// Delay after a failed accept, mostly because the process has too many open files.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Server with an open listener that does not serve requests yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    settings: WebSettings,
    crawl: Option<CrawlHandle>,
}

impl Server {
    /// Binds the listener. `crawl` is the crawl of the collection, if it runs in this process. Fails if the address cannot be
    /// bound, or is not loopback and no token is set.
    pub fn bind(settings: WebSettings, crawl: Option<CrawlHandle>) -> Result<Server> {
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
        Ok(Server { listener, address, settings, crawl })
    }

    /// Starts serving on another thread.
    pub fn start(self) -> Result<RunningServer> {
        let Server { listener, address, settings, crawl } = self;
        let start = |source| Error::Start { source };
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(start)?;
        let tls = settings.tls.clone();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let state = Arc::new(AppState::new(settings, crawl, address.port())?);
        let token = state.secrets.token_is_generated.then(|| state.secrets.token.as_str().to_owned());
        let router = router::router(&state);
        let (stop, stopped) = oneshot::channel();
        let work = move || run(runtime, listener, tls.as_ref(), &router, stopped);
        let thread = thread::Builder::new().name("web".to_owned()).spawn(work).map_err(start)?;
        let url = format!("{scheme}://{address}");
        let login_url = token.map(|token| format!("{url}/login?token={token}"));
        Ok(RunningServer { url, login_url, stop: Some(stop), thread: Some(thread) })
    }
}

/// Running server; dropping it stops the server.
pub struct RunningServer {
    url: String,
    login_url: Option<String>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RunningServer {
    /// Base URL without a path: `http://127.0.0.1:9347`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// URL that logs a browser in with the generated token; `None` if the user has set a token.
    pub fn login_url(&self) -> Option<&str> {
        self.login_url.as_deref()
    }

    /// Stops the server; responses in progress get a short time to finish.
    pub fn stop(self) {}
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server thread was already reported by the panic hook.
            let _ = thread.join();
        }
    }
}

fn run(
    runtime: Runtime,
    listener: TcpListener,
    tls: Option<&Tls>,
    router: &Router,
    stopped: oneshot::Receiver<()>,
) {
    runtime.block_on(async move {
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
        let connections = GracefulShutdown::new();
        tokio::select! {
            () = accept(&listener, tls, router, &connections) => {}
            _ = stopped => {}
        }
        drop(listener);
        // Responses that are not finished by then are cut off.
        let _ = timeout(SHUTDOWN_TIMEOUT, connections.shutdown()).await;
    });
    // Blocking work may still run; its results are not needed any more.
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
}

async fn accept(
    listener: &tokio::net::TcpListener,
    tls: Option<&Tls>,
    router: &Router,
    connections: &GracefulShutdown,
) {
    let refusals = Arc::new(Semaphore::new(MAX_REFUSALS));
    let table = Arc::new(ConnectionTable::default());
    loop {
        let Ok((socket, peer)) = listener.accept().await else {
            sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        let permit = match table.acquire(peer.ip()) {
            Ok(permit) => permit,
            Err(reason) => {
                // A TLS client could not read a plain response, and a handshake is too expensive for a refusal.
                if let (Ok(refusal), None) = (Arc::clone(&refusals).try_acquire_owned(), tls) {
                    tokio::spawn(async move {
                        refuse(socket, reason).await;
                        drop(refusal);
                    });
                }
                continue;
            }
        };
        let connection = Connection { socket, peer: peer.ip(), tls: tls.map(Tls::acceptor), permit };
        tokio::spawn(connection.serve(router.clone(), connections.watcher()));
    }
}
