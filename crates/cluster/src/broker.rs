//! How are batches, logs, orders and reports carried by NATS? Three streams hold them (see [`crate::names`]): what was
//! offered, the logs, and what is true now (leases, orders). Reports are not kept by the broker at all.
//!
//! What is to be written once, or behind something, carries the number of the last entry that its writer knows; JetStream
//! refuses it when another one is there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::PullConsumer;
use bytes::Bytes;
use crawl::{Broker, BrokerError, Lease, LogEntry, MESSAGE_LIMIT_BYTES};
use futures::StreamExt;
use tokio::sync::Mutex;

use crate::credentials::Credentials;
use crate::lease;
use crate::ledger::{Ledger, Write};
use crate::link::{Failure, Link};
use crate::listener::Listener;
use crate::names::Names;
use crate::order_board::{self, OrderBoard};
use crate::report_board::{self, ReportBoard};
use crate::setup::{self, Role};

/// The shortest wait that is asked of the broker; a shorter one would be over before the question arrives.
const SHORTEST_WAIT: Duration = Duration::from_millis(20);

/// Carries messages by NATS.
pub(crate) struct NatsBroker {
    carrier: Arc<Carrier>,
    batches: Ledger,
    logs: Ledger,
    workers: PullConsumer,
    listener: Mutex<Listener>,
    orders: Arc<OrderBoard>,
    reports: Arc<ReportBoard>,
    /// How many batches were asked for; no two leases are written down with the same words.
    takes: AtomicU64,
}

/// What a lease needs of its broker, for as long as it lives.
pub(crate) struct Carrier {
    pub(crate) link: Link,
    pub(crate) names: Names,
    pub(crate) state: Ledger,
    /// For how long batches are lent.
    pub(crate) lease: Duration,
}

impl NatsBroker {
    pub(crate) fn connect(
        url: &str,
        collection: &str,
        role: Role,
        credentials: &Credentials,
    ) -> Result<NatsBroker, BrokerError> {
        let names = Names::of(collection)?;
        let link = Link::connect(url, &names.inbox(role.name()), credentials)?;
        let workers = link.persist("join the collection at the broker", || async {
            match &role {
                Role::Collection(carriage) => setup::set_up(&link, &names, carriage).await,
                Role::Worker => setup::join(&link, &names, collection).await,
            }
        })?;
        let open = |stream: String| link.persist("open a stream", || Ledger::open(&link, &stream));
        let (batches, logs, state) =
            (open(names.batches_stream())?, open(names.logs_stream())?, open(names.state_stream())?);
        let (orders, reports) = (Arc::<OrderBoard>::default(), Arc::<ReportBoard>::default());
        link.persist("read the orders", || async {
            let state = Ledger::open(&link, &names.state_stream()).await?;
            order_board::keep_up(&orders, &link, state, names.orders()).await
        })?;
        if let Role::Collection(_) = role {
            let subject = names.report(None)?;
            link.persist("hear reports", || report_board::keep_up(&reports, &link, subject.clone()))?;
        }
        let lease = workers.cached_info().config.ack_wait;
        let carrier = Arc::new(Carrier { link, names, state, lease });
        let (listener, takes) = (Mutex::default(), AtomicU64::new(0));
        Ok(NatsBroker { carrier, batches, logs, workers, listener, orders, reports, takes })
    }

    /// The next delivery, if one comes within this time.
    async fn delivery(&self, wait: Duration) -> Result<Option<Message>, Failure> {
        let request = self.workers.batch().max_messages(1).expires(wait.max(SHORTEST_WAIT));
        let mut answer = request.messages().await.map_err(Failure::again)?;
        tokio::select! {
            message = answer.next() => message.transpose().map_err(Failure::Again),
            () = self.carrier.link.lost() => Err(Failure::again("the connection was lost")),
        }
    }
}

impl Broker for NatsBroker {
    fn name(&self) -> String {
        format!("NATS {}", self.carrier.names.collection)
    }

