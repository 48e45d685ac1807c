//! Who listens? One thread with a runtime of its own: it takes connections, a bounded number at a time, and hands what
//! they ask to the routes.
//!
//! The thread belongs to [`Serving`], and ends with it: connections that are idle are closed, answers under way get a
//! moment.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use crawl::Helm;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};

use crate::clients::Clients;
use crate::connection::{Connection, refuse};
use crate::desk::Desk;
use crate::error::{Error, Result};
use crate::routes;
use crate::tls::Tls;
use crate::web_settings::WebSettings;

/// Connections at the same time; more of them wait to be taken.
const MOST_CONNECTIONS: usize = 256;
/// Those that are told at the same time that they have too many; more are closed without a word.
const MOST_REFUSALS: usize = 32;
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

    /// Answers from now on, on another thread.
    pub fn start(self) -> Result<Serving> {
        let Server { listener, address, settings, helm } = self;
        let start = |source| Error::Start { source };
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(start)?;
        let tls = settings.tls.clone();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let desk = Arc::new(Desk::new(settings, helm, address.port())?);
        let token = desk.secrets.is_made_up.then(|| desk.secrets.token.as_str().to_owned());
        let router = routes::router(&desk);
        let (stop, stopped) = oneshot::channel();
        let work = move || run(runtime, listener, tls.as_ref(), &router, stopped);
        let thread = thread::Builder::new().name("web".to_owned()).spawn(work).map_err(start)?;
        let url = format!("{scheme}://{address}");
        let login_url = token.map(|token| format!("{url}/login?token={token}"));
        Ok(Serving { url, login_url, stop: Some(stop), thread: Some(thread) })
    }
}

/// A server that answers until this is gone.
pub struct Serving {
    url: String,
    login_url: Option<String>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    /// Where it is, without a path: `http://127.0.0.1:9347`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where who is to change something has to go once; none where the user has set a token, and knows it.
    pub fn login_url(&self) -> Option<&str> {
        self.login_url.as_deref()
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
        // Whoever has not got their answer by then does not get it.
        let _ = timeout(END_TIME, connections.shutdown()).await;
    });
    // Nor is work waited for that nobody will see.
    runtime.shutdown_timeout(END_TIME);
}

async fn accept(
    listener: &tokio::net::TcpListener,
    tls: Option<&Tls>,
    router: &Router,
    connections: &GracefulShutdown,
) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let refusals = Arc::new(Semaphore::new(MOST_REFUSALS));
    let clients = Arc::new(Clients::default());
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((socket, peer)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Some(client) = clients.enter(peer.ip()) else {
            // Who speaks TLS would not understand a word before it was agreed on.
            if let (Ok(refusal), None) = (Arc::clone(&refusals).try_acquire_owned(), tls) {
                tokio::spawn(async move {
                    refuse(socket).await;
                    drop(refusal);
                });
            }
            continue;
        };
        let connection = Connection { socket, peer: peer.ip(), tls: tls.map(Tls::acceptor) };
        let (router, watcher) = (router.clone(), connections.watcher());
        tokio::spawn(async move {
            connection.answer(router, watcher).await;
            drop((client, place));
        });
    }
}
