//! Does the broker let in who may come, to do what they may, and do others hear why not?

use std::path::PathBuf;
use std::time::Duration;

use cluster::{Carriage, Credentials, Role, connect_broker};
use crawl::{Broker, BrokerError};

use crate::nats_server::{COLLECTION, NatsServer, refusal, shipped_settings};
use crate::waiting::wait_for;

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_secs(1);

fn connect(url: &str, role: Role, credentials: &Credentials) -> Result<Box<dyn Broker>, BrokerError> {
    connect_broker(url, COLLECTION, role, credentials)
}

fn as_collection() -> Role {
    Role::Collection(Carriage { lease: SHORT, ..Default::default() })
}

/// A server with the settings that are shipped, TLS and two users.
struct Secured {
    server: NatsServer,
    authorities: PathBuf,
    _files: tempfile::TempDir,
}

impl Secured {
    fn start() -> Option<Secured> {
        let files = tempfile::tempdir().unwrap();
        let made =
            rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
        let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| files.path().join(name));
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let variables = [
            ("COLLECTION_PASSWORD", "river"),
            ("WORKER_PASSWORD", "stream"),
            ("CERTIFICATE", certificate.to_str().unwrap()),
            ("KEY", key.to_str().unwrap()),
        ];
        let server = NatsServer::start_with(&["--config", shipped_settings().to_str().unwrap()], &variables)?;
        Some(Secured { server, authorities: certificate, _files: files })
    }

    fn url(&self) -> String {
        self.server.url().replace("nats://", "tls://")
    }

    fn user(&self, user: &str, password: &str) -> Credentials {
        Credentials {
            user: Some((user.to_owned(), password.to_owned())),
            authorities: Some(self.authorities.clone()),
            ..Default::default()
        }
    }
}

#[test]
fn the_shipped_settings_permit_each_role_what_it_needs() {
    let Some(secured) = Secured::start() else { return };
    let collection = connect(&secured.url(), as_collection(), &secured.user("collection", "river")).unwrap();
    let [worker, other] =
        [0; 2].map(|_| connect(&secured.url(), Role::Worker, &secured.user("worker", "stream")).unwrap());
    collection.order(b"go").unwrap();
    wait_for("orders", || worker.orders().unwrap());
    collection.offer(1, b"pages").unwrap();
    let lost = worker.take("w", LONG).unwrap().unwrap();
    let lease = other.take("other", LONG).unwrap().unwrap();
    assert!(lease.keep().unwrap());
    assert!(!lost.keep().unwrap());
    let number = other.append(1, 0, b"found").unwrap().unwrap();
    assert_eq!(worker.append(1, 0, b"found").unwrap(), None);
    assert_eq!(worker.log(1).unwrap()[0].number, number);
    lease.done().unwrap();
    wait_for("an entry", || collection.listen(SHORT).unwrap().pop());
    collection.append(1, number, b"taken in").unwrap().unwrap();
    assert_eq!(collection.log(1).unwrap().len(), 2);
    worker.report("w", b"well").unwrap();
    wait_for("a report", || collection.reports().unwrap().pop());
    collection.forget(1).unwrap();
    // The same again, with everything there already.
    connect(&secured.url(), as_collection(), &secured.user("collection", "river")).unwrap();
}

#[test]
fn a_worker_may_not_do_what_is_the_collections() {
    let Some(secured) = Secured::start() else { return };
    let collection = connect(&secured.url(), as_collection(), &secured.user("collection", "river")).unwrap();
    let worker = connect(&secured.url(), Role::Worker, &secured.user("worker", "stream")).unwrap();
    collection.order(b"go").unwrap();
    for outcome in [worker.offer(1, b"pages"), worker.order(b"stop"), worker.forget(1)] {
        let why = refusal(outcome);
        assert!(why.contains("does not permit"), "{why}");
    }
    let why = refusal(connect(&secured.url(), as_collection(), &secured.user("worker", "stream")));
    assert!(why.contains("does not permit"), "{why}");
    assert_eq!(collection.orders().unwrap().unwrap(), b"go");
    assert!(worker.take("w", Duration::ZERO).unwrap().is_none());
}

