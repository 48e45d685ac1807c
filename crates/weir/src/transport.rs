//! Transport to workers: a directory on this machine, or a NATS broker and an object store, as selected on the command line.

#[cfg(feature = "cluster")]
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "cluster")]
use anyhow::Context;
use harvest::{BlobStore, Broker, BrokerError, DirBlobStore, DirBroker};

use crate::exit::UsageError;
use crate::settings;

/// Default name of a collection at a broker: that of its directory.
pub(crate) fn collection_name(collection: &Path) -> String {
    let dir = collection.canonicalize().unwrap_or_else(|_| collection.to_owned());
    dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Options for a broker and an object store.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Distributed crawl")]
pub(crate) struct TransportArgs {
    /// NATS server for batches: nats://HOST:PORT or tls://HOST:PORT.
    #[arg(long, value_name = "URL", requires = "store")]
    pub(crate) broker: Option<String>,

    /// Object store for harvested pages: s3://BUCKET/PREFIX or file:///DIR.
    #[arg(long, value_name = "URL", requires = "broker")]
    pub(crate) store: Option<String>,

    /// File with the NATS token.
    #[arg(long, value_name = "FILE", requires = "broker")]
    pub(crate) broker_token_file: Option<PathBuf>,

    /// NATS user name.
    #[arg(
        long,
        value_name = "NAME",
        requires = "broker_password_file",
        conflicts_with = "broker_token_file"
    )]
    pub(crate) broker_user: Option<String>,

    /// File with the password of the NATS user.
    #[arg(long, value_name = "FILE", requires = "broker_user")]
    pub(crate) broker_password_file: Option<PathBuf>,

    /// NATS credentials file written by nsc.
    #[arg(long, value_name = "FILE", requires = "broker", conflicts_with_all = ["broker_token_file", "broker_user"])]
    pub(crate) broker_credentials: Option<PathBuf>,

    /// PEM file with CA certificates for the broker.
    #[arg(long, value_name = "FILE", requires = "broker")]
    pub(crate) broker_ca_file: Option<PathBuf>,

    /// Collection name at the broker (default: directory name).
    #[arg(long, value_name = "NAME", requires = "broker")]
    pub(crate) collection: Option<String>,
}

/// Options for the leases of batches.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Distributed crawl")]
pub(crate) struct LeaseArgs {
    /// Lease of a batch: reassigned to another worker after this time without a heartbeat.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = settings::parse_value::<Duration>)]
    pub(crate) lease: Duration,

    /// Number of NATS replicas.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=5))]
    pub(crate) replicas: u8,
}

/// Connected broker and blob store.
pub(crate) struct Transport {
    pub(crate) broker: Arc<dyn Broker>,
    pub(crate) blob_store: Arc<dyn BlobStore>,
}

/// Opens the transport between a collection and workers on this machine; `open` is the constructor of the caller's side.
pub(crate) fn open_local(
    collection: &Path,
    open: fn(&Path) -> Result<DirBroker, BrokerError>,
) -> Result<Transport, UsageError> {
    let dir = collection.join("workers");
    let connect = || Ok((open(&dir)?, DirBlobStore::open(&dir.join("blobs"))?));
    let (broker, blob_store) = connect().map_err(|error: BrokerError| UsageError(error.to_string()))?;
    Ok(Transport { broker: Arc::new(broker), blob_store: Arc::new(blob_store) })
}

/// Side of a connection, which decides its permissions.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "cluster"), allow(dead_code, reason = "used only to connect to brokers"))]
pub(crate) enum Role<'r> {
    /// The crawl of the collection in this directory.
    Collection(&'r Path, &'r LeaseArgs),
    Worker,
}

