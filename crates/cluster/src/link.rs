//! How is a broker asked that may be away for a while? By way of a link: it keeps the connection, and repeats what did not
//! work until it works or its time is over.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::{Client, ConnectErrorKind, Event, ServerError, jetstream};
use bytes::Bytes;
use crawl::BrokerError;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};

use crate::credentials::Credentials;

/// For how long a broker in trouble is asked again.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// For how long one answer is waited for: what was on its way when a connection broke is answered by nobody.
pub(crate) const ANSWER_WAIT: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(100);
const CONNECT_WAIT: Duration = Duration::from_secs(5);
const LONGEST_RECONNECT_PAUSE: Duration = Duration::from_millis(500);
/// A connection over which nothing comes is looked after so often.
const PING_INTERVAL: Duration = Duration::from_secs(5);
/// Commands on their way to the connection: few, since messages are large.
const COMMANDS_WAITING: usize = 64;

/// A connection to a broker that comes back by itself.
pub(crate) struct Link {
    /// Taken when the link ends.
    runtime: Option<Runtime>,
    pub(crate) client: Client,
    pub(crate) context: jetstream::Context,
    /// Nobody else has it, now or later.
    pub(crate) identity: String,
    connected: watch::Receiver<bool>,
    trouble: Arc<Trouble>,
}

/// Why an attempt did not work.
pub(crate) enum Failure {
    /// It may work later.
    Again(Box<dyn std::error::Error + Send + Sync>),
    /// It never will.
    Never(String),
}

impl Failure {
    pub(crate) fn again(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Failure {
        Failure::Again(error.into())
    }
}

/// What the connection has said last about itself.
#[derive(Default)]
struct Trouble {
    last: Mutex<Option<String>>,
    forbidden: Mutex<Option<String>>,
}

impl Link {
    pub(crate) fn connect(url: &str, inbox: &str, credentials: &Credentials) -> Result<Link, BrokerError> {
        // Secrets have a place of their own, for this one gets into messages.
        if url.contains('@') {
            let what = "a broker's URL holds no user or password; they are settings of their own";
            return Err(BrokerError::Refused(what.to_owned()));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("broker")
            .enable_all()
            .build()
            .map_err(|error| unavailable("start a runtime for the broker", error))?;
        let trouble = Arc::new(Trouble::default());
        let (says_connected, connected) = watch::channel(true);
        let heard = Arc::clone(&trouble);
        let options = credentials
            .options()?
            .custom_inbox_prefix(inbox)
            .connection_timeout(CONNECT_WAIT)
            .request_timeout(Some(ANSWER_WAIT))
            .ping_interval(PING_INTERVAL)
            .client_capacity(COMMANDS_WAITING)
            .reconnect_delay_callback(reconnect_pause)
            .event_callback(move |event| {
                heard.hear(&event, &says_connected);
                std::future::ready(())
            });
        let servers: Vec<&str> = url.split(',').collect();
        let client =
            runtime.block_on(options.connect(servers)).map_err(|error| connect_error(url, &error))?;
        if !client.server_info().jetstream {
            let what =
                format!("the broker at {url} has no JetStream: its settings need a section `jetstream`");
            return Err(BrokerError::Refused(what));
        }
        let mut context = runtime.block_on(async { jetstream::new(client.clone()) });
        context.set_timeout(ANSWER_WAIT);
        let identity = client.new_inbox().rsplit('.').next().unwrap_or_default().to_owned();
        Ok(Link { runtime: Some(runtime), client, context, identity, connected, trouble })
    }

    /// Does something until it works. What is tried must do no harm the second time.
    pub(crate) fn persist<T, F>(
        &self,
        what: &'static str,
        attempt: impl FnMut() -> F,
    ) -> Result<T, BrokerError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        self.persist_waiting(what, Duration::ZERO, attempt)
    }

    /// The same for what waits by itself for so long.
    pub(crate) fn persist_waiting<T, F>(
        &self,
        what: &'static str,
        wait: Duration,
        attempt: impl FnMut() -> F,
    ) -> Result<T, BrokerError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let Some(runtime) = &self.runtime else {
            return Err(BrokerError::Refused("the connection to the broker was ended".to_owned()));
        };
        runtime.block_on(self.persist_until(what, wait, attempt))
    }

