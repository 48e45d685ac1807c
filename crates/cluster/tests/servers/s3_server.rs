//! S3 server (SeaweedFS) for one test.

use std::ops::{Deref, DerefMut};

use cluster::S3Config;

use crate::venv::venv;

/// S3 server with its access data.
pub(crate) struct S3Server(testkit::S3Server);

impl Deref for S3Server {
    type Target = testkit::S3Server;

    fn deref(&self) -> &testkit::S3Server {
        &self.0
    }
}

impl DerefMut for S3Server {
    fn deref_mut(&mut self) -> &mut testkit::S3Server {
        &mut self.0
    }
}

impl S3Server {
    /// Starts a server; `None` if the test is skipped.
    pub(crate) fn start() -> Option<S3Server> {
        Some(S3Server(testkit::S3Server::start(&venv()?)))
    }

    pub(crate) fn config(&self) -> S3Config {
        S3Config {
            endpoint: Some(self.endpoint()),
            region: Some(testkit::S3_REGION.to_owned()),
            key_id: Some(testkit::S3_KEY_ID.to_owned()),
            secret_key: Some(testkit::S3_SECRET_KEY.to_owned()),
            ca_file: None,
        }
    }
}
