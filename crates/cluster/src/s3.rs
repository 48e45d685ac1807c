//! Blob store in a bucket of S3 or of a compatible server.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use harvest::{BlobStore, BrokerError, blob_too_large, check_blob_name};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{
    BackoffConfig, Certificate, ClientOptions, Error, ObjectStore, ObjectStoreExt, RetryConfig,
};
use tokio::runtime::Runtime;
use tokio::time::timeout;

/// Time for which the client retries a failed request.
const RETRY_TIMEOUT: Duration = Duration::from_secs(10);
/// Keys listed and deleted in one round, so that each round stays within the timeout.
const MAX_KEYS_PER_DELETE: usize = 1_000;
const REMOVE: &str = "delete from the blob store";
/// Timeout of one request, including the body.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Address and credentials of an S3 server. Missing values are taken from the `AWS_*` environment variables, then from the
/// instance role of the machine.
#[derive(Clone, Default)]
pub struct S3Config {
    /// URL of the server; Amazon S3 if missing.
    pub endpoint: Option<String>,
    /// Region.
    pub region: Option<String>,
    /// Access key id.
    pub key_id: Option<String>,
    /// Secret access key.
    pub secret_key: Option<String>,
    /// PEM file with CA certificates, in addition to those of the system.
    pub ca_file: Option<PathBuf>,
}

/// [`BlobStore`] in a bucket, below a key prefix.
pub(crate) struct S3BlobStore {
    /// `None` after the store was dropped.
    runtime: Option<Runtime>,
    store: AmazonS3,
    /// Key prefix: empty, or with a slash at its end.
    prefix: String,
}

impl S3BlobStore {
    /// Opens `BUCKET` or `BUCKET/PREFIX`.
    pub(crate) fn open(location: &str, config: &S3Config) -> Result<S3BlobStore, BrokerError> {
        let (bucket, prefix) = location.split_once('/').unwrap_or((location, ""));
        let prefix = prefix.trim_end_matches('/');
        let refused = |cause: String| BrokerError::Refused(format!("cannot open s3://{location}: {cause}"));
        if bucket.is_empty() {
            return Err(refused("missing bucket name".to_owned()));
        }
        let prefix = if prefix.is_empty() {
            String::new()
        } else {
            check_blob_name(prefix)?;
            format!("{prefix}/")
        };
        let store =
            builder(bucket, config).map_err(refused)?.build().map_err(|error| refused(error.to_string()))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("blob-store")
            .enable_all()
            .build()
            .map_err(|error| refused(error.to_string()))?;
        Ok(S3BlobStore { runtime: Some(runtime), store, prefix })
    }

    fn path(&self, name: &str) -> Result<Path, BrokerError> {
        check_blob_name(name)?;
        Path::parse(format!("{}{name}", self.prefix)).map_err(|error| BrokerError::Refused(error.to_string()))
    }

    /// Runs a request with a timeout; the client library retries it where a retry can help.
    fn run_with_timeout<T>(
        &self,
        operation: &'static str,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<Result<T, Error>, BrokerError> {
        let Some(runtime) = &self.runtime else {
            return Err(BrokerError::Refused("the blob store is closed".to_owned()));
        };
        let result = runtime.block_on(async { timeout(RETRY_TIMEOUT + RESPONSE_TIMEOUT, request).await });
        result.map_err(|elapsed| BrokerError::Unavailable { operation, source: elapsed.into() })
    }

    fn delete(&self, path: &Path) -> Result<(), BrokerError> {
        match self.run_with_timeout(REMOVE, self.store.delete(path))? {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(classify(REMOVE, error)),
        }
    }
}