#[test]
fn who_is_not_let_in_is_told_why_in_one_sentence() {
    let Some(secured) = Secured::start() else { return };
    let wrong_password = secured.user("worker", "guess");
    let nobody = Credentials { authorities: Some(secured.authorities.clone()), ..Default::default() };
    for credentials in [wrong_password, nobody] {
        let why = refusal(connect(&secured.url(), Role::Worker, &credentials));
        assert!(why.ends_with("does not let us in: the token, the user or the password is wrong"), "{why}");
    }
    let untrusted = Credentials { authorities: None, ..secured.user("worker", "stream") };
    let why = refusal(connect(&secured.url(), Role::Worker, &untrusted));
    assert!(why.contains("no secure connection"), "{why}");
    let no_file =
        Credentials { authorities: Some(PathBuf::from("/nowhere")), ..secured.user("worker", "stream") };
    assert!(refusal(connect(&secured.url(), Role::Worker, &no_file)).contains("/nowhere"));
    // A worker of a collection that does not exist.
    let why = refusal(connect(&secured.url(), Role::Worker, &secured.user("worker", "stream")));
    assert!(why.contains("knows no collection `example`"), "{why}");
}

#[test]
fn a_token_opens_and_a_wrong_one_does_not() {
    let Some(server) = NatsServer::start_with(&["--jetstream", "--auth", "sesame"], &[]) else { return };
    let token = |token: &str| Credentials { token: Some(token.to_owned()), ..Default::default() };
    connect(&server.url(), as_collection(), &token("sesame")).unwrap();
    connect(&server.url(), Role::Worker, &token("sesame")).unwrap();
    let why = refusal(connect(&server.url(), Role::Worker, &token("barley")));
    assert!(why.contains("does not let us in"), "{why}");
    assert!(!format!("{:?}", token("sesame")).contains("sesame"));
}

#[test]
fn more_replicas_than_there_are_servers_are_refused() {
    let Some(server) = NatsServer::start() else { return };
    let role = Role::Collection(Carriage { replicas: 3, ..Default::default() });
    let why = refusal(connect(&server.url(), role, &Credentials::default()));
    assert!(why.contains("cannot carry this collection"), "{why}");
}

#[test]
fn what_cannot_be_a_broker_is_refused() {
    let plain = Credentials::default();
    let why = refusal(connect("nats://no-such-host.invalid:4222", Role::Worker, &plain));
    assert!(why.contains("the host of the broker nats://no-such-host.invalid:4222 is unknown"), "{why}");
    assert!(
        refusal(connect("http://127.0.0.1:4222", Role::Worker, &plain)).contains("no address of a broker")
    );
    assert!(
        refusal(connect("nats://a:secret@127.0.0.1", Role::Worker, &plain)).contains("settings of their own")
    );
    assert!(refusal(connect_broker("nats://127.0.0.1", "a.b", Role::Worker, &plain)).contains("no name"));
    let both =
        Credentials { token: Some(String::new()), user: Some(Default::default()), ..Default::default() };
    assert!(refusal(connect("nats://127.0.0.1", Role::Worker, &both)).contains("only one of them"));
    let Some(server) = NatsServer::start_with(&[], &[]) else { return };
    assert!(refusal(connect(&server.url(), as_collection(), &plain)).contains("has no JetStream"));
}

#[test]
fn two_collections_of_one_name_are_told_apart() {
    let Some(server) = NatsServer::start() else { return };
    let of = |owner| Role::Collection(Carriage { owner, ..Default::default() });
    let nobody = Credentials::default();
    connect(&server.url(), of(7), &nobody).unwrap();
    connect(&server.url(), of(7), &nobody).unwrap();
    let told = refusal(connect(&server.url(), of(8), &nobody));
    assert!(told.contains("another collection that is called"), "{told}");
    connect_broker(&server.url(), "other", of(8), &nobody).unwrap();
}
