//! Independent client for tests: HTTP over a socket, and a hand-written DNS query.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

/// Response of a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Whether the body is complete.
    pub(crate) complete: bool,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Sends a GET request over a new connection.
pub(crate) fn get(address: SocketAddr, host: &str, path: &str, headers: &str) -> io::Result<Reply> {
    let mut stream = connect(address)?;
    exchange(&mut stream, host, path, headers)
}

pub(crate) fn connect(address: SocketAddr) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    stream.set_nodelay(true)?;
    Ok(BufReader::new(stream))
}

/// Sends a GET request over an open connection.
pub(crate) fn exchange(
    stream: &mut BufReader<TcpStream>,
    host: &str,
    path: &str,
    headers: &str,
) -> io::Result<Reply> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: naive/1\r\n{headers}\r\n");
    stream.get_mut().write_all(request.as_bytes())?;
    read_reply(stream)
}

pub(crate) fn read_reply(stream: &mut BufReader<TcpStream>) -> io::Result<Reply> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| io::Error::other(format!("no status line: {line:?}")))?;
    let mut reply = Reply { status, complete: true, ..Reply::default() };
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').expect("a header has a colon");
        reply.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    match reply.header("content-length").map(|length| length.parse::<u64>().expect("a length")) {
        _ if status == 304 => {}
        Some(length) => {
            let got = stream.by_ref().take(length).read_to_end(&mut reply.body);
            reply.complete = got.is_ok() && reply.body.len() as u64 == length;
        }
        None if reply.header("transfer-encoding") == Some("chunked") => {
            reply.complete = read_chunks(stream, &mut reply.body).is_ok();
        }
        None => reply.complete = stream.read_to_end(&mut reply.body).is_ok(),
    }
    Ok(reply)
}

fn read_chunks(stream: &mut BufReader<TcpStream>, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let length =
            u64::from_str_radix(line.trim_end(), 16).map_err(|_| io::Error::other("no chunk size"))?;
        let before = body.len() as u64;
        stream.by_ref().take(length).read_to_end(body)?;
        if body.len() as u64 - before < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        stream.read_line(&mut line)?;
        if length == 0 {
            return Ok(());
        }
    }
}

/// Queries the name server for an A record; returns the response code and the address.
pub(crate) fn lookup(server: SocketAddr, name: &str) -> (u8, Option<Ipv4Addr>) {
    let mut question = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        question.push(label.len() as u8);
        question.extend_from_slice(label.as_bytes());
    }
    question.extend_from_slice(&[0, 0, 1, 0, 1]);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a time limit");
    socket.send_to(&question, server).expect("sent");
    let mut answer = [0; 512];
    let length = socket.recv(&mut answer).expect("a DNS response");
    let (code, answers) = (answer[3] & 15, answer[7]);
    let tail: [u8; 4] = answer[length - 4..length].try_into().expect("four bytes");
    (code, (answers > 0).then(|| Ipv4Addr::from(tail)))
}
