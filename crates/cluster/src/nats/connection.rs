//! Connection to NATS that reconnects by itself, and retries an operation until it succeeds or its timeout expires.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::{Client, ConnectErrorKind, Event, ServerError, jetstream};
use bytes::Bytes;
use harvest::BrokerError;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};

use crate::credentials::BrokerCredentials;

/// Time for which a failing operation is retried.
pub(crate) const RETRY_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of one response. It is short, because requests in flight when a connection breaks never get one.
pub(crate) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(3);
const RETRY_INTERVAL: Duration = Duration::from_millis(100);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_RECONNECT_DELAY: Duration = Duration::from_millis(500);
/// Interval of pings, which detect a dead connection.
const PING_INTERVAL: Duration = Duration::from_secs(5);
/// Commands queued for the connection: few, because messages are large.
const CHANNEL_CAPACITY: usize = 64;

/// Connection to a NATS server or cluster.
pub(crate) struct NatsConnection {
    /// `None` after the connection was dropped.
    runtime: Option<Runtime>,
    pub(crate) client: Client,
    pub(crate) context: jetstream::Context,
    /// Unique name of this connection.
    pub(crate) identity: String,
    connected: watch::Receiver<bool>,
    errors: Arc<ConnectionErrors>,
}

/// Failure of one attempt.
pub(crate) enum Failure {
    /// A retry may succeed.
    Transient(Box<dyn std::error::Error + Send + Sync>),
    /// No retry can succeed.
    Permanent(String),
}

impl Failure {
    pub(crate) fn transient(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Failure {
        Failure::Transient(error.into())
    }
}

/// Last errors that the client library reported asynchronously.
#[derive(Default)]
struct ConnectionErrors {
    last: Mutex<Option<String>>,
    denied: Mutex<Option<String>>,
}

impl NatsConnection {
    pub(crate) fn connect(
        url: &str,
        inbox: &str,
        credentials: &BrokerCredentials,
    ) -> Result<NatsConnection, BrokerError> {
        // The URL appears in messages and logs, so it must not carry secrets.
        if url.contains('@') {
            let cause = "the broker URL must not contain a user or password; use --broker-user and --broker-password-file";
            return Err(BrokerError::Refused(cause.to_owned()));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("broker")
            .enable_all()
            .build()
            .map_err(|error| unavailable("start a runtime for the broker", error))?;
        let errors = Arc::new(ConnectionErrors::default());
        let (set_connected, connected) = watch::channel(true);
        let event_errors = Arc::clone(&errors);
        let options = credentials
            .options()?
            .custom_inbox_prefix(inbox)
            .connection_timeout(CONNECT_TIMEOUT)
            .request_timeout(Some(RESPONSE_TIMEOUT))
            .ping_interval(PING_INTERVAL)
            .client_capacity(CHANNEL_CAPACITY)
            .reconnect_delay_callback(reconnect_delay)
            .event_callback(move |event| {
                event_errors.record(&event, &set_connected);
                std::future::ready(())
            });
        let servers: Vec<&str> = url.split(',').collect();
        let client =
            runtime.block_on(options.connect(servers)).map_err(|error| connect_error(url, &error))?;
        if !client.server_info().jetstream {
            let cause = format!(
                "JetStream is not enabled on the broker at {url}; add a `jetstream` section to its configuration"
            );
            return Err(BrokerError::Refused(cause));
        }
        let mut context = runtime.block_on(async { jetstream::new(client.clone()) });
        context.set_timeout(RESPONSE_TIMEOUT);
        let identity = client.new_inbox().rsplit('.').next().unwrap_or_default().to_owned();
        Ok(NatsConnection { runtime: Some(runtime), client, context, identity, connected, errors })
    }

    /// Retries an operation until it succeeds. It must be idempotent.
    pub(crate) fn retry<T, F>(
        &self,
        operation: &'static str,
        attempt: impl FnMut() -> F,
    ) -> Result<T, BrokerError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        self.retry_with_wait(operation, Duration::ZERO, attempt)
    }

    /// Retries an operation that itself waits for up to `wait`.
    pub(crate) fn retry_with_wait<T, F>(
        &self,
        operation: &'static str,
        wait: Duration,
        attempt: impl FnMut() -> F,
    ) -> Result<T, BrokerError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let Some(runtime) = &self.runtime else {
            return Err(BrokerError::Refused("the connection to the broker is closed".to_owned()));
        };
        runtime.block_on(self.retry_until(operation, wait, attempt))
    }