    async fn persist_until<T, F>(
        &self,
        what: &'static str,
        wait: Duration,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, BrokerError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let deadline = Instant::now() + wait + PATIENCE;
        self.trouble.start();
        loop {
            // Nothing is asked while nobody is there: it would be sent later, when nobody waits for the answer.
            let answer = match timeout_at(deadline, self.is_there()).await {
                Ok(true) => {
                    let patience = (Instant::now() + wait + ANSWER_WAIT).min(deadline);
                    timeout_at(patience, attempt()).await
                }
                Ok(false) => {
                    return Err(BrokerError::Refused("the connection to the broker has ended".to_owned()));
                }
                Err(elapsed) => Err(elapsed),
            };
            let source = match answer {
                Ok(Ok(done)) => return Ok(done),
                Ok(Err(Failure::Never(why))) => return Err(BrokerError::Refused(why)),
                Ok(Err(Failure::Again(source))) => source,
                Err(_) => "the broker does not answer".into(),
            };
            if let Some(forbidden) = self.trouble.forbidden() {
                return Err(BrokerError::Refused(format!(
                    "{what}: the broker does not permit it: {forbidden}"
                )));
            }
            if Instant::now() + PAUSE >= deadline {
                let source = match self.trouble.last() {
                    Some(last) => format!("{source} ({last})").into(),
                    None => source,
                };
                return Err(BrokerError::Unavailable { what, source });
            }
            sleep(PAUSE).await;
        }
    }

    /// Tells whoever hears it, now or never.
    pub(crate) fn tell(&self, subject: String, message: Bytes) {
        let client = self.client.clone();
        if *self.connected.borrow() {
            self.spawn(async move {
                // Lost like one that nobody hears.
                let _lost = tokio::time::timeout(ANSWER_WAIT, client.publish(subject, message)).await;
            });
        }
    }

    /// Comes back when the connection is there; false if it never will be.
    async fn is_there(&self) -> bool {
        let mut connected = self.connected.clone();
        // What it gives holds a lock, under which nothing may be waited for.
        connected.wait_for(|connected| *connected).await.is_ok()
    }

    /// Comes back when the connection is lost.
    pub(crate) async fn lost(&self) {
        // An error means that the client is gone, and the connection with it.
        let mut connected = self.connected.clone();
        let _gone = connected.wait_for(|connected| !connected).await;
    }

    /// Tells of every change between connected and not.
    pub(crate) fn changes(&self) -> watch::Receiver<bool> {
        self.connected.clone()
    }

    /// Lets something run beside everything else, for as long as the link lives.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(task);
        }
    }
}

impl Drop for Link {
    /// Waits for nobody: whatever had to arrive was confirmed.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Trouble {
    fn hear(&self, event: &Event, connected: &watch::Sender<bool>) {
        match event {
            Event::Connected => {
                set(&self.last, None);
                connected.send_replace(true);
            }
            Event::Disconnected | Event::Closed => {
                set(&self.last, Some("the connection was lost".to_owned()));
                connected.send_replace(false);
            }
            Event::ServerError(ServerError::Other(text))
                if text.to_lowercase().contains("permissions violation") =>
            {
                set(&self.forbidden, Some(text.clone()));
            }
            Event::ServerError(error) => set(&self.last, Some(error.to_string())),
            Event::ClientError(error) => set(&self.last, Some(error.to_string())),
            Event::LameDuckMode | Event::Draining | Event::SlowConsumer(_) => {}
        }
    }

    /// What was forbidden before is not what is asked for now.
    fn start(&self) {
        set(&self.forbidden, None);
    }

    fn forbidden(&self) -> Option<String> {
        self.forbidden.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn last(&self) -> Option<String> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn set(place: &Mutex<Option<String>>, text: Option<String>) {
    *place.lock().unwrap_or_else(PoisonError::into_inner) = text;
}

fn reconnect_pause(attempts: usize) -> Duration {
    PAUSE
        .saturating_mul(u32::try_from(attempts.saturating_sub(1)).unwrap_or(u32::MAX))
        .min(LONGEST_RECONNECT_PAUSE)
}

/// What keeps us out for good is refused; a broker that is away may come.
fn connect_error(url: &str, error: &async_nats::ConnectError) -> BrokerError {
    let why = match error.kind() {
        ConnectErrorKind::ServerParse => {
            format!("`{url}` is no address of a broker: nats://host:port or tls://host:port are")
        }
        ConnectErrorKind::Dns => format!("the host of the broker {url} is unknown: {error}"),
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            format!("the broker at {url} does not let us in: the token, the user or the password is wrong")
        }
        ConnectErrorKind::Tls => format!("no secure connection to the broker at {url}: {error}"),
        ConnectErrorKind::Io if is_insecure(error) => {
            format!("no secure connection to the broker at {url}: {error}")
        }
        ConnectErrorKind::TimedOut | ConnectErrorKind::Io | ConnectErrorKind::MaxReconnects => {
            return unavailable("connect to the broker", format!("{url}: {error}"));
        }
    };
    BrokerError::Refused(why)
}

/// Certificates that nobody vouches for come as wrong data.
fn is_insecure(error: &(dyn std::error::Error + 'static)) -> bool {
    let is_wrong_data = |error: &std::io::Error| error.kind() == std::io::ErrorKind::InvalidData;
    std::iter::successors(Some(error), |error| error.source())
        .any(|error| error.downcast_ref::<std::io::Error>().is_some_and(is_wrong_data))
}

fn unavailable(
    what: &'static str,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> BrokerError {
    BrokerError::Unavailable { what, source: source.into() }
}
