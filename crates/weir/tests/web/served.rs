//! Server process for tests, and an HTTP client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::archive::program;

/// Timeout of a response.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Server process, killed on drop.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: SocketAddr,
    /// Path of the login URL; `/` if there is none.
    pub(crate) login: String,
}

/// Response of the server.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    /// Value of a header; empty if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(own, _)| own.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("invalid JSON: {self:?}"))
    }

    /// Value of the `Cookie` header that a browser would send back.
    pub(crate) fn cookie(&self) -> &str {
        self.header("set-cookie").split(';').next().unwrap()
    }
}

impl Served {
    /// Serves a collection on a free port.
    pub(crate) fn start(dir: &str, arguments: &[&str]) -> Served {
        let listen: &[&str] =
            if arguments.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
        Served::run(&[&["serve", dir, "--json"], listen, arguments].concat())
    }

    /// Runs a command that serves and prints its URL on the first line of stdout.
    pub(crate) fn run(arguments: &[&str]) -> Served {
        let mut child = Command::new(program()).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let output: Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("unexpected output: {line}"));
        let url = output["url"].as_str().unwrap();
        let (_, authority) = url.split_once("://").unwrap();
        let login =
            output["login_url"].as_str().and_then(|login| login.strip_prefix(url)).unwrap_or_default();
        let address = authority.trim_end_matches('/').parse().unwrap();
        Served { child, address, login: format!("/{login}") }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Logs in with the login URL and returns the cookie.
    pub(crate) fn log_in(&self) -> String {
        self.get(&self.login).cookie().to_owned()
    }

    /// Sends raw bytes and reads until the connection is closed.
    pub(crate) fn send(&self, request: &[u8]) -> Reply {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        // A rejected client may find the connection closed.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Reply { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// Sends a request with additional headers.
    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
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
        self.request("GET", path, &[], "")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
