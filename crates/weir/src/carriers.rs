//! What carries batches to workers, by the words of the command line? A folder on this machine, or a broker and a store.

#[cfg(feature = "cluster")]
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "cluster")]
use anyhow::Context;
use crawl::{Broker, BrokerError, Depot, FolderBroker, FolderDepot};

use crate::failure::WrongUse;
use crate::settings;

/// What a collection is called at a broker, unless somebody says otherwise.
pub(crate) fn name_of(collection: &Path) -> String {
    let folder = collection.canonicalize().unwrap_or_else(|_| collection.to_owned());
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A broker and a store elsewhere.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Other machines")]
pub(crate) struct CarrierArgs {
    /// The broker that batches go by: nats://HOST:PORT, or tls://HOST:PORT.
    #[arg(long, value_name = "URL", requires = "store")]
    pub(crate) broker: Option<String>,

    /// The store that harvests go by: s3://BUCKET/PREFIX, or file:///FOLDER.
    #[arg(long, value_name = "URL", requires = "broker")]
    pub(crate) store: Option<String>,

    /// A file with the token for the broker.
    #[arg(long, value_name = "FILE", requires = "broker")]
    pub(crate) broker_token_file: Option<PathBuf>,

    /// A user whom the broker knows.
    #[arg(
        long,
        value_name = "NAME",
        requires = "broker_password_file",
        conflicts_with = "broker_token_file"
    )]
    pub(crate) broker_user: Option<String>,

    /// A file with the password of this user.
    #[arg(long, value_name = "FILE", requires = "broker_user")]
    pub(crate) broker_password_file: Option<PathBuf>,

    /// A file with credentials for the broker, as `nsc` writes them.
    #[arg(long, value_name = "FILE", requires = "broker", conflicts_with_all = ["broker_token_file", "broker_user"])]
    pub(crate) broker_credentials: Option<PathBuf>,

    /// A file with certificates of authorities to trust for the broker, in PEM.
    #[arg(long, value_name = "FILE", requires = "broker")]
    pub(crate) broker_ca_file: Option<PathBuf>,

    /// The name of the collection at the broker; a crawl takes its folder's by default.
    #[arg(long, value_name = "NAME", requires = "broker")]
    pub(crate) collection: Option<String>,
}

/// How a collection lends its batches.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Other machines")]
pub(crate) struct LendingArgs {
    /// Batches of a worker of which nothing is heard for so long go to another.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = settings::word::<Duration>)]
    pub(crate) lease: Duration,

    /// On how many servers of the broker's cluster everything is kept.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=5))]
    pub(crate) replicas: u8,
}

/// What was connected.
pub(crate) struct Connected {
    pub(crate) broker: Arc<dyn Broker>,
    pub(crate) depot: Arc<dyn Depot>,
}

/// Where a collection and workers of this machine meet; `open` is for the side that comes.
pub(crate) fn meet_in_folder(
    collection: &Path,
    open: fn(&Path) -> Result<FolderBroker, BrokerError>,
) -> Result<Connected, WrongUse> {
    let folder = collection.join("workers");
    let meet = || Ok((open(&folder)?, FolderDepot::open(&folder.join("depot"))?));
    let (broker, depot) = meet().map_err(|error: BrokerError| WrongUse(error.to_string()))?;
    Ok(Connected { broker: Arc::new(broker), depot: Arc::new(depot) })
}

/// Who connects: they may do different things.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "cluster"), allow(dead_code, reason = "without brokers nobody connects"))]
pub(crate) enum Role<'r> {
    /// The crawl of the collection in this folder.
    Collection(&'r Path, &'r LendingArgs),
    Worker,
}

