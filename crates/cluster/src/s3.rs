//! How is a bucket of S3, or of a server that speaks like it, a depot?

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use crawl::{BrokerError, Depot, check_object_name, too_long};
use futures::{StreamExt, TryStreamExt};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{
    BackoffConfig, Certificate, ClientOptions, Error, ObjectStore, ObjectStoreExt, RetryConfig,
};
use tokio::runtime::Runtime;
use tokio::time::timeout;

/// For how long a server in trouble is asked again.
const PATIENCE: Duration = Duration::from_secs(10);
const REMOVED_AT_ONCE: usize = 1_000;
const REMOVE: &str = "remove from the depot";
/// One answer, with all its bytes.
const ANSWER_WAIT: Duration = Duration::from_secs(60);
const CONNECT_WAIT: Duration = Duration::from_secs(5);

/// How a server of S3 is found, and who we are to it. What is not said is taken from the variables `AWS_...` of the
/// environment, and from the machine's own role where it has one.
#[derive(Clone, Default)]
pub struct S3Access {
    /// The server, unless it is Amazon's.
    pub endpoint: Option<String>,
    /// Its region.
    pub region: Option<String>,
    /// The name of the key.
    pub key_id: Option<String>,
    /// The key.
    pub secret_key: Option<String>,
    /// Certificates (PEM) of the authorities that vouch for the server, beside those of the system.
    pub authorities: Option<PathBuf>,
}

/// A bucket, or a folder in it.
pub(crate) struct S3Depot {
    /// Taken when the depot is closed.
    runtime: Option<Runtime>,
    store: AmazonS3,
    /// With a slash at its end, unless it is empty.
    folder: String,
}

impl S3Depot {
    /// Opens `bucket` or `bucket/folder`.
    pub(crate) fn open(place: &str, access: &S3Access) -> Result<S3Depot, BrokerError> {
        let (bucket, folder) = place.split_once('/').unwrap_or((place, ""));
        let folder = folder.trim_end_matches('/');
        let refused = |why: String| BrokerError::Refused(format!("the depot s3://{place}: {why}"));
        if bucket.is_empty() {
            return Err(refused("a bucket is missing".to_owned()));
        }
        let folder = if folder.is_empty() {
            String::new()
        } else {
            check_object_name(folder)?;
            format!("{folder}/")
        };
        let store =
            builder(bucket, access).map_err(refused)?.build().map_err(|error| refused(error.to_string()))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("depot")
            .enable_all()
            .build()
            .map_err(|error| refused(error.to_string()))?;
        Ok(S3Depot { runtime: Some(runtime), store, folder })
    }

    fn path(&self, name: &str) -> Result<Path, BrokerError> {
        check_object_name(name)?;
        Path::parse(format!("{}{name}", self.folder)).map_err(|error| BrokerError::Refused(error.to_string()))
    }

    /// Asks, for a limited time; the client asks again by itself when it makes sense.
    fn ask<T>(
        &self,
        what: &'static str,
        question: impl Future<Output = Result<T, Error>>,
    ) -> Result<Result<T, Error>, BrokerError> {
        let Some(runtime) = &self.runtime else {
            return Err(BrokerError::Refused("the depot was closed".to_owned()));
        };
        let answer = runtime.block_on(async { timeout(PATIENCE + ANSWER_WAIT, question).await });
        answer.map_err(|elapsed| BrokerError::Unavailable { what, source: elapsed.into() })
    }

    fn delete(&self, path: &Path) -> Result<(), BrokerError> {
        match self.ask(REMOVE, self.store.delete(path))? {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(judged(REMOVE, error)),
        }
    }
}

impl Depot for S3Depot {
    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), BrokerError> {
        let (what, path) = ("put into the depot", self.path(name)?);
        self.ask(what, self.store.put(&path, bytes.into()))?.map_err(|error| judged(what, error))?;
        Ok(())
    }

    fn get(&self, name: &str, limit_bytes: u64) -> Result<Option<Vec<u8>>, BrokerError> {
        let (what, path) = ("get from the depot", self.path(name)?);
        let read = async {
            let answer = self.store.get(&path).await?;
            let mut bytes =
                Vec::with_capacity(usize::try_from(answer.meta.size.min(limit_bytes)).unwrap_or(0));
            let mut pieces = answer.into_stream();
            while let Some(piece) = pieces.next().await {
                bytes.extend_from_slice(&piece?);
                if bytes.len() as u64 > limit_bytes {
                    return Ok(None);
                }
            }
            Ok(Some(bytes))
        };
        match self.ask(what, read)? {
            Ok(Some(bytes)) => Ok(Some(bytes)),
            Ok(None) => Err(too_long(name, limit_bytes)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(judged(what, error)),
        }
    }

    fn remove(&self, name: &str) -> Result<(), BrokerError> {
        self.delete(&self.path(name)?)
    }

    fn remove_all(&self, folder: &str) -> Result<(), BrokerError> {
        let path = self.path(folder)?;
        loop {
            // A few at a time: each answer has its time.
            let list = self.store.list(Some(&path)).take(REMOVED_AT_ONCE).try_collect::<Vec<_>>();
            let some = self.ask(REMOVE, list)?.map_err(|error| judged(REMOVE, error))?;
            if some.is_empty() {
                return Ok(());
            }
            some.iter().try_for_each(|object| self.delete(&object.location))?;
        }
    }
}

impl Drop for S3Depot {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl std::fmt::Debug for S3Access {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("S3Access")
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .field("key_id", &self.key_id)
            .field("secret_key", &self.secret_key.as_ref().map(|_| "hidden"))
            .field("authorities", &self.authorities)
            .finish()
    }
}

fn builder(bucket: &str, access: &S3Access) -> Result<AmazonS3Builder, String> {
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(100),
        max_backoff: Duration::from_secs(2),
        base: 2.0,
    };
    // The time decides, not the number.
    let retry = RetryConfig { backoff, max_retries: 100, retry_timeout: PATIENCE };
    let mut client = ClientOptions::new()
        .with_timeout(ANSWER_WAIT)
        .with_connect_timeout(CONNECT_WAIT)
        // Who writes http:// wants it: the network inside a cluster is often trusted.
        .with_allow_http(access.endpoint.as_ref().is_some_and(|endpoint| endpoint.starts_with("http://")));
    if let Some(file) = &access.authorities {
        let unreadable = |error: String| format!("certificates {}: {error}", file.display());
        let text = std::fs::read(file).map_err(|error| unreadable(error.to_string()))?;
        let all = Certificate::from_pem_bundle(&text).map_err(|error| unreadable(error.to_string()))?;
        client = all.into_iter().fold(client, ClientOptions::with_root_certificate);
    }
    let mut builder =
        AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry).with_client_options(client);
    if let Some(endpoint) = &access.endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    if let Some(region) = &access.region {
        builder = builder.with_region(region);
    }
    if let Some(key_id) = &access.key_id {
        builder = builder.with_access_key_id(key_id);
    }
    if let Some(secret_key) = &access.secret_key {
        builder = builder.with_secret_access_key(secret_key);
    }
    Ok(builder)
}

/// What keeps us out for good is refused; everything else may get better.
fn judged(what: &'static str, error: Error) -> BrokerError {
    match error {
        Error::NotFound { .. } | Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            BrokerError::Refused(format!("{what}: {error}"))
        }
        error => BrokerError::Unavailable { what, source: error.into() },
    }
}
