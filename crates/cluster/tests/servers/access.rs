//! Authentication, permissions and the error messages of rejected connections.

use std::path::PathBuf;
use std::time::Duration;

use cluster::{BrokerCredentials, Role, StreamSettings, connect_broker};
use harvest::{Broker, BrokerError};

use crate::nats_server::{COLLECTION, NatsServer, refusal, shipped_config};
use testkit::wait_for;

const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_secs(1);

fn connect(url: &str, role: Role, credentials: &BrokerCredentials) -> Result<Box<dyn Broker>, BrokerError> {
    connect_broker(url, COLLECTION, role, credentials)
}

fn as_coordinator() -> Role {
    Role::Coordinator(StreamSettings { lease_duration: SHORT, ..Default::default() })
}

/// Server with the configuration of `contrib`: TLS and two users.
struct Secured {
    server: NatsServer,
    ca_file: PathBuf,
    _files: tempfile::TempDir,
}

impl Secured {
    fn start() -> Option<Secured> {
        let files = tempfile::tempdir().unwrap();
        let generated =
            rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
        let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| files.path().join(name));
        std::fs::write(&certificate, generated.cert.pem()).unwrap();
        std::fs::write(&key, generated.signing_key.serialize_pem()).unwrap();
        let variables = [
            ("COORDINATOR_PASSWORD", "river"),
            ("WORKER_PASSWORD", "stream"),
            ("CERTIFICATE", certificate.to_str().unwrap()),
            ("KEY", key.to_str().unwrap()),
        ];
        let server = NatsServer::start_with(&["--config", shipped_config().to_str().unwrap()], &variables)?;
        Some(Secured { server, ca_file: certificate, _files: files })
    }

    fn url(&self) -> String {
        self.server.url().replace("nats://", "tls://")
    }

    fn user(&self, user: &str, password: &str) -> BrokerCredentials {
        BrokerCredentials {
            user: Some((user.to_owned(), password.to_owned())),
            ca_file: Some(self.ca_file.clone()),
            ..Default::default()
        }
    }
}

#[test]
fn the_shipped_settings_permit_each_role_what_it_needs() {
    let Some(secured) = Secured::start() else { return };
    let coordinator =
        connect(&secured.url(), as_coordinator(), &secured.user("coordinator", "river")).unwrap();
    let [worker, other] =
        [0; 2].map(|_| connect(&secured.url(), Role::Worker, &secured.user("worker", "stream")).unwrap());
    coordinator.publish_control(b"go").unwrap();
    wait_for("the control message", || worker.latest_control().unwrap());
    coordinator.publish_batch(1, b"pages").unwrap();
    let lost = worker.acquire_lease("w", LONG).unwrap().unwrap();
    let lease = other.acquire_lease("other", LONG).unwrap().unwrap();
    assert!(lease.renew().unwrap());
    assert!(!lost.renew().unwrap());
    let number = other.append_log(1, 0, b"found").unwrap().unwrap();
    assert_eq!(worker.append_log(1, 0, b"found").unwrap(), None);
    assert_eq!(worker.read_log(1).unwrap()[0].seq, number);
    lease.complete().unwrap();
    wait_for("an entry", || coordinator.poll_logs(SHORT).unwrap().pop());
    coordinator.append_log(1, number, b"taken in").unwrap().unwrap();
    assert_eq!(coordinator.read_log(1).unwrap().len(), 2);
    worker.send_report("w", b"well").unwrap();
    wait_for("a report", || coordinator.drain_reports().unwrap().pop());
    coordinator.delete_batch(1).unwrap();
    // Connecting again finds all streams in place.
    connect(&secured.url(), as_coordinator(), &secured.user("coordinator", "river")).unwrap();
}

#[test]
fn a_worker_has_no_permissions_of_the_coordinator() {
    let Some(secured) = Secured::start() else { return };
    let coordinator =
        connect(&secured.url(), as_coordinator(), &secured.user("coordinator", "river")).unwrap();
    let worker = connect(&secured.url(), Role::Worker, &secured.user("worker", "stream")).unwrap();
    coordinator.publish_control(b"go").unwrap();
    for outcome in
        [worker.publish_batch(1, b"pages"), worker.publish_control(b"stop"), worker.delete_batch(1)]
    {
        let cause = refusal(outcome);
        assert!(cause.contains("permission denied"), "{cause}");
    }
    let cause = refusal(connect(&secured.url(), as_coordinator(), &secured.user("worker", "stream")));
    assert!(cause.contains("permission denied"), "{cause}");
    assert_eq!(coordinator.latest_control().unwrap().unwrap(), b"go");
    assert!(worker.acquire_lease("w", Duration::ZERO).unwrap().is_none());
}

