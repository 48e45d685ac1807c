//! Running synthetic Web: sockets, threads, clock and log. Dropping it stops the server.

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

use crate::error::StartError;
use crate::server::connection;
use crate::server::connection::Shared;
use crate::server::dns;
use crate::server::log::RequestLog;
use crate::server::rate_limit::RateLimits;
use crate::server::tls::CertificateAuthority;
use crate::settings::Settings;
use crate::world::clock::Clock;
use crate::world::synthetic_web::{Ports, World};

/// Listening addresses and output files. Port 0 selects a free port.
#[derive(Clone, Debug)]
pub struct Endpoints {
    /// Address for plain HTTP; a loopback address.
    pub http: SocketAddr,
    /// Address for HTTPS, with the same IP address.
    pub https: SocketAddr,
    /// Address of the name server; `None` for no name server.
    pub dns: Option<SocketAddr>,
    /// File of the request log.
    pub log: Option<PathBuf>,
    /// Whether all sites share the IP address of `http`.
    pub single_ip: bool,
}

impl Default for Endpoints {
    /// Free ports on loopback.
    fn default() -> Endpoints {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Endpoints { http: any, https: any, dns: Some(any), log: None, single_ip: false }
    }
}

/// A synthetic Web that is served.
#[derive(Debug)]
pub struct SimWeb {
    /// The Web and its ground truth.
    pub world: Arc<World>,
    /// Address of plain HTTP; sites have other IP addresses and the same port.
    pub http: SocketAddr,
    /// Address of HTTPS.
    pub https: SocketAddr,
    /// Address of the name server.
    pub dns: Option<SocketAddr>,
    /// Error because of which all sites share one IP address although that was not requested.
    pub fallback: Option<io::Error>,
    /// Certificate of the authority that signs for all sites, as PEM.
    pub authority_pem: String,
    /// Request log.
    pub log: Arc<RequestLog>,
    /// Clock of page changes.
    pub clock: Arc<Clock>,
    stop: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
}

impl SimWeb {
    /// Starts the server in its own threads. It runs until it is stopped or dropped.
    pub fn start(settings: Settings, endpoints: &Endpoints) -> Result<SimWeb, StartError> {
        let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let runtimes = (0..workers).map(|_| runtime()).collect::<Result<Vec<Runtime>, StartError>>()?;
        let handles: Vec<Handle> = runtimes.iter().map(|runtime| runtime.handle().clone()).collect();
        let guard = handles[0].enter();
        let Listeners { http, https, single_ip, fallback } = Listeners::open(endpoints)?;
        let ports = Ports { http: port(&http)?, https: port(&https)? };
        let mut world = World::new(settings, ports)?;
        world.single_ip = single_ip;
        let world = Arc::new(world);
        let clock = Arc::new(Clock::new(world.settings.start_day, world.settings.clock));
        let log = RequestLog::new(workers, world.settings.max_log_entries as usize, endpoints.log.as_deref());
        let log = Arc::new(log.map_err(|source| StartError::System {
            operation: "create the request log".to_owned(),
            source,
        })?);
        let (authority, authority_pem) = CertificateAuthority::new(Arc::clone(&world))?;
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
            requests: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            open: AtomicUsize::new(0),
        });
        handles[0].spawn(connection::accept(http, None, Arc::clone(&shared), handles.clone()));
        handles[0].spawn(connection::accept(https, Some(acceptor), shared, handles.clone()));
        let dns = endpoints.dns.map(|address| name_server(address, &handles[0], &world)).transpose()?;
        drop(guard);
        let (stop, stopped) = watch::channel(false);
        let threads =
            runtimes.into_iter().map(|runtime| run(runtime, stopped.clone())).collect::<Result<_, _>>()?;
        // Listeners on all IP addresses are represented by the requested address.
        let http = (endpoints.http.ip(), ports.http).into();
        let https = (endpoints.https.ip(), ports.https).into();
        Ok(SimWeb { world, http, https, dns, fallback, authority_pem, log, clock, stop, threads })
    }

    /// Stops the server. An error refers to the request log, which is incomplete then.
    pub fn stop(mut self) -> io::Result<()> {
        self.shut_down()
    }

    fn shut_down(&mut self) -> io::Result<()> {
        self.stop.send_replace(true);
        for thread in self.threads.drain(..) {
            // A worker that panicked has printed a message to stderr.
            let _ = thread.join();
        }
        self.log.flush()
    }
}

impl Drop for SimWeb {
    fn drop(&mut self) {
        // To get errors of the log, call `stop`.
        let _ = self.shut_down();
    }
}

fn runtime() -> Result<Runtime, StartError> {
    let built = Builder::new_current_thread().enable_all().build();
    built.map_err(|source| StartError::System { operation: "start a runtime".to_owned(), source })
}

/// Runs a worker until it is stopped; its connections end with it.
fn run(runtime: Runtime, mut stopped: watch::Receiver<bool>) -> Result<JoinHandle<()>, StartError> {
    let work = move || {
        let _ = runtime.block_on(stopped.wait_for(|&stop| stop));
    };
    let spawned = std::thread::Builder::new().name("simweb".to_owned()).spawn(work);
    spawned.map_err(|source| StartError::System { operation: "start a thread".to_owned(), source })
}

/// Sockets for HTTP and HTTPS.
struct Listeners {
    http: TcpListener,
    https: TcpListener,
    single_ip: Option<Ipv4Addr>,
    fallback: Option<io::Error>,
}

impl Listeners {
    /// Opens the listeners on all IP addresses of 127.0.0.0/8: on every address, but only of the loopback device,
    /// which Linux allows without privileges. On other systems, or if `single_ip` is set, on the given addresses.
    fn open(endpoints: &Endpoints) -> Result<Listeners, StartError> {
        let single_ip = Some(ipv4(endpoints.http)?);
        ipv4(endpoints.https)?;
        let failed = |service, address| move |source| StartError::Listen { service, address, source };
        let (http_failed, https_failed) = (failed("http", endpoints.http), failed("https", endpoints.https));
        let mut fallback = None;
        if !endpoints.single_ip {
            match listen_on_all(endpoints.http.port()) {
                Ok(http) => {
                    let https = listen_on_all(endpoints.https.port()).map_err(https_failed)?;
                    return Ok(Listeners { http, https, single_ip: None, fallback });
                }
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(http_failed(error)),
                Err(error) => fallback = Some(error),
            }
        }
        let http = listen(endpoints.http, None).map_err(http_failed)?;
        let https = listen(endpoints.https, None).map_err(https_failed)?;
        Ok(Listeners { http, https, single_ip, fallback })
    }
}

fn listen_on_all(port: u16) -> io::Result<TcpListener> {
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

/// Starts the name server and returns its address.
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
    let address = listener.local_addr().map_err(|source| StartError::System {
        operation: "get the port of a listener".to_owned(),
        source,
    })?;
    Ok(address.port())
}

fn ipv4(address: SocketAddr) -> Result<Ipv4Addr, StartError> {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_loopback() => Ok(ip),
        _ => Err(StartError::NotLoopback(address)),
    }
}
