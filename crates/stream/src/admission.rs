//! Who may have a stream now? So many at a time, and so many of them for one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How much at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// Streams at the same time; more are asked to come later.
    pub streams: usize,
    /// Streams at the same time to one address.
    pub streams_per_client: usize,
}

impl Default for StreamLimits {
    fn default() -> StreamLimits {
        StreamLimits { streams: 128, streams_per_client: 32 }
    }
}

/// Why somebody has to come again later.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoRoom {
    #[error("all streams are taken; try again later")]
    Busy,
    #[error("more than {limit} streams at once are too many for one client")]
    TooMany { limit: usize },
}

pub(crate) struct Admission {
    limits: StreamLimits,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    streams: usize,
    by_client: HashMap<Option<IpAddr>, usize>,
}

/// A place, free again when this is gone.
pub(crate) struct Place {
    admission: Arc<Admission>,
    client: Option<IpAddr>,
}

impl Admission {
    pub(crate) fn new(limits: StreamLimits) -> Arc<Admission> {
        Arc::new(Admission { limits, now: Mutex::new(Now::default()) })
    }

    pub(crate) fn enter(self: &Arc<Admission>, client: Option<IpAddr>) -> Result<Place, NoRoom> {
        let mut now = self.now();
        if now.streams >= self.limits.streams {
            return Err(NoRoom::Busy);
        }
        let of_client = now.by_client.entry(client).or_default();
        if *of_client >= self.limits.streams_per_client {
            return Err(NoRoom::TooMany { limit: self.limits.streams_per_client });
        }
        *of_client += 1;
        now.streams += 1;
        Ok(Place { admission: Arc::clone(self), client })
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut now = self.admission.now();
        now.streams -= 1;
        if let Some(of_client) = now.by_client.get_mut(&self.client) {
            *of_client -= 1;
            if *of_client == 0 {
                now.by_client.remove(&self.client);
            }
        }
    }
}
