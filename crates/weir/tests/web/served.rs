//! A server that runs, and how tests ask it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::archive::program;

/// No answer takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that serves; it ends with this.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: SocketAddr,
    /// The path where one logs in, as it was told; empty if none was.
    pub(crate) login: String,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    /// The value of a header line; empty without one.
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(own, _)| own.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// What a browser would send back as `Cookie`.
    pub(crate) fn cookie(&self) -> &str {
        self.header("set-cookie").split(';').next().unwrap()
    }
}

impl Served {
    /// Serves a collection at a port that is free.
    pub(crate) fn start(dir: &str, arguments: &[&str]) -> Served {
        let listen: &[&str] =
            if arguments.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
        Served::run(&[&["serve", dir, "--json"], listen, arguments].concat())
    }

    /// Runs a command that serves, and says where on its first line of stdout.
    pub(crate) fn run(arguments: &[&str]) -> Served {
        let mut child = Command::new(program()).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("it said: {line}"));
        let url = said["url"].as_str().unwrap();
        let (_, authority) = url.split_once("://").unwrap();
        let login = said["login"].as_str().and_then(|login| login.strip_prefix(url)).unwrap_or_default();
        let address = authority.trim_end_matches('/').parse().unwrap();
        Served { child, address, login: format!("/{login}") }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The cookie of somebody who has opened the address that was told.
    pub(crate) fn log_in(&self) -> String {
        self.get(&self.login).cookie().to_owned()
    }

    /// Sends bytes as they are, and reads all that comes.
    pub(crate) fn send(&self, request: &[u8]) -> Reply {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // Who is refused early may find the connection closed.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Reply { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// Asks with further header lines.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let host = self.address.to_string();
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            request += &format!("Host: {host}\r\n");
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        if method == "POST" {
            request += &format!(
                "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n",
                body.len()
            );
        }
        self.send(format!("{request}\r\n{body}").as_bytes())
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, &[], "")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
