//! DNS resolver, with name servers on real sockets.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fetch::{DnsSettings, Failure, LocalFault, Resolver};
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA};
use hickory_proto::rr::{RData, Record, RecordType};
use model::Reason;
use simweb::{Endpoints, Health, Settings, SimWeb};

const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 7);

/// Name server on UDP and TCP that responds by a function and counts the queries.
struct NameServer {
    address: SocketAddr,
    udp_queries: Arc<AtomicUsize>,
    tcp_queries: Arc<AtomicUsize>,
}

impl NameServer {
    fn start(handler: impl Fn(&str, RecordType, &mut Message, bool) + Send + Sync + 'static) -> NameServer {
        // The same port for UDP and TCP.
        let (udp, tcp) = loop {
            let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()) {
                break (udp, tcp);
            }
        };
        let server = NameServer {
            address: udp.local_addr().unwrap(),
            udp_queries: Arc::default(),
            tcp_queries: Arc::default(),
        };
        let handler = Arc::new(handler);
        let (udp_handler, count) = (Arc::clone(&handler), Arc::clone(&server.udp_queries));
        NameServer::serve_udp(udp, move |name, kind, reply, is_tcp| {
            count.fetch_add(1, Ordering::SeqCst);
            udp_handler(name, kind, reply, is_tcp);
        });
        let count = Arc::clone(&server.tcp_queries);
        std::thread::spawn(move || {
            for stream in tcp.incoming() {
                let mut stream = stream.unwrap();
                let mut length = [0; 2];
                while stream.read_exact(&mut length).is_ok() {
                    let mut query_bytes = vec![0; usize::from(u16::from_be_bytes(length))];
                    stream.read_exact(&mut query_bytes).unwrap();
                    count.fetch_add(1, Ordering::SeqCst);
                    let reply = respond(&query_bytes, &*handler, true).unwrap();
                    stream.write_all(&(reply.len() as u16).to_be_bytes()).unwrap();
                    stream.write_all(&reply).unwrap();
                }
            }
        });
        server
    }

    /// Responds on a UDP socket.
    fn serve_udp(
        udp: UdpSocket,
        handler: impl Fn(&str, RecordType, &mut Message, bool) + Send + Sync + 'static,
    ) {
        NameServer::serve_udp_if(udp, |_| true, handler);
    }

    /// Responds to the queries for some names on a UDP socket.
    fn serve_udp_if(
        udp: UdpSocket,
        is_served: impl Fn(&str) -> bool + Send + 'static,
        handler: impl Fn(&str, RecordType, &mut Message, bool) + Send + Sync + 'static,
    ) {
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok((length, client)) = udp.recv_from(&mut buffer) {
                let message = Message::from_vec(&buffer[..length]).unwrap();
                if !is_served(&message.queries[0].name.to_lowercase().to_ascii()) {
                    continue;
                }
                if let Some(reply) = respond(&buffer[..length], &handler, false) {
                    udp.send_to(&reply, client).unwrap();
                }
            }
        });
    }

    /// Responds to every query with the same address.
    fn with_ttl_s(ttl_s: u32) -> NameServer {
        NameServer::start(move |_, kind, reply, _| add_address(reply, kind, ttl_s))
    }

    fn queries(&self) -> usize {
        self.udp_queries.load(Ordering::SeqCst) + self.tcp_queries.load(Ordering::SeqCst)
    }
}

fn respond(
    query_bytes: &[u8],
    handler: &(dyn Fn(&str, RecordType, &mut Message, bool) + Send + Sync),
    is_tcp: bool,
) -> Option<Vec<u8>> {
    let message = Message::from_vec(query_bytes).unwrap();
    let query = message.queries[0].clone();
    let mut reply = Message::response(message.metadata.id, message.metadata.op_code);
    let name = query.name.to_lowercase().to_ascii();
    let kind = query.query_type;
    reply.add_query(query);
    handler(&name, kind, &mut reply, is_tcp);
    (name != "mute.test.").then(|| reply.to_vec().unwrap())
}