    async fn retry_until<T, F>(
        &self,
        operation: &'static str,
        wait: Duration,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, BrokerError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let deadline = Instant::now() + wait + RETRY_TIMEOUT;
        self.errors.clear();
        loop {
            // Without a connection the client would queue the request and send it after this attempt has timed out.
            let result = match timeout_at(deadline, self.wait_connected()).await {
                Ok(true) => {
                    let attempt_deadline = (Instant::now() + wait + RESPONSE_TIMEOUT).min(deadline);
                    timeout_at(attempt_deadline, attempt()).await
                }
                Ok(false) => {
                    return Err(BrokerError::Refused("the connection to the broker is closed".to_owned()));
                }
                Err(elapsed) => Err(elapsed),
            };
            let source = match result {
                Ok(Ok(done)) => return Ok(done),
                Ok(Err(Failure::Permanent(cause))) => return Err(BrokerError::Refused(cause)),
                Ok(Err(Failure::Transient(source))) => source,
                Err(_) => "no response from the broker".into(),
            };
            if let Some(denied) = self.errors.denied() {
                return Err(BrokerError::Refused(format!(
                    "cannot {operation}: permission denied by the broker: {denied}"
                )));
            }
            if Instant::now() + RETRY_INTERVAL >= deadline {
                let source = match self.errors.last() {
                    Some(last) => format!("{source} ({last})").into(),
                    None => source,
                };
                return Err(BrokerError::Unavailable { operation, source });
            }
            sleep(RETRY_INTERVAL).await;
        }
    }

    /// Publishes a message without waiting for a confirmation; it is dropped while the connection is down.
    pub(crate) fn publish(&self, subject: String, message: Bytes) {
        let client = self.client.clone();
        if *self.connected.borrow() {
            self.spawn(async move {
                // Best effort: a lost message counts as one without subscribers.
                let _lost = tokio::time::timeout(RESPONSE_TIMEOUT, client.publish(subject, message)).await;
            });
        }
    }

    /// Waits until the connection is up; false if the client has ended.
    async fn wait_connected(&self) -> bool {
        let mut connected = self.connected.clone();
        // The guard that `wait_for` returns holds a lock; drop it before the next await.
        connected.wait_for(|connected| *connected).await.is_ok()
    }

    /// Waits until the connection is lost.
    pub(crate) async fn wait_disconnected(&self) {
        // An error means that the client has ended, and the connection with it.
        let mut connected = self.connected.clone();
        let _gone = connected.wait_for(|connected| !connected).await;
    }

    /// Receiver of changes between connected and disconnected.
    pub(crate) fn state_changes(&self) -> watch::Receiver<bool> {
        self.connected.clone()
    }

    /// Runs a background task for the lifetime of the connection.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(task);
        }
    }
}

impl Drop for NatsConnection {
    /// Stops the runtime without waiting for tasks: every write that matters was confirmed before.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl ConnectionErrors {
    fn record(&self, event: &Event, connected: &watch::Sender<bool>) {
        match event {
            Event::Connected => {
                set(&self.last, None);
                connected.send_replace(true);
            }
            Event::Disconnected | Event::Closed => {
                set(&self.last, Some("connection lost".to_owned()));
                connected.send_replace(false);
            }
            Event::ServerError(ServerError::Other(text))
                if text.to_lowercase().contains("permissions violation") =>
            {
                set(&self.denied, Some(text.clone()));
            }
            Event::ServerError(error) => set(&self.last, Some(error.to_string())),
            Event::ClientError(error) => set(&self.last, Some(error.to_string())),
            Event::LameDuckMode | Event::Draining | Event::SlowConsumer(_) => {}
        }
    }

    /// Clears the last permission error, which belongs to an earlier operation.
    fn clear(&self) {
        set(&self.denied, None);
    }

    fn denied(&self) -> Option<String> {
        self.denied.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn last(&self) -> Option<String> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn set(slot: &Mutex<Option<String>>, text: Option<String>) {
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = text;
}

fn reconnect_delay(attempts: usize) -> Duration {
    RETRY_INTERVAL
        .saturating_mul(u32::try_from(attempts.saturating_sub(1)).unwrap_or(u32::MAX))
        .min(MAX_RECONNECT_DELAY)
}

/// Classifies a connection error: configuration errors are permanent, network errors transient.
fn connect_error(url: &str, error: &async_nats::ConnectError) -> BrokerError {
    let cause = match error.kind() {
        ConnectErrorKind::ServerParse => {
            format!("invalid broker URL `{url}`: expected nats://HOST:PORT or tls://HOST:PORT")
        }
        ConnectErrorKind::Dns => format!("cannot resolve the host of the broker {url}: {error}"),
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            format!("authentication at the broker {url} failed: wrong token, user or password")
        }
        ConnectErrorKind::Tls => format!("TLS connection to the broker {url} failed: {error}"),
        ConnectErrorKind::Io if is_certificate_error(error) => {
            format!("TLS connection to the broker {url} failed: {error}")
        }
        ConnectErrorKind::TimedOut | ConnectErrorKind::Io | ConnectErrorKind::MaxReconnects => {
            return unavailable("connect to the broker", format!("{url}: {error}"));
        }
    };
    BrokerError::Refused(cause)
}

/// Whether an error is due to an untrusted certificate: the TLS library reports it as an I/O error with invalid data.
fn is_certificate_error(error: &(dyn std::error::Error + 'static)) -> bool {
    let is_invalid_data = |error: &std::io::Error| error.kind() == std::io::ErrorKind::InvalidData;
    std::iter::successors(Some(error), |error| error.source())
        .any(|error| error.downcast_ref::<std::io::Error>().is_some_and(is_invalid_data))
}

fn unavailable(
    operation: &'static str,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> BrokerError {
    BrokerError::Unavailable { operation, source: source.into() }
}