/// Connects to the broker and the store that the command line names.
#[cfg(feature = "cluster")]
pub(crate) fn connect(args: &CarrierArgs, role: Role<'_>) -> anyhow::Result<Connected> {
    let (Some(broker), Some(store)) = (&args.broker, &args.store) else {
        return Err(WrongUse("--broker and --store go together".to_owned()).into());
    };
    if !["file:///", "s3://"].iter().any(|scheme| store.starts_with(scheme)) {
        let what = format!("`{store}` is no store: file:///FOLDER and s3://BUCKET/FOLDER are");
        return Err(WrongUse(what).into());
    }
    let own_name = match role {
        Role::Collection(folder, _) => Some(name_of(folder)),
        Role::Worker => None,
    };
    let Some(name) = args.collection.clone().or(own_name) else {
        return Err(WrongUse("say with --collection which collection it works for".to_owned()).into());
    };
    let role = match role {
        Role::Collection(_, LendingArgs { lease, .. }) if *lease < SHORTEST_LEASE => {
            return Err(WrongUse("--lease: a batch is lent for at least 1s; 30s is usual".to_owned()).into());
        }
        Role::Collection(folder, LendingArgs { lease, replicas }) => {
            let (owner, replicas) = (identity_of(folder)?, usize::from(*replicas));
            cluster::Role::Collection(cluster::Carriage { lease: *lease, replicas, owner })
        }
        Role::Worker => cluster::Role::Worker,
    };
    let token = args.broker_token_file.as_deref().map(read_line).transpose()?;
    let password = args.broker_password_file.as_deref().map(read_line).transpose()?;
    let credentials = cluster::Credentials {
        token,
        user: args.broker_user.clone().zip(password),
        file: args.broker_credentials.clone(),
        authorities: args.broker_ca_file.clone(),
    };
    let refused = |error: BrokerError| match error {
        BrokerError::Refused(what) => anyhow::Error::from(WrongUse(what)),
        error @ BrokerError::Unavailable { .. } => error.into(),
    };
    let broker = cluster::connect_broker(broker, &name, role, &credentials).map_err(refused)?;
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let access = cluster::S3Access {
        endpoint: variable("AWS_ENDPOINT_URL"),
        region: variable("AWS_REGION"),
        key_id: variable("AWS_ACCESS_KEY_ID"),
        secret_key: variable("AWS_SECRET_ACCESS_KEY"),
        authorities: variable("AWS_CA_BUNDLE").map(PathBuf::from),
    };
    // Several collections may have one store.
    let place = format!("{}/{name}", store.trim_end_matches('/'));
    let depot = cluster::open_depot(&place, &access).map_err(refused)?;
    Ok(Connected { broker: broker.into(), depot: depot.into() })
}

/// By which a broker knows a collection again, whatever it is called; it is made up when it is first needed.
#[cfg(feature = "cluster")]
fn identity_of(collection: &Path) -> anyhow::Result<u64> {
    let path = collection.join("broker-identity");
    match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let identity = RandomState::new().hash_one(&path);
            std::fs::write(&path, format!("{identity:016x}\n"))
                .with_context(|| format!("cannot write {}", path.display()))?;
            Ok(identity)
        }
        text => {
            let text = text.with_context(|| format!("cannot read {}", path.display()))?;
            let what = || format!("{} does not hold 16 digits: remove it", path.display());
            Ok(u64::from_str_radix(text.trim(), 16).map_err(|_| WrongUse(what()))?)
        }
    }
}

/// Nobody could ask for more time in less.
#[cfg(feature = "cluster")]
const SHORTEST_LEASE: Duration = Duration::from_secs(1);

/// The first line of a file.
#[cfg(feature = "cluster")]
fn read_line(path: &Path) -> Result<String, WrongUse> {
    let cannot = |error: std::io::Error| WrongUse(format!("cannot read {}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(cannot)?;
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// Without brokers and stores there is only one thing to say.
#[cfg(not(feature = "cluster"))]
pub(crate) fn connect(_args: &CarrierArgs, _role: Role<'_>) -> anyhow::Result<Connected> {
    let what = "this program was built without brokers and stores: build it with `cargo build --release --features cluster`";
    Err(WrongUse(what.to_owned()).into())
}