#[test]
fn a_rejected_connection_reports_its_cause() {
    let Some(secured) = Secured::start() else { return };
    let wrong_password = secured.user("worker", "guess");
    let anonymous = BrokerCredentials { ca_file: Some(secured.ca_file.clone()), ..Default::default() };
    for credentials in [wrong_password, anonymous] {
        let cause = refusal(connect(&secured.url(), Role::Worker, &credentials));
        assert!(cause.ends_with("failed: wrong token, user or password"), "{cause}");
    }
    let untrusted = BrokerCredentials { ca_file: None, ..secured.user("worker", "stream") };
    let cause = refusal(connect(&secured.url(), Role::Worker, &untrusted));
    assert!(cause.contains("TLS connection to the broker"), "{cause}");
    let no_file =
        BrokerCredentials { ca_file: Some(PathBuf::from("/nowhere")), ..secured.user("worker", "stream") };
    assert!(refusal(connect(&secured.url(), Role::Worker, &no_file)).contains("/nowhere"));
    // Worker of a collection that does not exist.
    let cause = refusal(connect(&secured.url(), Role::Worker, &secured.user("worker", "stream")));
    assert!(cause.contains("has no collection `example`"), "{cause}");
}

#[test]
fn the_right_token_is_accepted_and_a_wrong_one_is_rejected() {
    let Some(server) = NatsServer::start_with(&["--jetstream", "--auth", "sesame"], &[]) else { return };
    let token = |token: &str| BrokerCredentials { token: Some(token.to_owned()), ..Default::default() };
    connect(&server.url(), as_coordinator(), &token("sesame")).unwrap();
    connect(&server.url(), Role::Worker, &token("sesame")).unwrap();
    let cause = refusal(connect(&server.url(), Role::Worker, &token("barley")));
    assert!(cause.contains("wrong token, user or password"), "{cause}");
    assert!(!format!("{:?}", token("sesame")).contains("sesame"));
}

#[test]
fn more_replicas_than_servers_are_rejected() {
    let Some(server) = NatsServer::start() else { return };
    let role = Role::Coordinator(StreamSettings { replicas: 3, ..Default::default() });
    let cause = refusal(connect(&server.url(), role, &BrokerCredentials::default()));
    assert!(cause.contains("cannot create the streams"), "{cause}");
}

#[test]
fn invalid_broker_urls_and_names_are_rejected() {
    let plain = BrokerCredentials::default();
    let cause = refusal(connect("nats://no-such-host.invalid:4222", Role::Worker, &plain));
    assert!(
        cause.contains("cannot resolve the host of the broker nats://no-such-host.invalid:4222"),
        "{cause}"
    );
    assert!(refusal(connect("http://127.0.0.1:4222", Role::Worker, &plain)).contains("invalid broker URL"));
    assert!(
        refusal(connect("nats://a:secret@127.0.0.1", Role::Worker, &plain))
            .contains("must not contain a user or password")
    );
    assert!(
        refusal(connect_broker("nats://127.0.0.1", "a.b", Role::Worker, &plain))
            .contains("invalid collection name")
    );
    let both = BrokerCredentials {
        token: Some(String::new()),
        user: Some(Default::default()),
        ..Default::default()
    };
    assert!(
        refusal(connect("nats://127.0.0.1", Role::Worker, &both)).contains("conflicting broker credentials")
    );
    let Some(server) = NatsServer::start_with(&[], &[]) else { return };
    assert!(refusal(connect(&server.url(), as_coordinator(), &plain)).contains("JetStream is not enabled"));
}

#[test]
fn two_collections_of_the_same_name_cannot_share_streams() {
    let Some(server) = NatsServer::start() else { return };
    let coordinator =
        |collection_id| Role::Coordinator(StreamSettings { collection_id, ..Default::default() });
    let anonymous = BrokerCredentials::default();
    connect(&server.url(), coordinator(7), &anonymous).unwrap();
    connect(&server.url(), coordinator(7), &anonymous).unwrap();
    let cause = refusal(connect(&server.url(), coordinator(8), &anonymous));
    assert!(cause.contains("another collection named"), "{cause}");
    connect_broker(&server.url(), "other", coordinator(8), &anonymous).unwrap();
}
