//! What carries batches to workers, by the words of the command line? A folder on this machine, or a broker and a store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crawl::{Broker, BrokerError, Depot, FolderBroker};

use crate::failure::WrongUse;

/// Where workers of this machine and their collection meet, in the collection's folder.
pub(crate) fn folder_of(collection: &Path) -> PathBuf {
    collection.join("workers")
}

/// A broker and a store elsewhere.
#[derive(clap::Args, Clone)]
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

    /// A file with certificates of authorities to trust for the broker, in PEM.
    #[arg(long, value_name = "FILE", requires = "broker")]
    pub(crate) broker_ca_file: Option<PathBuf>,

    /// The name of the collection at the broker; its folder's by default.
    #[arg(long, value_name = "NAME")]
    pub(crate) collection: Option<String>,
}

/// What was connected.
pub(crate) struct Connected {
    pub(crate) broker: Arc<dyn Broker>,
    pub(crate) depot: Arc<dyn Depot>,
}

/// The folder for workers, from the collection's side or a worker's.
pub(crate) fn meet_in_folder(
    open: impl FnOnce() -> Result<FolderBroker, BrokerError>,
) -> Result<Connected, WrongUse> {
    let folder = Arc::new(open().map_err(|error| WrongUse(error.to_string()))?);
    let (broker, depot): (Arc<dyn Broker>, Arc<dyn Depot>) = (Arc::clone(&folder) as _, folder);
    Ok(Connected { broker, depot })
}

/// Who connects: they may do different things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Collection,
    Worker,
}

/// Connects to the broker and the store that the command line names.
#[cfg(not(feature = "cluster"))]
pub(crate) fn connect(
    _args: &CarrierArgs,
    _folder: Option<&Path>,
    _role: Role,
) -> Result<Connected, WrongUse> {
    let what = "this program was built without brokers and stores; build it with `cargo build --release --features cluster`";
    Err(WrongUse(what.to_owned()))
}
