//! Creation of the streams of a collection by its coordinator, and their lookup by workers.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, Consumer, FromConsumer, PullConsumer, pull};
use async_nats::jetstream::context::{ConsumerInfoErrorKind, CreateStreamErrorKind};
use async_nats::jetstream::stream::{Config, DiscardPolicy, StorageType};
use async_nats::jetstream::{Error, ErrorCode};
use bytes::Bytes;
use harvest::MAX_MESSAGE_BYTES;

use crate::nats::connection::{Failure, NatsConnection};
use crate::nats::subject_log::{CasResult, SubjectLog};
use crate::nats::subjects::{Subjects, WORKER_CONSUMER};

/// Room for the headers of a message.
const MAX_HEADERS_BYTES: usize = 4 << 10;
/// Maximum number of entries of a log; no batch of this program writes more.
const MAX_LOG_ENTRIES: i64 = 100_000;

/// Role of a client of the broker.
#[derive(Debug, Clone, Copy)]
pub enum Role {
    /// Publishes batches; a collection has one coordinator at a time.
    Coordinator(StreamSettings),
    /// Leases batches.
    Worker,
}

/// Settings of the streams of a collection, chosen by its coordinator; workers use them as they are.
#[derive(Debug, Clone, Copy)]
pub struct StreamSettings {
    /// Time after which a batch without heartbeat is given to another worker.
    pub lease_duration: Duration,
    /// Number of servers of a NATS cluster that store each stream.
    pub replicas: usize,
    /// Unique and permanent id of the collection.
    pub collection_id: u64,
}

impl Default for StreamSettings {
    fn default() -> StreamSettings {
        StreamSettings { lease_duration: Duration::from_secs(30), replicas: 1, collection_id: 0 }
    }
}

impl Role {
    /// Name of the role in inbox subjects.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Role::Coordinator(_) => "coordinator",
            Role::Worker => "worker",
        }
    }
}

/// Creates or updates the streams of a collection and the consumer that its workers share.
pub(crate) async fn create_streams(
    connection: &NatsConnection,
    subjects: &Subjects,
    settings: &StreamSettings,
) -> Result<PullConsumer, Failure> {
    for config in stream_configs(subjects, settings.replicas) {
        connection.context.create_or_update_stream(config).await.map_err(|error| match error.kind() {
            CreateStreamErrorKind::JetStream(cause) => classify(cause),
            _ => Failure::transient(error),
        })?;
    }
    claim_ownership(connection, subjects, settings.collection_id).await?;
    let config = pull::Config {
        durable_name: Some(WORKER_CONSUMER.to_owned()),
        ack_policy: AckPolicy::Explicit,
        ack_wait: settings.lease_duration,
        // Unlimited: the number of leased batches is limited by the number of workers.
        max_ack_pending: -1,
        ..Default::default()
    };
    connection
        .context
        .create_consumer_on_stream(config, subjects.batches_stream())
        .await
        .map_err(Failure::transient)
}

/// Claims the streams for this collection; fails if another collection of the same name owns them, since their batch ids
/// would collide.
async fn claim_ownership(
    connection: &NatsConnection,
    subjects: &Subjects,
    collection_id: u64,
) -> Result<(), Failure> {
    let (state, subject) = (SubjectLog::open(connection, &subjects.state_stream()).await?, subjects.owner());
    let id = Bytes::from(format!("{collection_id:016x}"));
    if let CasResult::Written(_) = state.append_if(&subject, 0, id.clone()).await? {
        return Ok(());
    }
    let name = &subjects.collection;
    match state.last(&subject).await? {
        Some(entry) if entry.payload == id => Ok(()),
        _ => Err(Failure::Permanent(format!(
            "the broker already has another collection named `{name}`: choose another name with --collection, or, if that \
             collection is no longer needed, delete its streams (nats stream rm weir-{name}-batches, weir-{name}-logs and weir-{name}-state)"
        ))),
    }
}

/// Looks up the consumer that the coordinator has created.
pub(crate) async fn attach(
    connection: &NatsConnection,
    subjects: &Subjects,
    collection: &str,
) -> Result<PullConsumer, Failure> {
    let stream =
        connection.context.get_stream_no_info(subjects.batches_stream()).await.map_err(Failure::transient)?;
    let info = stream.consumer_info(WORKER_CONSUMER).await.map_err(|error| match error.kind() {
        ConsumerInfoErrorKind::NotFound | ConsumerInfoErrorKind::StreamNotFound => Failure::Permanent(format!(
            "the broker has no collection `{collection}`: start its crawl first, with the same --collection name"
        )),
        ConsumerInfoErrorKind::JetStream(cause) => classify(cause),
        _ => Failure::transient(error),
    })?;
    let config = pull::Config::try_from_consumer_config(info.config.clone()).map_err(Failure::Transient)?;
    Ok(Consumer::new(config, info, connection.context.clone()))
}

fn stream_configs(subjects: &Subjects, replicas: usize) -> [Config; 3] {
    let config = |name: String, subjects: Vec<String>, entries: i64, discard: DiscardPolicy| Config {
        name,
        subjects,
        max_messages_per_subject: entries,
        discard,
        discard_new_per_subject: discard == DiscardPolicy::New,
        storage: StorageType::File,
        num_replicas: replicas,
        max_message_size: i32::try_from(MAX_MESSAGE_BYTES + MAX_HEADERS_BYTES).unwrap_or(i32::MAX),
        ..Default::default()
    };
    // A completed batch stays until it is deleted, so that it cannot be published a second time.
    let batches = config(subjects.batches_stream(), vec![subjects.batch(None)], 1, DiscardPolicy::New);
    let logs = config(subjects.logs_stream(), vec![subjects.log(None)], MAX_LOG_ENTRIES, DiscardPolicy::New);
    let state = vec![subjects.lease(None), subjects.control(), subjects.owner(), subjects.server_time()];
    [batches, logs, config(subjects.state_stream(), state, 1, DiscardPolicy::Old)]
}

/// Classifies an error of JetStream. A server that is still starting also reports that JetStream is missing, but with a
/// different code, so these codes are permanent.
fn classify(error: Error) -> Failure {
    let permanent = [
        ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT,
        ErrorCode::JETSTREAM_NOT_ENABLED,
        ErrorCode::STREAM_SUBJECT_OVERLAP,
        ErrorCode::STREAM_INVALID_CONFIG,
        ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED,
    ];
    if permanent.contains(&error.error_code()) {
        return Failure::Permanent(format!("cannot create the streams of the collection: {error}"));
    }
    Failure::transient(error)
}
