//! TCP proxy that can drop the responses of the server.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Proxy between a client and a server on the loopback interface.
pub(crate) struct Proxy {
    port: u16,
    dropping: Arc<AtomicBool>,
    connections: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    pub(crate) fn to(server_port: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (dropping, connections) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (dropping_too, connections_too) = (Arc::clone(&dropping), Arc::clone(&connections));
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) =
                    (client.unwrap(), TcpStream::connect(("127.0.0.1", server_port)).unwrap());
                let copies = [client.try_clone().unwrap(), server.try_clone().unwrap()];
                let [client_too, server_too] = [client.try_clone().unwrap(), server.try_clone().unwrap()];
                connections_too.lock().unwrap().extend(copies);
                std::thread::spawn(move || copy(client_too, server_too, &AtomicBool::new(false)));
                let dropping = Arc::clone(&dropping_too);
                std::thread::spawn(move || copy(server, client, &dropping));
            }
        });
        Proxy { port, dropping, connections }
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Drops everything that the server sends from now on.
    pub(crate) fn drop_responses(&self) {
        self.dropping.store(true, Ordering::SeqCst);
    }

    /// Closes all connections; new ones are not affected.
    pub(crate) fn cut(&self) {
        for connection in self.connections.lock().unwrap().drain(..) {
            // It may be closed already.
            let _closed = connection.shutdown(Shutdown::Both);
        }
        self.dropping.store(false, Ordering::SeqCst);
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream, dropping: &AtomicBool) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if !dropping.load(Ordering::SeqCst) && to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _closed = to.shutdown(Shutdown::Both);
}
