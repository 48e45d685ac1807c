//! Names asked of name servers on real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests may fail loudly too")]

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fetch::{DnsSettings, Resolver};
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA};
use hickory_proto::rr::{RData, Record, RecordType};
use model::Reason;
use simweb::{Endpoints, Health, Settings, SimWeb};

const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 7);

/// A name server on UDP and TCP that answers by a function, and counts.
struct NameServer {
    address: SocketAddr,
    by_udp: Arc<AtomicUsize>,
    by_tcp: Arc<AtomicUsize>,
}

impl NameServer {
    fn start(answer: impl Fn(&str, RecordType, &mut Message, bool) + Send + Sync + 'static) -> NameServer {
        // The same port for both.
        let (udp, tcp) = loop {
            let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()) {
                break (udp, tcp);
            }
        };
        let server =
            NameServer { address: udp.local_addr().unwrap(), by_udp: Arc::default(), by_tcp: Arc::default() };
        let answer = Arc::new(answer);
        let (answer_udp, count) = (Arc::clone(&answer), Arc::clone(&server.by_udp));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok((length, client)) = udp.recv_from(&mut buffer) {
                count.fetch_add(1, Ordering::SeqCst);
                if let Some(reply) = respond(&buffer[..length], &*answer_udp, false) {
                    udp.send_to(&reply, client).unwrap();
                }
            }
        });
        let count = Arc::clone(&server.by_tcp);
        std::thread::spawn(move || {
            for stream in tcp.incoming() {
                let mut stream = stream.unwrap();
                let mut length = [0; 2];
                while stream.read_exact(&mut length).is_ok() {
                    let mut question = vec![0; usize::from(u16::from_be_bytes(length))];
                    stream.read_exact(&mut question).unwrap();
                    count.fetch_add(1, Ordering::SeqCst);
                    let reply = respond(&question, &*answer, true).unwrap();
                    stream.write_all(&(reply.len() as u16).to_be_bytes()).unwrap();
                    stream.write_all(&reply).unwrap();
                }
            }
        });
        server
    }

    /// Knows one address for everything.
    fn with_ttl_s(ttl_s: u32) -> NameServer {
        NameServer::start(move |_, kind, reply, _| add_address(reply, kind, ttl_s))
    }

    fn asked(&self) -> usize {
        self.by_udp.load(Ordering::SeqCst) + self.by_tcp.load(Ordering::SeqCst)
    }
}

fn respond(
    question: &[u8],
    answer: &(dyn Fn(&str, RecordType, &mut Message, bool) + Send + Sync),
    is_tcp: bool,
) -> Option<Vec<u8>> {
    let question = Message::from_vec(question).unwrap();
    let query = question.queries[0].clone();
    let mut reply = Message::response(question.metadata.id, question.metadata.op_code);
    let name = query.name.to_lowercase().to_ascii();
    let kind = query.query_type;
    reply.add_query(query);
    answer(&name, kind, &mut reply, is_tcp);
    (name != "mute.test.").then(|| reply.to_vec().unwrap())
}

fn add_address(reply: &mut Message, kind: RecordType, ttl_s: u32) {
    let name = reply.queries[0].name.clone();
    if kind == RecordType::A {
        reply.add_answer(Record::from_rdata(name, ttl_s, RData::A(A(ADDRESS))));
    }
}

fn asking(server: SocketAddr) -> DnsSettings {
    DnsSettings { name_servers: vec![server], ..DnsSettings::default() }
}

