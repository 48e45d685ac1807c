//! Starts the synthetic Web and holds it while it runs: sockets, threads, clock, log. Dropping it stops everything.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::thread::JoinHandle;

use tokio::net::{TcpListener, TcpSocket, UdpSocket};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::clock::Clock;
use crate::dns;
use crate::error::StartError;
use crate::log::RequestLog;
use crate::rate::RateLimits;
use crate::server::{self, Shared};
use crate::settings::Settings;
use crate::tls::Authority;
use crate::world::{Ports, World};

/// Where to listen, and what to write. Port 0 takes any free one.
#[derive(Clone, Debug)]
pub struct Endpoints {
    /// Plain HTTP; a loopback address.
    pub http: SocketAddr,
    /// HTTP over TLS, on the same address.
    pub https: SocketAddr,
    /// The name server; `None` for none.
    pub dns: Option<SocketAddr>,
    /// The file for the request log.
    pub log: Option<PathBuf>,
    /// Whether all sites share the address of `http` instead of having their own.
    pub one_address: bool,
}

impl Default for Endpoints {
    /// Any free ports.
    fn default() -> Endpoints {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Endpoints { http: any, https: any, dns: Some(any), log: None, one_address: false }
    }
}

/// A synthetic Web that is being served.
#[derive(Debug)]
pub struct SimWeb {
    /// The Web itself, and its truth.
    pub world: Arc<World>,
    /// Where plain HTTP is served; sites are on other addresses at the same port.
    pub http: SocketAddr,
    /// Where HTTPS is served.
    pub https: SocketAddr,
    /// The name server.
    pub dns: Option<SocketAddr>,
    /// Why all sites share one address though that was not asked for: the system cannot give each its own.
    pub fallback: Option<io::Error>,
    /// The certificate of the authority that signs for all sites, as PEM.
    pub authority_pem: String,
    /// What was asked.
    pub log: Arc<RequestLog>,
    /// The clock by which pages change.
    pub clock: Arc<Clock>,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

impl SimWeb {
    /// Starts serving, in threads of its own, until it is stopped or dropped.
    pub fn start(settings: Settings, endpoints: &Endpoints) -> Result<SimWeb, StartError> {
        let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let runtimes = (0..workers).map(|_| runtime()).collect::<Result<Vec<Runtime>, StartError>>()?;
        let handles: Vec<Handle> = runtimes.iter().map(|runtime| runtime.handle().clone()).collect();
        let guard = handles[0].enter();
        let Listeners { http, https, one_address, fallback } = Listeners::open(endpoints)?;
        let ports = Ports { http: port(&http)?, https: port(&https)? };
        let mut world = World::new(settings, ports)?;
        world.one_address = one_address;
        let world = Arc::new(world);
        let clock = Arc::new(Clock::new(world.settings.start_day, world.settings.clock));
        let log = RequestLog::new(workers, world.settings.log_entries as usize, endpoints.log.as_deref());
        let log = Arc::new(
            log.map_err(|source| StartError::System { what: "write the request log".to_owned(), source })?,
        );
        let (authority, authority_pem) = Authority::new(Arc::clone(&world))?;
        let acceptor = TlsAcceptor::from(Arc::new(authority.server_config()?));
        let shared = Arc::new(Shared {
            limits: RateLimits::new(
                if world.settings.rate_limited > 0.0 { world.settings.sites as usize } else { 0 },
                world.settings.rate_limit_ms,
                world.settings.retry_after_s,
            ),
            world: Arc::clone(&world),
            clock: Arc::clone(&clock),
            log: Arc::clone(&log),
            visits: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            open: AtomicUsize::new(0),
        });
        handles[0].spawn(server::accept(http, None, Arc::clone(&shared), handles.clone()));
        handles[0].spawn(server::accept(https, Some(acceptor), shared, handles.clone()));
        let dns = endpoints.dns.map(|address| name_server(address, &handles[0], &world)).transpose()?;
        drop(guard);
        let (stop, stopped) = watch::channel(false);
        let threads =
            runtimes.into_iter().map(|runtime| run(runtime, stopped.clone())).collect::<Result<_, _>>()?;
        // A listener on every address is told by the one that was asked for.
        let http = (endpoints.http.ip(), ports.http).into();
        let https = (endpoints.https.ip(), ports.https).into();
        Ok(SimWeb { world, http, https, dns, fallback, authority_pem, log, clock, stop, threads })
    }

