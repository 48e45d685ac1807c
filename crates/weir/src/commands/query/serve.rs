//! `weir serve`: search page, dashboard and HTTP API of a collection.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[cfg(feature = "flight")]
use anyhow::Context;
use serde::Serialize;
use store::Snapshot;

use web::{RunningServer, Server};

use crate::exit::UsageError;
use crate::output::{Printer, TextStyle};
use crate::server_auth::{ServerAuth, ServerAuthArgs};
use crate::settings::SetArgs;
use crate::signals::BlockingShutdownSignal;

/// Default address.
const DEFAULT_LISTEN: &str = "127.0.0.1:9347";

const EXAMPLES: &str = "\
Examples:
  weir serve web                                       http://127.0.0.1:9347/
  weir serve web --listen 127.0.0.1:0                  on a free port
  weir serve web --flight-listen 127.0.0.1:9348        also Arrow Flight
  weir serve web --listen 0.0.0.0:443 --token-file secret --tls-cert cert.pem --tls-key key.pem
                                                       for other machines, with a token

Serves the last commit, also during a crawl in another process, until Ctrl-C. Without --token-file
all users of this machine have read access; to change snapshots, open the login URL that is
printed. The API is described at /api/v1/openapi.json, the rest in docs/web.md.";

/// Serve the search page, dashboard and HTTP API.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection directory.
    dir: PathBuf,

    /// Address for HTTP; port 0 picks a free port.
    #[arg(long, value_name = "ADDR", default_value = DEFAULT_LISTEN)]
    listen: SocketAddr,

    /// Address for Arrow Flight.
    #[arg(long, value_name = "ADDR")]
    flight_listen: Option<SocketAddr>,

    #[command(flatten)]
    auth: ServerAuthArgs,

    #[command(flatten)]
    set: SetArgs,
}

/// JSON output.
#[derive(Serialize)]
struct ServeOutput<'a> {
    url: String,
    /// URL with the generated token; absent with `--token-file`.
    #[serde(skip_serializing_if = "Option::is_none")]
    login_url: Option<&'a str>,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    // Fails at once if the directory is not a collection.
    let snapshot = Snapshot::open(&args.dir, None)?;
    let auth = args.auth.read()?;
    let flight =
        args.flight_listen.map(|address| FlightServer::start(&args.dir, address, &auth)).transpose()?;
    let mut settings = args.set.load(&args.dir)?;
    settings.accept_seed_hosts(&snapshot)?;
    drop(snapshot);
    let settings = settings.web_settings(&args.dir, args.listen, auth)?;
    // Before the URL is printed, so that no signal is missed.
    let signal = BlockingShutdownSignal::listen()?;
    let server = Server::bind(settings, None)?.start()?;
    print(&server, printer)?;
    if let Some(flight) = &flight {
        flight.print(printer)?;
    }
    signal.wait();
    server.stop();
    Ok(ExitCode::SUCCESS)
}

/// Arrow Flight server; stops when it is dropped.
struct FlightServer {
    address: SocketAddr,
    is_secure: bool,
    #[cfg(feature = "flight")]
    _server: stream::FlightServer,
}

impl FlightServer {
    #[cfg(feature = "flight")]
    fn start(dir: &Path, address: SocketAddr, auth: &ServerAuth) -> anyhow::Result<FlightServer> {
        if !address.ip().is_loopback() && auth.token.is_none() {
            let message = format!("{address} is reachable from other machines; set --token-file");
            return Err(UsageError(message).into());
        }
        let cannot = || format!("cannot listen on {address}");
        let listener = std::net::TcpListener::bind(address).with_context(cannot)?;
        let address = listener.local_addr().with_context(cannot)?;
        let token = auth.token.clone();
        let authorize = move |sent: Option<&str>| {
            token.as_ref().is_none_or(|token| sent.is_some_and(|sent| token.is(sent)))
        };
        let settings = stream::FlightSettings {
            dir: dir.to_owned(),
            limits: stream::StreamLimits::default(),
            authorize: std::sync::Arc::new(authorize),
            tls_pem: auth.tls_pem.clone(),
        };
        let server = stream::FlightServer::start(listener, settings).context("cannot serve Arrow Flight")?;
        Ok(FlightServer { address, is_secure: auth.tls.is_some(), _server: server })
    }

    #[cfg(not(feature = "flight"))]
    fn start(_: &Path, _: SocketAddr, _: &ServerAuth) -> anyhow::Result<FlightServer> {
        let message = "this build has no Arrow Flight support; build with `--features flight` (or `full`)";
        Err(UsageError(message.to_owned()).into())
    }

    fn print(&self, printer: &mut Printer) -> anyhow::Result<()> {
        let scheme = if self.is_secure { "grpc+tls" } else { "grpc" };
        let flight = format!("{scheme}://{}", self.address);
        if printer.json() {
            printer.object(&serde_json::json!({ "flight": flight }))?;
        } else {
            printer.line(&flight)?;
        }
        printer.finish()
    }
}

/// Prints the URLs of the server.
fn print(server: &RunningServer, printer: &mut Printer) -> anyhow::Result<()> {
    let url = format!("{}/", server.url());
    if printer.json() {
        printer.object(&ServeOutput { url, login_url: server.login_url() })?;
    } else {
        printer.line(&url)?;
        if let Some(login_url) = server.login_url() {
            printer.line(&format!("{login_url}  {}", printer.style(TextStyle::Dim, "with write access")))?;
        }
        printer.line(&printer.style(TextStyle::Dim, "stop with Ctrl-C"))?;
    }
    printer.finish()
}
