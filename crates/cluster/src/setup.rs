//! What must be there before messages are carried? The collection sets up its streams; workers find them, or are told that
//! there is no such collection.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, Consumer, FromConsumer, PullConsumer, pull};
use async_nats::jetstream::context::{ConsumerInfoErrorKind, CreateStreamErrorKind};
use async_nats::jetstream::stream::{Config, DiscardPolicy, StorageType};
use async_nats::jetstream::{Error, ErrorCode};
use bytes::Bytes;
use crawl::MESSAGE_LIMIT_BYTES;

use crate::ledger::{Ledger, Write};
use crate::link::{Failure, Link};
use crate::names::{Names, WORKERS};

/// What headers may add to a message.
const HEADERS_LIMIT_BYTES: usize = 4 << 10;
/// Longer logs are not of this program.
const LOG_LIMIT_ENTRIES: i64 = 100_000;

/// On which side of the broker are we?
#[derive(Debug, Clone, Copy)]
pub enum Role {
    /// The side that offers batches; there is one at a time.
    Collection(Carriage),
    /// One of those that take them.
    Worker,
}

/// How the messages of a collection are carried. The collection says it, and workers follow.
#[derive(Debug, Clone, Copy)]
pub struct Carriage {
    /// For how long a batch is lent without news.
    pub lease: Duration,
    /// On how many servers of a cluster everything is kept.
    pub replicas: usize,
    /// Different for every collection, and the same for each time that it comes.
    pub owner: u64,
}

impl Default for Carriage {
    fn default() -> Carriage {
        Carriage { lease: Duration::from_secs(30), replicas: 1, owner: 0 }
    }
}

impl Role {
    /// What it is called in the names of inboxes.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Role::Collection(_) => "collection",
            Role::Worker => "worker",
        }
    }
}

/// Makes the streams of a collection what they should be, and the consumer that its workers share.
pub(crate) async fn set_up(link: &Link, names: &Names, carriage: &Carriage) -> Result<PullConsumer, Failure> {
    for config in streams(names, carriage.replicas) {
        link.context.create_or_update_stream(config).await.map_err(|error| match error.kind() {
            CreateStreamErrorKind::JetStream(why) => judged(why),
            _ => Failure::again(error),
        })?;
    }
    own(link, names, carriage.owner).await?;
    let config = pull::Config {
        durable_name: Some(WORKERS.to_owned()),
        ack_policy: AckPolicy::Explicit,
        ack_wait: carriage.lease,
        // Batches that are lent are as many as there are workers; their number is nobody's concern here.
        max_ack_pending: -1,
        ..Default::default()
    };
    link.context.create_consumer_on_stream(config, names.batches_stream()).await.map_err(Failure::again)
}

/// Batches of two collections that are called the same would get into each other's way.
async fn own(link: &Link, names: &Names, owner: u64) -> Result<(), Failure> {
    let (state, subject) = (Ledger::open(link, &names.state_stream()).await?, names.owner());
    let own = Bytes::from(format!("{owner:016x}"));
    if let Write::Done(_) = state.write(&subject, 0, own.clone()).await? {
        return Ok(());
    }
    let name = &names.collection;
    match state.last(&subject).await? {
        Some(entry) if entry.payload == own => Ok(()),
        _ => Err(Failure::Never(format!(
            "the broker carries another collection that is called `{name}`: give this one another name with --collection, or, if that \
             one is not needed any more, take its streams away there (nats stream rm weir-{name}-batches, -logs and -state)"
        ))),
    }
}

/// Finds what the collection has set up.
pub(crate) async fn join(link: &Link, names: &Names, collection: &str) -> Result<PullConsumer, Failure> {
    let stream = link.context.get_stream_no_info(names.batches_stream()).await.map_err(Failure::again)?;
    let info = stream.consumer_info(WORKERS).await.map_err(|error| match error.kind() {
        ConsumerInfoErrorKind::NotFound | ConsumerInfoErrorKind::StreamNotFound => Failure::Never(format!(
            "the broker knows no collection `{collection}`: its crawl is started first, and its name is the same everywhere"
        )),
        ConsumerInfoErrorKind::JetStream(why) => judged(why),
        _ => Failure::again(error),
    })?;
    let config = pull::Config::try_from_consumer_config(info.config.clone()).map_err(Failure::Again)?;
    Ok(Consumer::new(config, info, link.context.clone()))
}

fn streams(names: &Names, replicas: usize) -> [Config; 3] {
    let config = |name: String, subjects: Vec<String>, entries: i64, discard: DiscardPolicy| Config {
        name,
        subjects,
        max_messages_per_subject: entries,
        discard,
        discard_new_per_subject: discard == DiscardPolicy::New,
        storage: StorageType::File,
        num_replicas: replicas,
        max_message_size: i32::try_from(MESSAGE_LIMIT_BYTES + HEADERS_LIMIT_BYTES).unwrap_or(i32::MAX),
        ..Default::default()
    };
    // A batch stays when it is done, until it is forgotten: else it could be offered a second time.
    let batches = config(names.batches_stream(), vec![names.batch(None)], 1, DiscardPolicy::New);
    let logs = config(names.logs_stream(), vec![names.log(None)], LOG_LIMIT_ENTRIES, DiscardPolicy::New);
    let state = vec![names.lease(None), names.orders(), names.owner(), names.clock()];
    [batches, logs, config(names.state_stream(), state, 1, DiscardPolicy::Old)]
}

/// A server that is about to start says that it has no JetStream too, but not with this code.
fn judged(error: Error) -> Failure {
    let refused = [
        ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT,
        ErrorCode::JETSTREAM_NOT_ENABLED,
        ErrorCode::STREAM_SUBJECT_OVERLAP,
        ErrorCode::STREAM_INVALID_CONFIG,
        ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED,
    ];
    if refused.contains(&error.error_code()) {
        return Failure::Never(format!("the broker cannot carry this collection: {error}"));
    }
    Failure::again(error)
}