    /// Stops serving. An error is that of the request log, which is then not complete.
    pub fn stop(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        self.stop.send_replace(true);
        for thread in self.threads.drain(..) {
            // A worker that panicked has said so on stderr.
            let _ = thread.join();
        }
        self.log.flush()
    }
}

impl Drop for SimWeb {
    fn drop(&mut self) {
        // Who wants to know about the log calls `stop`.
        let _ = self.end();
    }
}

fn runtime() -> Result<Runtime, StartError> {
    let built = Builder::new_current_thread().enable_all().build();
    built.map_err(|source| StartError::System { what: "start a runtime".to_owned(), source })
}

/// Runs a worker until it is told to stop; its connections end with it.
fn run(runtime: Runtime, mut stopped: watch::Receiver<bool>) -> Result<JoinHandle<()>, StartError> {
    let work = move || {
        let _ = runtime.block_on(stopped.wait_for(|&stop| stop));
    };
    let spawned = std::thread::Builder::new().name("simweb".to_owned()).spawn(work);
    spawned.map_err(|source| StartError::System { what: "start a thread".to_owned(), source })
}

/// The sockets for http and https.
struct Listeners {
    http: TcpListener,
    https: TcpListener,
    one_address: Option<Ipv4Addr>,
    fallback: Option<io::Error>,
}

impl Listeners {
    /// Listens on all of 127.0.0.0/8 at once: on every address, but of the loopback device only. Linux allows that
    /// without privileges; elsewhere, and where it is not wished, on the addresses given.
    fn open(endpoints: &Endpoints) -> Result<Listeners, StartError> {
        let one_address = Some(ipv4(endpoints.http)?);
        ipv4(endpoints.https)?;
        let failed = |service, address| move |source| StartError::Listen { service, address, source };
        let (http_failed, https_failed) = (failed("http", endpoints.http), failed("https", endpoints.https));
        let mut fallback = None;
        if !endpoints.one_address {
            match everywhere(endpoints.http.port()) {
                Ok(http) => {
                    let https = everywhere(endpoints.https.port()).map_err(https_failed)?;
                    return Ok(Listeners { http, https, one_address: None, fallback });
                }
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(http_failed(error)),
                Err(error) => fallback = Some(error),
            }
        }
        let http = listen(endpoints.http, None).map_err(http_failed)?;
        let https = listen(endpoints.https, None).map_err(https_failed)?;
        Ok(Listeners { http, https, one_address, fallback })
    }
}

fn everywhere(port: u16) -> io::Result<TcpListener> {
    listen(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)), Some(b"lo"))
}

fn listen(address: SocketAddr, device: Option<&[u8]>) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    if let Some(device) = device {
        bind_device(&socket, device)?;
    }
    socket.bind(address)?;
    socket.listen(4096)
}

#[cfg(target_os = "linux")]
fn bind_device(socket: &TcpSocket, device: &[u8]) -> io::Result<()> {
    socket.bind_device(Some(device))
}

#[cfg(not(target_os = "linux"))]
fn bind_device(_: &TcpSocket, _: &[u8]) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Starts the name server and tells where it is.
fn name_server(address: SocketAddr, worker: &Handle, world: &Arc<World>) -> Result<SocketAddr, StartError> {
    ipv4(address)?;
    let bound = std::net::UdpSocket::bind(address).and_then(|socket| {
        socket.set_nonblocking(true)?;
        Ok((socket.local_addr()?, UdpSocket::from_std(socket)?))
    });
    let (bound_to, socket) =
        bound.map_err(|source| StartError::Listen { service: "dns", address, source })?;
    worker.spawn(dns::serve(socket, Arc::clone(world)));
    Ok(bound_to)
}

fn port(listener: &TcpListener) -> Result<u16, StartError> {
    let address = listener
        .local_addr()
        .map_err(|source| StartError::System { what: "ask for a port".to_owned(), source })?;
    Ok(address.port())
}

fn ipv4(address: SocketAddr) -> Result<Ipv4Addr, StartError> {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_loopback() => Ok(ip),
        _ => Err(StartError::NotLoopback(address)),
    }
}
