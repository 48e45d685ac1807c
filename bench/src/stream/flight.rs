//! Arrow Flight on loopback: all pages with their bodies, to a client in Rust and to one in Python.

use std::future::poll_fn;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ::stream::{FlightServer, FlightSettings, StreamLimits};
use anyhow::{Context, ensure};
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::{FlightClient, Ticket};
use futures_core::Stream;
use tonic::transport::Endpoint;

const TICKET: &str = "columns=url,body";
/// Maximum message size; a page may exceed the default of 4 MiB.
const MOST_BYTES: usize = 1 << 30;

/// Python script that reads with the Weir package and prints the seconds from the first request to the last row.
const SCRIPT: &str = "\
import sys, time, weir
start = time.perf_counter()
rows = sum(batch.num_rows for batch in weir.flight(sys.argv[1], columns=['url', 'body']))
print(rows, time.perf_counter() - start)
";

/// A running Flight server.
pub(super) struct Served {
    _flight: FlightServer,
    address: SocketAddr,
}

impl Served {
    pub(super) fn start(dir: &Path) -> anyhow::Result<Served> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let admits = Arc::new(|_: Option<&str>| true);
        let limits = StreamLimits::default();
        let settings = FlightSettings { dir: dir.to_owned(), limits, authorize: admits, tls_pem: None };
        Ok(Served { _flight: FlightServer::start(listener, settings)?, address })
    }

    /// Measures a client in Rust.
    pub(super) fn read(&self, pages: u64) -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let channel = Endpoint::new(format!("http://{}", self.address))?.connect().await?;
            let client = FlightServiceClient::new(channel).max_decoding_message_size(MOST_BYTES);
            let mut client = FlightClient::new_from_inner(client);
            let mut stream = client.do_get(Ticket::new(TICKET)).await?;
            let mut rows = 0;
            while let Some(batch) = poll_fn(|context| Pin::new(&mut stream).poll_next(context)).await {
                rows += batch?.num_rows() as u64;
            }
            ensure!(rows == pages, "{rows} pages of {pages}");
            Ok(())
        })
    }

    /// Measures a client in Python, without its start time; `None` if `BENCH_PYTHON` is not set.
    pub(super) fn read_by_python(&self, pages: u64) -> anyhow::Result<Option<Duration>> {
        let Some(python) = std::env::var_os("BENCH_PYTHON") else { return Ok(None) };
        let package = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../python/src");
        let location = format!("grpc://{}", self.address);
        let output =
            Command::new(python).env("PYTHONPATH", package).args(["-c", SCRIPT, &location]).output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let complaint = String::from_utf8_lossy(&output.stderr);
        let (rows, seconds) = said.trim().split_once(' ').with_context(|| complaint.into_owned())?;
        ensure!(rows.parse::<u64>()? == pages, "{rows} pages of {pages}");
        Ok(Some(Duration::from_secs_f64(seconds.parse()?)))
    }

    /// Memory of the server for a client that reads nothing after its first batch, in MB.
    pub(super) fn memory_mb(&self, clients: usize) -> anyhow::Result<f64> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let before = crate::process::memory_mb("VmRSS");
        runtime.block_on(async {
            let mut asleep = Vec::new();
            for _ in 0..clients {
                let channel = Endpoint::new(format!("http://{}", self.address))?.connect().await?;
                let client = FlightServiceClient::new(channel).max_decoding_message_size(MOST_BYTES);
                let mut client = FlightClient::new_from_inner(client);
                let mut stream = client.do_get(Ticket::new(TICKET)).await?;
                poll_fn(|context| Pin::new(&mut stream).poll_next(context)).await.context("a batch")??;
                asleep.push((client, stream));
            }
            tokio::time::sleep(super::SETTLED).await;
            // The value includes the memory of the clients.
            Ok((crate::process::memory_mb("VmRSS") - before) / clients as f64)
        })
    }
}
