//! NATS server for one test.

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cluster::{BrokerCredentials, Role, StreamSettings, connect_broker};
use harvest::{Broker, BrokerError};

use crate::venv::venv;

/// Name of the test collection, the one that the configuration in `contrib` uses.
pub(crate) const COLLECTION: &str = "example";

/// NATS server with connections of both roles.
pub(crate) struct NatsServer(testkit::NatsServer);

impl Deref for NatsServer {
    type Target = testkit::NatsServer;

    fn deref(&self) -> &testkit::NatsServer {
        &self.0
    }
}

impl DerefMut for NatsServer {
    fn deref_mut(&mut self) -> &mut testkit::NatsServer {
        &mut self.0
    }
}

impl NatsServer {
    /// Starts a server with JetStream and without authentication; `None` if the test is skipped.
    pub(crate) fn start() -> Option<NatsServer> {
        Some(NatsServer(testkit::NatsServer::start(&venv()?)))
    }

    /// Starts a server with these arguments and environment variables; `None` if the test is skipped.
    pub(crate) fn start_with(arguments: &[&str], variables: &[(&str, &str)]) -> Option<NatsServer> {
        Some(NatsServer(testkit::NatsServer::start_with(&venv()?, arguments, variables)))
    }

    /// Connects as the coordinator, with this lease duration.
    pub(crate) fn coordinator(&self, lease: Duration) -> Box<dyn Broker> {
        let role = Role::Coordinator(StreamSettings { lease_duration: lease, ..Default::default() });
        connect_broker(&self.url(), COLLECTION, role, &BrokerCredentials::default()).unwrap()
    }

    pub(crate) fn worker(&self) -> Box<dyn Broker> {
        connect_broker(&self.url(), COLLECTION, Role::Worker, &BrokerCredentials::default()).unwrap()
    }
}

/// Cause of a permanent error; panics for any other result.
pub(crate) fn refusal<T>(outcome: Result<T, BrokerError>) -> String {
    match outcome {
        Err(BrokerError::Refused(cause)) => cause,
        Err(error @ BrokerError::BlobTooLarge { .. }) => error.to_string(),
        Err(error) => panic!("not refused, but: {error}"),
        Ok(_) => panic!("not refused"),
    }
}

/// Configuration file that is shipped.
pub(crate) fn shipped_config() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/nats-server.conf")
}
