//! A network that can lose what the server says.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Listens on a port of its own, and carries everything to a server and back.
pub(crate) struct Proxy {
    port: u16,
    deaf: Arc<AtomicBool>,
    connections: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    pub(crate) fn to(server_port: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (deaf, connections) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (deaf_too, connections_too) = (Arc::clone(&deaf), Arc::clone(&connections));
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) =
                    (client.unwrap(), TcpStream::connect(("127.0.0.1", server_port)).unwrap());
                let copies = [client.try_clone().unwrap(), server.try_clone().unwrap()];
                let [client_too, server_too] = [client.try_clone().unwrap(), server.try_clone().unwrap()];
                connections_too.lock().unwrap().extend(copies);
                std::thread::spawn(move || carry(client_too, server_too, &AtomicBool::new(false)));
                let deaf = Arc::clone(&deaf_too);
                std::thread::spawn(move || carry(server, client, &deaf));
            }
        });
        Proxy { port, deaf, connections }
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// From now on nothing that the server says arrives.
    pub(crate) fn lose_answers(&self) {
        self.deaf.store(true, Ordering::SeqCst);
    }

    /// Cuts all connections; new ones work as they should.
    pub(crate) fn cut(&self) {
        for connection in self.connections.lock().unwrap().drain(..) {
            // It may be closed already.
            let _closed = connection.shutdown(Shutdown::Both);
        }
        self.deaf.store(false, Ordering::SeqCst);
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, deaf: &AtomicBool) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if !deaf.load(Ordering::SeqCst) && to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _closed = to.shutdown(Shutdown::Both);
}
