//! `weir serve`: a collection in a browser, until it is stopped.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;
use store::Snapshot;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use web::{Server, Serving};

use crate::door::{Door, DoorArgs};
use crate::failure::WrongUse;
use crate::printer::{Meaning, Printer};
use crate::settings::Settings;

/// Where `weir serve` listens if nothing is said.
const LISTEN: &str = "127.0.0.1:9347";

const EXAMPLES: &str = "\
Examples:
  weir serve web                                       http://127.0.0.1:9347/
  weir serve web --listen 127.0.0.1:0                  on a port that is free
  weir serve web --flight 127.0.0.1:9348               for programs that want tables, too
  weir serve web --listen 0.0.0.0:443 --token-file secret --tls-cert cert.pem --tls-key key.pem
                                                       for others, who have to know the token

It shows the newest commit, also while a crawl goes on in another process. Ctrl-C ends it. Without
a token everybody on this machine may look; who wants to change something opens the second
address that is told. What programs can ask is described at /api/v1/openapi.json; docs/web.md
tells more.";

/// Show a collection in a browser: search page, dashboard, API.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The collection.
    dir: PathBuf,

    /// Where to listen; port 0 takes one that is free.
    #[arg(long, value_name = "ADDR", default_value = LISTEN)]
    listen: SocketAddr,

    /// Where to listen for programs that read pages by Arrow Flight.
    #[arg(long, value_name = "ADDR")]
    flight: Option<SocketAddr>,

    #[command(flatten)]
    door: DoorArgs,
}

/// Scripts rely on the names.
#[derive(Serialize)]
struct Answer<'a> {
    url: String,
    /// Where who is to change something has to go once; missing where the user has set a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    login: Option<&'a str>,
}

pub(crate) fn run(args: &Args, printer: &mut Printer) -> anyhow::Result<ExitCode> {
    // Who names what is no collection is told at once.
    drop(Snapshot::open(&args.dir, None)?);
    let door = args.door.read()?;
    let flight = args.flight.map(|address| Flight::start(&args.dir, address, &door)).transpose()?;
    let settings = Settings::load(&args.dir)?.web_settings(&args.dir, args.listen, door)?;
    // Before anybody can ask, so that no signal falls into a gap.
    let ending = Ending::listen()?;
    let serving = Server::bind(settings, None)?.start()?;
    tell(&serving, printer)?;
    if let Some(flight) = &flight {
        flight.tell(printer)?;
    }
    ending.wait();
    serving.stop();
    Ok(ExitCode::SUCCESS)
}

/// The wish of the user that something ends which would go on for ever: Ctrl-C or SIGTERM.
pub(crate) struct Ending {
    runtime: Runtime,
    interrupt: Signal,
    terminate: Signal,
}

impl Ending {
    /// Listens from now on.
    pub(crate) fn listen() -> anyhow::Result<Ending> {
        let runtime = Builder::new_current_thread().enable_all().build().context("cannot start a runtime")?;
        let listen = |kind| {
            let _guard = runtime.enter();
            signal(kind).context("cannot listen to signals")
        };
        let (interrupt, terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
        Ok(Ending { runtime, interrupt, terminate })
    }

    /// Until somebody wants it.
    pub(crate) fn wait(mut self) {
        self.runtime.block_on(async {
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
            }
        });
    }
}

/// A server of Arrow Flight, as long as the value lives.
struct Flight {
    address: SocketAddr,
    secure: bool,
    #[cfg(feature = "flight")]
    _serving: stream::Flight,
}

impl Flight {
    #[cfg(feature = "flight")]
    fn start(folder: &Path, address: SocketAddr, door: &Door) -> anyhow::Result<Flight> {
        if !address.ip().is_loopback() && door.token.is_none() {
            return Err(WrongUse(format!("others can reach {address}: give a token by --token-file")).into());
        }
        let cannot = || format!("cannot listen on {address}");
        let listener = std::net::TcpListener::bind(address).with_context(cannot)?;
        let address = listener.local_addr().with_context(cannot)?;
        let token = door.token.clone();
        let admits = move |shown: Option<&str>| {
            token.as_ref().is_none_or(|token| shown.is_some_and(|shown| token.is(shown)))
        };
        let settings = stream::FlightSettings {
            folder: folder.to_owned(),
            limits: stream::StreamLimits::default(),
            admits: std::sync::Arc::new(admits),
            tls_pem: door.tls_pem.clone(),
        };
        let serving = stream::Flight::start(listener, settings).context("cannot serve Arrow Flight")?;
        Ok(Flight { address, secure: door.tls.is_some(), _serving: serving })
    }

    #[cfg(not(feature = "flight"))]
    fn start(_: &Path, _: SocketAddr, _: &Door) -> anyhow::Result<Flight> {
        let sentence = "this build has no Arrow Flight; build it with `--features flight` (or `full`)";
        Err(WrongUse(sentence.to_owned()).into())
    }

    fn tell(&self, printer: &mut Printer) -> anyhow::Result<()> {
        let scheme = if self.secure { "grpc+tls" } else { "grpc" };
        let flight = format!("{scheme}://{}", self.address);
        if printer.json() {
            printer.object(&serde_json::json!({ "flight": flight }))?;
        } else {
            printer.line(&flight)?;
        }
        printer.finish()
    }
}

/// Tells where it is.
fn tell(serving: &Serving, printer: &mut Printer) -> anyhow::Result<()> {
    let url = format!("{}/", serving.url());
    if printer.json() {
        printer.object(&Answer { url, login: serving.login_url() })?;
    } else {
        printer.line(&url)?;
        if let Some(login) = serving.login_url() {
            printer.line(&format!("{login}  {}", printer.paint(Meaning::Aside, "to keep snapshots, too")))?;
        }
        printer.line(&printer.paint(Meaning::Aside, "Ctrl-C ends it"))?;
    }
    printer.finish()
}
