//! S3 server (SeaweedFS) for one test.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::wait::{free_ports, wait_for};

/// Region of the server.
pub const S3_REGION: &str = "us-east-1";
/// Access key id of the server.
pub const S3_KEY_ID: &str = "weir-key";
/// Secret access key of the server.
pub const S3_SECRET_KEY: &str = "weir-secret";

const START_ATTEMPTS: usize = 3;
/// A start takes about 5 s, and several times as long on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(40);

const IDENTITIES: &str = r#"{"identities": [{"name": "weir", "actions": ["Admin", "Read", "Write", "List"],
    "credentials": [{"accessKey": "weir-key", "secretKey": "weir-secret"}]}]}"#;
/// All ports of the server. Each is set explicitly, because two tests would collide at a default port.
const PORTS: [&str; 8] = [
    "master.port",
    "master.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "s3.port.grpc",
    "s3.port",
];

/// An S3 server that can be killed and restarted; it keeps its files and its ports.
#[derive(Debug)]
pub struct S3Server {
    program: PathBuf,
    dir: TempDir,
    ports: Vec<u16>,
    running: Option<Child>,
}

impl S3Server {
    /// Starts a server. `bin` is the directory of the program.
    pub fn start(bin: &Path) -> S3Server {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("identities.json"), IDENTITIES).unwrap();
        let mut server = S3Server { program: bin.join("weed"), dir, ports: Vec::new(), running: None };
        // A server that finds one of its ports taken exits, or runs without that part.
        let started = (0..START_ATTEMPTS).any(|_| {
            server.ports = free_ports(PORTS.len());
            server.spawn();
            server.is_healthy_within(START_TIMEOUT)
        });
        assert!(started, "cannot start {} in {START_ATTEMPTS} attempts", server.program.display());
        server
    }

    /// URL of the S3 API.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port())
    }

    /// Kills the server.
    pub fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.kill().unwrap();
            running.wait().unwrap();
        }
    }

    /// Kills the server if it runs, starts it and waits until it is healthy.
    pub fn restart(&mut self) {
        self.spawn();
        wait_for("the S3 server", || self.is_healthy().then_some(()));
    }

    fn spawn(&mut self) {
        self.kill();
        let ports = PORTS.iter().zip(&self.ports).map(|(name, port)| format!("-{name}={port}"));
        let child = Command::new(&self.program)
            .args(["server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3", "-s3.port.iceberg=0"])
            .args(["-s3.port.lance=0", "-master.telemetry=false", "-master.volumeSizeLimitMB=64", "-dir=."])
            .args(["-s3.config=identities.json"])
            .args(ports)
            .current_dir(self.dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.running = Some(child);
    }

    fn is_healthy_within(&mut self, timeout: Duration) -> bool {
        let started = Instant::now();
        while started.elapsed() < timeout {
            let has_exited = self.running.as_mut().is_none_or(|child| child.try_wait().unwrap().is_some());
            if has_exited || self.is_healthy() {
                return !has_exited;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    fn port(&self) -> u16 {
        self.ports[PORTS.len() - 1]
    }

    fn is_healthy(&self) -> bool {
        let Ok(mut connection) = TcpStream::connect(("127.0.0.1", self.port())) else { return false };
        connection.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let sent = connection.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").is_ok();
        let mut response = String::new();
        sent && connection.read_to_string(&mut response).is_ok() && response.contains(" 200 ")
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.kill();
    }
}
