//! Who carries batches and harvests between machines? A broker of others, NATS with JetStream, and a store of others for what
//! is large: a folder that all machines see, or S3.
//!
//! This crate only maps what [`crawl::Broker`] and [`crawl::Depot`] promise to what those two can do; it never knows what a
//! message says, and never sees a page. Everything that is asked of them is asked again for a while if they are in trouble,
//! so whatever is asked must do no harm the second time.

mod broker;
mod credentials;
mod lease;
mod ledger;
mod link;
mod listener;
mod names;
mod order_board;
mod report_board;
mod s3;
mod setup;

use std::path::Path;

use crawl::{Broker, BrokerError, Depot, FolderDepot};

pub use credentials::Credentials;
pub use s3::S3Access;
pub use setup::{Carriage, Role};

/// Connects to the NATS servers of a URL (`nats://host:port` or `tls://host:port`, several with commas in between), as the
/// collection of this name or as one of its workers.
pub fn connect_broker(
    url: &str,
    collection: &str,
    role: Role,
    credentials: &Credentials,
) -> Result<Box<dyn Broker>, BrokerError> {
    Ok(Box::new(broker::NatsBroker::connect(url, collection, role, credentials)?))
}

/// Opens the depot of a URL: `file:///folder`, or `s3://bucket/folder`.
pub fn open_depot(url: &str, access: &S3Access) -> Result<Box<dyn Depot>, BrokerError> {
    match url.split_once("://") {
        Some(("file", path)) if path.starts_with('/') => Ok(Box::new(FolderDepot::open(Path::new(path))?)),
        Some(("s3", place)) => Ok(Box::new(s3::S3Depot::open(place, access)?)),
        _ => Err(BrokerError::Refused(format!(
            "`{url}` is no depot: file:///folder or s3://bucket/folder are"
        ))),
    }
}