#[tokio::test]
async fn the_names_of_a_web_are_found_and_missed() {
    let settings = Settings { sites: 300, ..Settings::default() };
    let web = SimWeb::start(settings, &Endpoints::default()).unwrap();
    let resolver = Resolver::new(&asking(web.dns.unwrap())).unwrap();
    let mut seen = [0; 3];
    for site in web.world.site_indexes().map(|index| web.world.site(index)) {
        let expected = match site.health {
            Health::Nameless => Err(Reason::NameNotFound),
            Health::ServFail => Err(Reason::NameServerFailed),
            _ => Ok(vec![IpAddr::from(web.world.address(site.index))]),
        };
        let place = match expected {
            Ok(_) => 0,
            Err(Reason::NameNotFound) => 1,
            Err(_) => 2,
        };
        seen[place] += 1;
        let resolved = resolver.resolve(&web.world.name(site.index), 0).await;
        assert_eq!(resolved.map(|resolved| resolved.addresses), expected, "{:?}", site.health);
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

#[tokio::test]
async fn answers_are_remembered_between_floor_and_ceiling() {
    for (ttl_s, good_s) in [(1, 60), (100, 100), (1_000_000, 3600)] {
        let server = NameServer::with_ttl_s(ttl_s);
        let settings = DnsSettings {
            least_ttl: Duration::from_secs(60),
            most_ttl: Duration::from_secs(3600),
            ..asking(server.address)
        };
        let resolver = Resolver::new(&settings).unwrap();
        let now_ms = 1_000_000;
        let resolved = resolver.resolve("A.test", now_ms).await.unwrap();
        assert_eq!(resolved.addresses, [IpAddr::from(ADDRESS)]);
        // Up to a second is lost on the way.
        let good_ms = resolved.good_until_ms - now_ms;
        assert!((good_s * 1000 - 1000..=good_s * 1000).contains(&good_ms), "{ttl_s}: {good_ms}");
        assert_eq!(resolver.resolve("a.test.", resolved.good_until_ms - 1).await, Ok(resolved.clone()));
        assert_eq!(server.asked(), 1);
        resolver.resolve("a.test", resolved.good_until_ms).await.unwrap();
        assert_eq!(server.asked(), 2);
    }
}

#[tokio::test]
async fn failures_are_remembered_too() {
    let server = NameServer::start(|name, _, reply, _| {
        reply.metadata.response_code =
            if name == "none.test." { ResponseCode::NXDomain } else { ResponseCode::ServFail };
    });
    let settings =
        DnsSettings { failure_ttl: Duration::from_secs(10), attempts: 1, ..asking(server.address) };
    let resolver = Resolver::new(&settings).unwrap();
    for (name, reason) in [("none.test", Reason::NameNotFound), ("broken.test", Reason::NameServerFailed)] {
        assert_eq!(resolver.resolve(name, 0).await, Err(reason));
        let asked = server.asked();
        assert_eq!(resolver.resolve(name, 9_999).await, Err(reason));
        assert_eq!(server.asked(), asked);
        assert_eq!(resolver.resolve(name, 10_000).await, Err(reason));
        assert!(server.asked() > asked);
    }
}

#[tokio::test]
async fn an_answer_too_long_for_udp_comes_by_tcp() {
    let server = NameServer::start(|_, kind, reply, is_tcp| {
        reply.metadata.truncation = !is_tcp;
        if is_tcp {
            add_address(reply, kind, 60);
        }
    });
    let resolver = Resolver::new(&asking(server.address)).unwrap();
    assert_eq!(resolver.resolve("long.test", 0).await.unwrap().addresses, [IpAddr::from(ADDRESS)]);
    assert!(server.by_udp.load(Ordering::SeqCst) > 0 && server.by_tcp.load(Ordering::SeqCst) > 0);
}

#[tokio::test]
async fn a_host_with_the_new_addresses_only_is_found() {
    let new: std::net::Ipv6Addr = "2001:db8::7".parse().unwrap();
    let server = NameServer::start(move |_, kind, reply, _| {
        let name = reply.queries[0].name.clone();
        if kind == RecordType::AAAA {
            reply.add_answer(Record::from_rdata(name, 60, RData::AAAA(AAAA(new))));
        }
    });
    let resolver = Resolver::new(&asking(server.address)).unwrap();
    assert_eq!(resolver.resolve("six.test", 0).await.unwrap().addresses, [IpAddr::from(new)]);
}

#[tokio::test]
async fn a_mute_server_is_not_waited_for_and_the_next_is_asked() {
    let mute = NameServer::with_ttl_s(60);
    let settings = DnsSettings { timeout: Duration::from_millis(50), attempts: 1, ..asking(mute.address) };
    let resolver = Resolver::new(&settings).unwrap();
    assert_eq!(resolver.resolve("mute.test", 0).await, Err(Reason::NameServerFailed));

    let nobody = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let server = NameServer::with_ttl_s(60);
    let name_servers = vec![nobody.local_addr().unwrap(), server.address];
    let settings =
        DnsSettings { name_servers, timeout: Duration::from_millis(200), ..DnsSettings::default() };
    let resolved = Resolver::new(&settings).unwrap().resolve("a.test", 0).await.unwrap();
    assert_eq!(resolved.addresses, [IpAddr::from(ADDRESS)]);
}

#[tokio::test]
async fn what_is_known_is_not_asked_for() {
    let server = NameServer::with_ttl_s(60);
    let known = Ipv4Addr::new(192, 0, 2, 99);
    let settings = DnsSettings {
        hosts: [("KNOWN.test.".to_owned(), IpAddr::from(known))].into(),
        ..asking(server.address)
    };
    let resolver = Resolver::new(&settings).unwrap();
    for (host, address) in [("Known.test", "192.0.2.99"), ("10.0.0.1", "10.0.0.1"), ("[::1]", "::1")] {
        let resolved = resolver.resolve(host, 5).await.unwrap();
        assert_eq!(resolved.addresses, [address.parse::<IpAddr>().unwrap()]);
        assert!(resolved.good_until_ms > 86_400_000);
    }
    assert_eq!(server.asked(), 0);
    for no_name in [&format!("{}.test", "x".repeat(64)), "a..b", "a b"] {
        assert_eq!(resolver.resolve(no_name, 0).await, Err(Reason::NameNotFound), "{no_name}");
    }
    assert_eq!(server.asked(), 0);
    assert!(resolver.resolve("odd_name.test", 0).await.is_ok());
}
