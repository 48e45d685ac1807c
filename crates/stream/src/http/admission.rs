//! Who may have a stream now? So many at a time, and so many of them for one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::StreamLimits;
use super::answer::Refused;

pub(super) struct Admission {
    limits: StreamLimits,
    now: Mutex<Now>,
}

#[derive(Default)]
struct Now {
    streams: usize,
    by_client: HashMap<Option<IpAddr>, usize>,
}

/// A place, free again when this is gone.
pub(super) struct Place {
    admission: Arc<Admission>,
    client: Option<IpAddr>,
}

impl Admission {
    pub(super) fn new(limits: StreamLimits) -> Arc<Admission> {
        Arc::new(Admission { limits, now: Mutex::new(Now::default()) })
    }

    pub(super) fn enter(self: &Arc<Admission>, client: Option<IpAddr>) -> Result<Place, Refused> {
        let mut now = self.now();
        if now.streams >= self.limits.streams {
            return Err(Refused::Busy);
        }
        let of_client = now.by_client.entry(client).or_default();
        if *of_client >= self.limits.streams_per_client {
            return Err(Refused::TooMany { limit: self.limits.streams_per_client });
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