impl BlobStore for S3BlobStore {
    fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), BrokerError> {
        let (operation, path) = ("write to the blob store", self.path(name)?);
        self.run_with_timeout(operation, self.store.put(&path, bytes.into()))?
            .map_err(|error| classify(operation, error))?;
        Ok(())
    }

    fn get(&self, name: &str, limit_bytes: u64) -> Result<Option<Vec<u8>>, BrokerError> {
        let (operation, path) = ("read from the blob store", self.path(name)?);
        let read = async {
            let object = self.store.get(&path).await?;
            let mut bytes =
                Vec::with_capacity(usize::try_from(object.meta.size.min(limit_bytes)).unwrap_or(0));
            let mut chunks = object.into_stream();
            while let Some(chunk) = chunks.next().await {
                bytes.extend_from_slice(&chunk?);
                if bytes.len() as u64 > limit_bytes {
                    return Ok(None);
                }
            }
            Ok(Some(bytes))
        };
        match self.run_with_timeout(operation, read)? {
            Ok(Some(bytes)) => Ok(Some(bytes)),
            Ok(None) => Err(blob_too_large(name, limit_bytes)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(classify(operation, error)),
        }
    }

    fn remove(&self, name: &str) -> Result<(), BrokerError> {
        self.delete(&self.path(name)?)
    }

    fn remove_prefix(&self, prefix: &str) -> Result<(), BrokerError> {
        let path = self.path(prefix)?;
        loop {
            // In rounds: each request has its own timeout.
            let list = self.store.list(Some(&path)).take(MAX_KEYS_PER_DELETE).try_collect::<Vec<_>>();
            let keys = self.run_with_timeout(REMOVE, list)?.map_err(|error| classify(REMOVE, error))?;
            if keys.is_empty() {
                return Ok(());
            }
            keys.iter().try_for_each(|object| self.delete(&object.location))?;
        }
    }
}

impl Drop for S3BlobStore {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl std::fmt::Debug for S3Config {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("S3Access")
            .field("endpoint", &self.endpoint)
            .field("region", &self.region)
            .field("key_id", &self.key_id)
            .field("secret_key", &self.secret_key.as_ref().map(|_| "hidden"))
            .field("ca_file", &self.ca_file)
            .finish()
    }
}

fn builder(bucket: &str, config: &S3Config) -> Result<AmazonS3Builder, String> {
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(100),
        max_backoff: Duration::from_secs(2),
        base: 2.0,
    };
    // The timeout ends the retries, not their number.
    let retry = RetryConfig { backoff, max_retries: 100, retry_timeout: RETRY_TIMEOUT };
    let mut client = ClientOptions::new()
        .with_timeout(RESPONSE_TIMEOUT)
        .with_connect_timeout(CONNECT_TIMEOUT)
        // An explicit http:// URL is accepted: the network inside a cluster is often trusted.
        .with_allow_http(config.endpoint.as_ref().is_some_and(|endpoint| endpoint.starts_with("http://")));
    if let Some(file) = &config.ca_file {
        let unreadable =
            |error: String| format!("cannot read the CA certificates {}: {error}", file.display());
        let text = std::fs::read(file).map_err(|error| unreadable(error.to_string()))?;
        let all = Certificate::from_pem_bundle(&text).map_err(|error| unreadable(error.to_string()))?;
        client = all.into_iter().fold(client, ClientOptions::with_root_certificate);
    }
    let mut builder =
        AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry).with_client_options(client);
    if let Some(endpoint) = &config.endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    if let Some(region) = &config.region {
        builder = builder.with_region(region);
    }
    if let Some(key_id) = &config.key_id {
        builder = builder.with_access_key_id(key_id);
    }
    if let Some(secret_key) = &config.secret_key {
        builder = builder.with_secret_access_key(secret_key);
    }
    Ok(builder)
}

/// Classifies an error: missing buckets and permissions are permanent, all others transient.
fn classify(operation: &'static str, error: Error) -> BrokerError {
    match error {
        Error::NotFound { .. } | Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            BrokerError::Refused(format!("cannot {operation}: {error}"))
        }
        error => BrokerError::Unavailable { operation, source: error.into() },
    }
}
