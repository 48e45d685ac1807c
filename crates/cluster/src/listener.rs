//! What has been told in all logs since we last listened? Each entry is heard once, whatever happens to the connection: what
//! counts is the number of the last entry that was handed on, and the broker's own notes are thrown away when in doubt.

use std::time::Duration;

use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use crawl::LogEntry;
use futures::StreamExt;

use crate::ledger::Ledger;
use crate::link::{Failure, Link};
use crate::names::{Names, batch_of};

/// So many are handed on at once; they are held in memory.
const ENTRIES_AT_ONCE: usize = 64;
/// After so long the broker forgets a listener that does not come back.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

/// Listens to all logs of a collection.
#[derive(Default)]
pub(crate) struct Listener {
    /// The number of the last entry that was handed on.
    heard: u64,
    /// How many listeners the broker has had of us.
    made: u64,
    /// What the broker has noted, if it can be relied on.
    place: Option<Place>,
}

struct Place {
    consumer: PullConsumer,
    /// How many entries it has given us.
    given: u64,
}

impl Listener {
    /// Entries that were not heard before. If it fails or is not waited for, the next call hears the same ones.
    pub(crate) async fn listen(
        &mut self,
        link: &Link,
        logs: &Ledger,
        names: &Names,
        wait: Duration,
    ) -> Result<Vec<LogEntry>, Failure> {
        // It comes back to its place only if all went well.
        let mut place = match self.place.take() {
            Some(place) => place,
            None => self.new_place(link, logs, names).await?,
        };
        let mut entries = place.fetch(ENTRIES_AT_ONCE).await?;
        if entries.is_empty() && !wait.is_zero() {
            entries = tokio::select! {
                entries = place.wait_for_one(wait) => entries?,
                () = link.lost() => return Err(Failure::again("the connection was lost")),
            };
            if !entries.is_empty() {
                entries.extend(place.fetch(ENTRIES_AT_ONCE - 1).await?);
            }
        }
        if let Some(last) = entries.last() {
            self.heard = last.number;
        }
        self.place = Some(place);
        Ok(entries)
    }

    async fn new_place(&mut self, link: &Link, logs: &Ledger, names: &Names) -> Result<Place, Failure> {
        self.made += 1;
        let config = pull::Config {
            name: Some(format!("listener-{}-{}", link.identity, self.made)),
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: self.heard + 1 },
            ack_policy: AckPolicy::None,
            filter_subject: names.log(None),
            inactive_threshold: FORGOTTEN_AFTER,
            memory_storage: true,
            ..Default::default()
        };
        let consumer = logs.stream().create_consumer(config).await.map_err(Failure::again)?;
        Ok(Place { consumer, given: 0 })
    }
}

impl Place {
    /// What is there now, at most so many.
    async fn fetch(&mut self, count: usize) -> Result<Vec<LogEntry>, Failure> {
        let answer = self.consumer.fetch().max_messages(count).messages().await.map_err(Failure::again)?;
        self.read(answer).await
    }

    /// The next one, if it comes within this time.
    async fn wait_for_one(&mut self, wait: Duration) -> Result<Vec<LogEntry>, Failure> {
        let request = self.consumer.batch().max_messages(1).expires(wait);
        let answer = request.messages().await.map_err(Failure::again)?;
        self.read(answer).await
    }

    async fn read(&mut self, mut answer: pull::Batch) -> Result<Vec<LogEntry>, Failure> {
        let mut entries = Vec::new();
        while let Some(message) = answer.next().await {
            entries.extend(self.entry(&message.map_err(Failure::Again)?)?);
        }
        Ok(entries)
    }

    /// Nothing if somebody has told something that belongs to no batch.
    fn entry(&mut self, message: &Message) -> Result<Option<LogEntry>, Failure> {
        let info = message.info().map_err(Failure::Again)?;
        self.given += 1;
        if info.consumer_sequence != self.given {
            return Err(Failure::again("an entry was lost on its way"));
        }
        let number = info.stream_sequence;
        Ok(batch_of(&message.subject).map(|batch| LogEntry {
            batch,
            number,
            message: message.payload.to_vec(),
        }))
    }
}
