//! A NATS server for one test.

use std::io::Read;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cluster::{Carriage, Credentials, Role, connect_broker};
use crawl::{Broker, BrokerError};
use tempfile::TempDir;

use crate::venv::venv;
use crate::waiting::{free_port, wait_for};

/// The collection of the tests; the settings in `contrib` are for this name.
pub(crate) const COLLECTION: &str = "example";

/// A server that can be killed and started again; it keeps its files and its port.
pub(crate) struct NatsServer {
    program: PathBuf,
    pub(crate) folder: TempDir,
    port: u16,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    running: Option<Child>,
}

impl NatsServer {
    /// With JetStream, open to everybody.
    pub(crate) fn start() -> Option<NatsServer> {
        NatsServer::start_with(&["--jetstream"], &[])
    }

    /// With these arguments and variables. An address comes behind, and a folder for its files as the variable `STORE`, or as
    /// an argument where no settings read that.
    pub(crate) fn start_with(arguments: &[&str], variables: &[(&str, &str)]) -> Option<NatsServer> {
        let program = venv()?.join("nats-server");
        let mut server = NatsServer {
            program,
            folder: tempfile::tempdir().unwrap(),
            port: free_port(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            variables: variables.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
            running: None,
        };
        server.start_again();
        Some(server)
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// No time to write anything.
    pub(crate) fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.kill().unwrap();
            running.wait().unwrap();
        }
    }

    pub(crate) fn start_again(&mut self) {
        self.kill();
        let mut command = Command::new(&self.program);
        if !self.arguments.iter().any(|argument| argument == "--config") {
            command.arg("--store_dir").arg(self.folder.path());
        }
        let child = command
            .args(&self.arguments)
            .args(["--addr", "127.0.0.1", "--port", &self.port.to_string(), "--log"])
            .arg(self.folder.path().join("log"))
            .env("STORE", self.folder.path())
            .envs(self.variables.iter().cloned())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.running = Some(child);
        // The first thing that a server says is what it is.
        let ready = || {
            let mut connection = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
            connection.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
            let mut beginning = [0; 4];
            connection.read_exact(&mut beginning).ok()?;
            (&beginning == b"INFO").then_some(())
        };
        wait_for("the NATS server", ready);
    }

    /// The collection, with leases of so long.
    pub(crate) fn collection(&self, lease: Duration) -> Box<dyn Broker> {
        let role = Role::Collection(Carriage { lease, ..Default::default() });
        connect_broker(&self.url(), COLLECTION, role, &Credentials::default()).unwrap()
    }

    pub(crate) fn worker(&self) -> Box<dyn Broker> {
        connect_broker(&self.url(), COLLECTION, Role::Worker, &Credentials::default()).unwrap()
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Why it was refused; a failure of the test if it was not.
pub(crate) fn refusal<T>(outcome: Result<T, BrokerError>) -> String {
    match outcome {
        Err(BrokerError::Refused(why)) => why,
        Err(error) => panic!("not refused, but: {error}"),
        Ok(_) => panic!("not refused"),
    }
}

/// The settings that users start with.
pub(crate) fn shipped_settings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/nats-server.conf")
}
