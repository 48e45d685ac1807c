//! A server of S3 for one test.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cluster::S3Access;
use tempfile::TempDir;

use crate::venv::venv;
use crate::waiting::{free_port, wait_for};

const IDENTITIES: &str = r#"{"identities": [{"name": "weir", "actions": ["Admin", "Read", "Write", "List"],
    "credentials": [{"accessKey": "weir-key", "secretKey": "weir-secret"}]}]}"#;
/// All that it listens on, lest two tests meet at a port that it has by default.
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

/// A server that can be killed and started again; it keeps its files and its ports.
pub(crate) struct S3Server {
    program: PathBuf,
    folder: TempDir,
    ports: Vec<u16>,
    running: Option<Child>,
}

impl S3Server {
    pub(crate) fn start() -> Option<S3Server> {
        let program = venv()?.join("weed");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("identities.json"), IDENTITIES).unwrap();
        let ports = PORTS.iter().map(|_| free_port()).collect();
        let mut server = S3Server { program, folder, ports, running: None };
        server.start_again();
        Some(server)
    }

    pub(crate) fn access(&self) -> S3Access {
        S3Access {
            endpoint: Some(format!("http://127.0.0.1:{}", self.port())),
            region: Some("us-east-1".to_owned()),
            key_id: Some("weir-key".to_owned()),
            secret_key: Some("weir-secret".to_owned()),
            authorities: None,
        }
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.kill().unwrap();
            running.wait().unwrap();
        }
    }

    pub(crate) fn start_again(&mut self) {
        self.kill();
        let ports = PORTS.iter().zip(&self.ports).map(|(name, port)| format!("-{name}={port}"));
        let child = Command::new(&self.program)
            .args(["server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3", "-s3.port.iceberg=0"])
            .args(["-s3.port.lance=0", "-master.telemetry=false", "-master.volumeSizeLimitMB=64", "-dir=."])
            .args(["-s3.config=identities.json"])
            .args(ports)
            .current_dir(self.folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.running = Some(child);
        wait_for("the S3 server", || self.is_healthy().then_some(()));
    }

    fn port(&self) -> u16 {
        self.ports[PORTS.len() - 1]
    }

    fn is_healthy(&self) -> bool {
        let Ok(mut connection) = TcpStream::connect(("127.0.0.1", self.port())) else { return false };
        connection.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let asked = connection.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").is_ok();
        let mut answer = String::new();
        asked && connection.read_to_string(&mut answer).is_ok() && answer.contains(" 200 ")
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.kill();
    }
}
