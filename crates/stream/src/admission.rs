//! Admission control: limits on concurrent streams, in total and per client address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::AddressGroup;

/// Limits on concurrent streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// Maximum number of concurrent streams.
    pub streams: usize,
    /// Maximum number of concurrent streams to one client address; an IPv6 /64 counts as one address.
    pub streams_per_client: usize,
}

impl Default for StreamLimits {
    fn default() -> StreamLimits {
        StreamLimits { streams: 128, streams_per_client: 32 }
    }
}

/// Reason to reject a stream for now.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AdmissionError {
    #[error("too many concurrent streams; retry later")]
    ServerLimit,
    #[error("too many concurrent streams of this client (maximum {limit})")]
    ClientLimit { limit: usize },
}

/// Counts open streams against the limits.
pub(crate) struct AdmissionControl {
    limits: StreamLimits,
    usage: Mutex<Usage>,
}

#[derive(Default)]
struct Usage {
    streams: usize,
    pages_examined: u64,
    by_client: HashMap<Option<AddressGroup>, usize>,
}

/// Usage of a server of streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamUsage {
    /// Number of open streams.
    pub open_streams: usize,
    /// Number of pages that finished streams have considered, whether they matched or not.
    pub pages_examined: u64,
}

/// Permit for one stream, released on drop.
pub(crate) struct StreamPermit {
    admission: Arc<AdmissionControl>,
    client: Option<AddressGroup>,
    pages_examined: u64,
}

impl StreamPermit {
    /// Sets the number of pages that the stream has considered so far.
    pub(crate) fn set_pages_examined(&mut self, pages: u64) {
        self.pages_examined = pages;
    }
}

impl AdmissionControl {
    pub(crate) fn new(limits: StreamLimits) -> Arc<AdmissionControl> {
        Arc::new(AdmissionControl { limits, usage: Mutex::new(Usage::default()) })
    }

    pub(crate) fn acquire(
        self: &Arc<AdmissionControl>,
        client: Option<IpAddr>,
    ) -> Result<StreamPermit, AdmissionError> {
        let client = client.map(AddressGroup::from);
        let mut usage = self.usage();
        if usage.streams >= self.limits.streams {
            return Err(AdmissionError::ServerLimit);
        }
        let client_streams = usage.by_client.entry(client).or_default();
        if *client_streams >= self.limits.streams_per_client {
            return Err(AdmissionError::ClientLimit { limit: self.limits.streams_per_client });
        }
        *client_streams += 1;
        usage.streams += 1;
        Ok(StreamPermit { admission: Arc::clone(self), client, pages_examined: 0 })
    }

    pub(crate) fn stream_usage(&self) -> StreamUsage {
        let usage = self.usage();
        StreamUsage { open_streams: usage.streams, pages_examined: usage.pages_examined }
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut usage = self.admission.usage();
        usage.streams -= 1;
        usage.pages_examined += self.pages_examined;
        if let Some(client_streams) = usage.by_client.get_mut(&self.client) {
            *client_streams -= 1;
            if *client_streams == 0 {
                usage.by_client.remove(&self.client);
            }
        }
    }
}
