//! Part of a broker that its leases share.

use std::time::Duration;

use crate::nats::connection::NatsConnection;
use crate::nats::subject_log::SubjectLog;
use crate::nats::subjects::Subjects;

/// Connection, subjects and state stream of a broker; kept alive by each of its leases.
pub(crate) struct LeaseContext {
    pub(crate) connection: NatsConnection,
    pub(crate) subjects: Subjects,
    pub(crate) state: SubjectLog,
    /// Time after which a lease that is not renewed expires.
    pub(crate) lease_duration: Duration,
}
