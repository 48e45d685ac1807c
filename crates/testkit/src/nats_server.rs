//! NATS server for one test.

use std::io::Read;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::wait::{free_port, wait_for};

/// A NATS server that can be killed and restarted; it keeps its files and its port.
#[derive(Debug)]
pub struct NatsServer {
    program: PathBuf,
    /// Directory of its files and of its log.
    pub dir: TempDir,
    port: u16,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    running: Option<Child>,
}

impl NatsServer {
    /// Starts a server with JetStream and without authentication. `bin` is the directory of the program.
    pub fn start(bin: &Path) -> NatsServer {
        NatsServer::start_with(bin, &["--jetstream"], &[])
    }

    /// Starts a server with these arguments and environment variables. Address and port are appended. The directory of
    /// its files is the variable `STORE`, and an argument unless the arguments name a configuration file.
    pub fn start_with(bin: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> NatsServer {
        let mut server = NatsServer {
            program: bin.join("nats-server"),
            dir: tempfile::tempdir().unwrap(),
            port: free_port(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            variables: variables.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
            running: None,
        };
        server.restart();
        server
    }

    /// URL of the server.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Port of the server.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Kills the server without a chance to write its state.
    pub fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.kill().unwrap();
            running.wait().unwrap();
        }
    }

    /// Kills the server if it runs, starts it and waits until it accepts connections.
    pub fn restart(&mut self) {
        self.kill();
        let mut command = Command::new(&self.program);
        if !self.arguments.iter().any(|argument| argument == "--config") {
            command.arg("--store_dir").arg(self.dir.path());
        }
        let child = command
            .args(&self.arguments)
            .args(["--addr", "127.0.0.1", "--port", &self.port.to_string(), "--log"])
            .arg(self.dir.path().join("log"))
            .env("STORE", self.dir.path())
            .envs(self.variables.iter().cloned())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.running = Some(child);
        // The server sends an INFO message first.
        let ready = || {
            let mut connection = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
            connection.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
            let mut first = [0; 4];
            connection.read_exact(&mut first).ok()?;
            (&first == b"INFO").then_some(())
        };
        wait_for("the NATS server", ready);
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}