/// Connects to the broker and the object store of the command line.
#[cfg(feature = "cluster")]
pub(crate) fn connect(args: &TransportArgs, role: Role<'_>) -> anyhow::Result<Transport> {
    let (Some(broker), Some(store)) = (&args.broker, &args.store) else {
        return Err(UsageError("--broker and --store must be used together".to_owned()).into());
    };
    if !["file:///", "s3://"].iter().any(|scheme| store.starts_with(scheme)) {
        let message = format!("invalid store `{store}`; examples: file:///DIR, s3://BUCKET/PREFIX");
        return Err(UsageError(message).into());
    }
    let own_name = match role {
        Role::Collection(dir, _) => Some(collection_name(dir)),
        Role::Worker => None,
    };
    let Some(name) = args.collection.clone().or(own_name) else {
        return Err(
            UsageError("missing --collection: the name of the collection at the broker".to_owned()).into()
        );
    };
    let role = match role {
        Role::Collection(_, LeaseArgs { lease, .. }) if *lease < MIN_LEASE => {
            return Err(UsageError("--lease out of range (minimum 1s; default 30s)".to_owned()).into());
        }
        Role::Collection(dir, LeaseArgs { lease, replicas }) => {
            let (collection_id, replicas) = (broker_id(dir)?, usize::from(*replicas));
            cluster::Role::Coordinator(cluster::StreamSettings {
                lease_duration: *lease,
                replicas,
                collection_id,
            })
        }
        Role::Worker => cluster::Role::Worker,
    };
    let token = args.broker_token_file.as_deref().map(read_line).transpose()?;
    let password = args.broker_password_file.as_deref().map(read_line).transpose()?;
    let credentials = cluster::BrokerCredentials {
        token,
        user: args.broker_user.clone().zip(password),
        creds_file: args.broker_credentials.clone(),
        ca_file: args.broker_ca_file.clone(),
    };
    let convert = |error: BrokerError| match error {
        BrokerError::Refused(message) => anyhow::Error::from(UsageError(message)),
        error @ (BrokerError::Unavailable { .. } | BrokerError::BlobTooLarge { .. }) => error.into(),
    };
    let broker = cluster::connect_broker(broker, &name, role, &credentials).map_err(convert)?;
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let config = cluster::S3Config {
        endpoint: variable("AWS_ENDPOINT_URL"),
        region: variable("AWS_REGION"),
        key_id: variable("AWS_ACCESS_KEY_ID"),
        secret_key: variable("AWS_SECRET_ACCESS_KEY"),
        ca_file: variable("AWS_CA_BUNDLE").map(PathBuf::from),
    };
    // A prefix per collection, so that several collections can share a store.
    let location = format!("{}/{name}", store.trim_end_matches('/'));
    let blob_store = cluster::open_blob_store(&location, &config).map_err(convert)?;
    Ok(Transport { broker: broker.into(), blob_store: blob_store.into() })
}

/// Maximum size of the file with the id of a collection: 16 digits and a line feed.
#[cfg(feature = "cluster")]
const MAX_IDENTITY_BYTES: u64 = 64;

/// Random id by which a broker recognises a collection regardless of its name; generated at the first use.
#[cfg(feature = "cluster")]
fn broker_id(collection: &Path) -> anyhow::Result<u64> {
    let path = collection.join("broker-identity");
    match store::read_limited(&path, MAX_IDENTITY_BYTES) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let id = RandomState::new().hash_one(&path);
            std::fs::write(&path, format!("{id:016x}\n"))
                .with_context(|| format!("cannot write {}", path.display()))?;
            Ok(id)
        }
        bytes => {
            let bytes = bytes.with_context(|| format!("cannot read {}", path.display()))?;
            let text = String::from_utf8_lossy(&bytes);
            let message = || format!("{} does not contain 16 hexadecimal digits; remove it", path.display());
            Ok(u64::from_str_radix(text.trim(), 16).map_err(|_| UsageError(message()))?)
        }
    }
}

/// Minimum lease: a shorter one could expire before a worker can renew it.
#[cfg(feature = "cluster")]
const MIN_LEASE: Duration = Duration::from_secs(1);

/// Reads the first line of a file.
#[cfg(feature = "cluster")]
fn read_line(path: &Path) -> Result<String, UsageError> {
    let cannot = |error: std::io::Error| UsageError(format!("cannot read {}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(cannot)?;
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// Reports that this build cannot connect.
#[cfg(not(feature = "cluster"))]
pub(crate) fn connect(_args: &TransportArgs, _role: Role<'_>) -> anyhow::Result<Transport> {
    let message = "this build has no support for brokers and object stores; build with `--features cluster` (or `full`)";
    Err(UsageError(message.to_owned()).into())
}