    fn offer(&self, batch: u64, message: &[u8]) -> Result<(), BrokerError> {
        let (subject, message) = (self.carrier.names.batch(Some(batch)), within_limit(message)?);
        self.carrier.link.persist("offer a batch", || async {
            // Stale means that it was offered before.
            self.batches.write(&subject, 0, message.clone()).await.map(|_| ())
        })
    }

    fn take(&self, worker: &str, wait: Duration) -> Result<Option<Box<dyn Lease>>, BrokerError> {
        let take = self.takes.fetch_add(1, Ordering::Relaxed);
        let holder = lease::holder(&self.carrier, worker, take);
        let started = Instant::now();
        self.carrier.link.persist_waiting("take a batch", wait, || async {
            loop {
                let left = wait.saturating_sub(started.elapsed());
                let Some(message) = self.delivery(left).await? else { return Ok(None) };
                if let Some(lease) = lease::claim(&self.carrier, &holder, &message).await? {
                    return Ok(Some(Box::new(lease) as Box<dyn Lease>));
                }
                if left.is_zero() {
                    return Ok(None);
                }
            }
        })
    }

    fn append(&self, batch: u64, after: u64, message: &[u8]) -> Result<Option<u64>, BrokerError> {
        let (subject, message) = (self.carrier.names.log(Some(batch)), within_limit(message)?);
        self.carrier.link.persist("add to a log", || async {
            match self.logs.write_once(&subject, after, message.clone()).await? {
                Write::Done(number) => Ok(Some(number)),
                Write::Stale => Ok(None),
            }
        })
    }

    fn log(&self, batch: u64) -> Result<Vec<LogEntry>, BrokerError> {
        let subject = self.carrier.names.log(Some(batch));
        let mut entries = Vec::new();
        loop {
            let from = entries.last().map_or(1, |entry: &LogEntry| entry.number + 1);
            let next = self.carrier.link.persist("read a log", || self.logs.next(&subject, from))?;
            let Some(next) = next else { return Ok(entries) };
            entries.push(LogEntry { batch, number: next.sequence, message: next.payload.to_vec() });
        }
    }

    fn listen(&self, wait: Duration) -> Result<Vec<LogEntry>, BrokerError> {
        let Carrier { link, names, .. } = &*self.carrier;
        link.persist_waiting("listen to logs", wait, || async {
            self.listener.lock().await.listen(link, &self.logs, names, wait).await
        })
    }

    fn forget(&self, batch: u64) -> Result<(), BrokerError> {
        let Carrier { link, names, state, .. } = &*self.carrier;
        link.persist("forget a batch", || async {
            self.batches.clear(&names.batch(Some(batch))).await?;
            self.logs.clear(&names.log(Some(batch))).await?;
            state.clear(&names.lease(Some(batch))).await
        })
    }

    fn order(&self, message: &[u8]) -> Result<(), BrokerError> {
        let (subject, message) = (self.carrier.names.orders(), within_limit(message)?);
        let number = self
            .carrier
            .link
            .persist("give orders", || self.carrier.state.overwrite(&subject, message.clone()))?;
        self.orders.put(number, &message);
        Ok(())
    }

    fn orders(&self) -> Result<Option<Vec<u8>>, BrokerError> {
        Ok(self.orders.read())
    }

    fn report(&self, worker: &str, message: &[u8]) -> Result<(), BrokerError> {
        let (subject, message) = (self.carrier.names.report(Some(worker))?, within_limit(message)?);
        self.carrier.link.tell(subject, message);
        Ok(())
    }

    fn reports(&self) -> Result<Vec<Vec<u8>>, BrokerError> {
        Ok(self.reports.take())
    }
}

fn within_limit(message: &[u8]) -> Result<Bytes, BrokerError> {
    if message.len() > MESSAGE_LIMIT_BYTES {
        let what = format!("a message of {} bytes is too long for a broker", message.len());
        return Err(BrokerError::Refused(what));
    }
    Ok(Bytes::copy_from_slice(message))
}