fn add_address(reply: &mut Message, kind: RecordType, ttl_s: u32) {
    let name = reply.queries[0].name.clone();
    if kind == RecordType::A {
        reply.add_answer(Record::from_rdata(name, ttl_s, RData::A(A(ADDRESS))));
    }
}

fn settings_for(server: SocketAddr) -> DnsSettings {
    DnsSettings { name_servers: vec![server], ..DnsSettings::default() }
}

#[tokio::test]
async fn hosts_of_a_synthetic_web_are_resolved_or_fail() {
    let settings = Settings { sites: 300, ..Settings::default() };
    let web = SimWeb::start(settings, &Endpoints::default()).unwrap();
    let resolver = Resolver::new(&settings_for(web.dns.unwrap())).unwrap();
    let mut seen = [0; 3];
    for site in web.world.site_indexes().map(|index| web.world.site(index)) {
        let expected = match site.health {
            Health::NxDomain => Err(Failure::Site(Reason::DnsNotFound)),
            Health::ServFail => Err(Failure::Site(Reason::DnsFailed)),
            _ => Ok(vec![IpAddr::from(web.world.ip_address(site.index))]),
        };
        let index = match expected {
            Ok(_) => 0,
            Err(Failure::Site(Reason::DnsNotFound)) => 1,
            Err(_) => 2,
        };
        seen[index] += 1;
        let resolved = resolver.resolve(&web.world.name(site.index), 0).await;
        assert_eq!(resolved.map(|resolved| resolved.addresses), expected, "{:?}", site.health);
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

#[tokio::test]
async fn the_cache_lifetime_lies_between_its_bounds() {
    for (ttl_s, lifetime_s) in [(1, 60), (100, 100), (1_000_000, 3600)] {
        let server = NameServer::with_ttl_s(ttl_s);
        let settings = DnsSettings {
            min_ttl: Duration::from_secs(60),
            max_ttl: Duration::from_secs(3600),
            ..settings_for(server.address)
        };
        let resolver = Resolver::new(&settings).unwrap();
        let now_ms = 1_000_000;
        let resolved = resolver.resolve("A.test", now_ms).await.unwrap();
        assert_eq!(resolved.addresses, [IpAddr::from(ADDRESS)]);
        // The resolver may lose up to a second to rounding.
        let lifetime_ms = resolved.expires_ms - now_ms;
        assert!(
            (lifetime_s * 1000 - 1000..=lifetime_s * 1000).contains(&lifetime_ms),
            "{ttl_s}: {lifetime_ms}"
        );
        assert_eq!(resolver.resolve("a.test.", resolved.expires_ms - 1).await, Ok(resolved.clone()));
        assert_eq!(server.queries(), 1);
        resolver.resolve("a.test", resolved.expires_ms).await.unwrap();
        assert_eq!(server.queries(), 2);
    }
}

#[tokio::test]
async fn failures_are_cached() {
    let server = NameServer::start(|name, _, reply, _| {
        reply.metadata.response_code =
            if name == "none.test." { ResponseCode::NXDomain } else { ResponseCode::ServFail };
    });
    let settings = DnsSettings {
        negative_ttl: Duration::from_secs(10),
        max_attempts: 1,
        ..settings_for(server.address)
    };
    let resolver = Resolver::new(&settings).unwrap();
    for (name, reason) in [("none.test", Reason::DnsNotFound), ("broken.test", Reason::DnsFailed)] {
        assert_eq!(resolver.resolve(name, 0).await, Err(Failure::Site(reason)));
        let queries = server.queries();
        assert_eq!(resolver.resolve(name, 9_999).await, Err(Failure::Site(reason)));
        assert_eq!(server.queries(), queries);
        assert_eq!(resolver.resolve(name, 10_000).await, Err(Failure::Site(reason)));
        assert!(server.queries() > queries);
    }
}

#[tokio::test]
async fn a_truncated_response_is_repeated_over_tcp() {
    let server = NameServer::start(|_, kind, reply, is_tcp| {
        reply.metadata.truncation = !is_tcp;
        if is_tcp {
            add_address(reply, kind, 60);
        }
    });
    let resolver = Resolver::new(&settings_for(server.address)).unwrap();
    assert_eq!(resolver.resolve("long.test", 0).await.unwrap().addresses, [IpAddr::from(ADDRESS)]);
    assert!(server.udp_queries.load(Ordering::SeqCst) > 0 && server.tcp_queries.load(Ordering::SeqCst) > 0);
}

#[tokio::test]
async fn a_host_with_ipv6_addresses_only_is_resolved() {
    let new: std::net::Ipv6Addr = "2001:db8::7".parse().unwrap();
    let server = NameServer::start(move |_, kind, reply, _| {
        let name = reply.queries[0].name.clone();
        if kind == RecordType::AAAA {
            reply.add_answer(Record::from_rdata(name, 60, RData::AAAA(AAAA(new))));
        }
    });
    let resolver = Resolver::new(&settings_for(server.address)).unwrap();
    assert_eq!(resolver.resolve("six.test", 0).await.unwrap().addresses, [IpAddr::from(new)]);
}

#[tokio::test]
async fn an_unresponsive_name_server_times_out_and_the_next_one_is_queried() {
    let unresponsive_server = NameServer::with_ttl_s(60);
    let settings = DnsSettings {
        timeout: Duration::from_millis(50),
        max_attempts: 1,
        ..settings_for(unresponsive_server.address)
    };
    let resolver = Resolver::new(&settings).unwrap();
    assert_eq!(resolver.resolve("mute.test", 0).await, Err(Failure::Site(Reason::DnsFailed)));

    let unresponsive = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let server = NameServer::with_ttl_s(60);
    let name_servers = vec![unresponsive.local_addr().unwrap(), server.address];
    let settings =
        DnsSettings { name_servers, timeout: Duration::from_millis(200), ..DnsSettings::default() };
    let resolved = Resolver::new(&settings).unwrap().resolve("a.test", 0).await.unwrap();
    assert_eq!(resolved.addresses, [IpAddr::from(ADDRESS)]);
}

#[tokio::test]
async fn static_hosts_and_ip_addresses_are_not_queried() {
    let server = NameServer::with_ttl_s(60);
    let static_address = Ipv4Addr::new(192, 0, 2, 99);
    let settings = DnsSettings {
        hosts: [("KNOWN.test.".to_owned(), IpAddr::from(static_address))].into(),
        ..settings_for(server.address)
    };
    let resolver = Resolver::new(&settings).unwrap();
    for (host, address) in [("Known.test", "192.0.2.99"), ("10.0.0.1", "10.0.0.1"), ("[::1]", "::1")] {
        let resolved = resolver.resolve(host, 5).await.unwrap();
        assert_eq!(resolved.addresses, [address.parse::<IpAddr>().unwrap()]);
        assert!(resolved.expires_ms > 86_400_000);
    }
    assert_eq!(server.queries(), 0);
    for invalid in [&format!("{}.test", "x".repeat(64)), "a..b", "a b"] {
        assert_eq!(resolver.resolve(invalid, 0).await, Err(Failure::Site(Reason::DnsNotFound)), "{invalid}");
    }
    assert_eq!(server.queries(), 0);
    assert!(resolver.resolve("odd_name.test", 0).await.is_ok());
}

#[tokio::test]
async fn silent_name_servers_are_a_local_fault_that_is_not_cached() {
    let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let settings = DnsSettings {
        timeout: Duration::from_millis(100),
        max_attempts: 1,
        ..settings_for(udp.local_addr().unwrap())
    };
    let resolver = Resolver::new(&settings).unwrap();
    let unavailable = Err(Failure::Local(LocalFault::NameServerUnavailable));
    assert_eq!(resolver.resolve("a.test", 0).await, unavailable);
    assert!(!resolver.is_healthy(None).await);
    NameServer::serve_udp(udp, |_, kind, reply, _| add_address(reply, kind, 60));
    assert_eq!(resolver.resolve("a.test", 0).await.unwrap().addresses, [IpAddr::from(ADDRESS)]);
    assert!(resolver.is_healthy(None).await);
}

#[tokio::test]
async fn a_silent_name_server_gets_as_many_queries_of_a_name_as_the_setting_says() {
    for max_attempts in [1, 2] {
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let settings = DnsSettings {
            timeout: Duration::from_millis(100),
            max_attempts,
            ..settings_for(udp.local_addr().unwrap())
        };
        let resolver = Resolver::new(&settings).unwrap();
        assert!(resolver.resolve("a.test", 0).await.is_err());
        udp.set_nonblocking(true).unwrap();
        let mut buffer = [0; 512];
        let mut queries = 0;
        while let Ok(length) = udp.recv(&mut buffer) {
            let message = Message::from_vec(&buffer[..length]).unwrap();
            let query = &message.queries[0];
            queries +=
                usize::from(query.name().to_ascii() == "a.test." && query.query_type() == RecordType::A);
        }
        assert_eq!(queries, max_attempts);
    }
}

#[tokio::test]
async fn a_dead_name_server_is_noticed_long_before_all_attempts_have_timed_out() {
    let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let settings = DnsSettings {
        timeout: Duration::from_millis(300),
        max_attempts: 10,
        ..settings_for(udp.local_addr().unwrap())
    };
    let resolver = Resolver::new(&settings).unwrap();
    let started = std::time::Instant::now();
    let unavailable = Err(Failure::Local(LocalFault::NameServerUnavailable));
    assert_eq!(resolver.resolve("a.test", 0).await, unavailable);
    // Ten attempts for each of two types of addresses take 6 s.
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_name_server_that_fails_for_every_name_is_a_local_fault() {
    let fail = |_: &str, _: RecordType, reply: &mut Message, _: bool| {
        reply.metadata.response_code = ResponseCode::ServFail;
    };
    let server = NameServer::start(fail);
    let settings = DnsSettings { max_attempts: 1, ..settings_for(server.address) };
    let resolver = Resolver::new(&settings).unwrap();
    let unavailable = Err(Failure::Local(LocalFault::NameServerUnavailable));
    assert_eq!(resolver.resolve("a.test", 0).await, unavailable);

    // One that knows the root fails for this name only.
    let server = NameServer::start(move |name, kind, reply, is_tcp| {
        if name != "." {
            fail(name, kind, reply, is_tcp);
        }
    });
    let settings = DnsSettings { max_attempts: 1, ..settings_for(server.address) };
    let resolver = Resolver::new(&settings).unwrap();
    assert_eq!(resolver.resolve("a.test", 0).await, Err(Failure::Site(Reason::DnsFailed)));
}

#[tokio::test]
async fn a_name_server_that_ignores_the_root_is_healthy_if_it_resolves_a_known_name() {
    let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let settings = DnsSettings {
        timeout: Duration::from_millis(100),
        max_attempts: 1,
        ..settings_for(server.local_addr().unwrap())
    };
    NameServer::serve_udp_if(
        server,
        |name| name == "a.test.",
        |_, kind, reply, _| add_address(reply, kind, 60),
    );
    let resolver = Resolver::new(&settings).unwrap();
    assert!(!resolver.is_healthy(None).await);
    assert!(resolver.resolve("a.test", 0).await.is_ok());
    assert_eq!(resolver.resolve("other.test", 0).await, Err(Failure::Site(Reason::DnsFailed)));
}
