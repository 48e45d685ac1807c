//! Health of the name servers, as far as responses show it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;

/// Class of the result of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueryClass {
    /// The name servers have answered: with addresses, or that there are none.
    Known,
    /// A name server responded with an error, such as SERVFAIL.
    Failed,
    /// No name server responded in time.
    Silent,
    /// No query could be sent: a socket could not be opened, or there is no route.
    NotSent,
}

impl QueryClass {
    pub(crate) fn of<T>(result: &Result<T, NetError>) -> QueryClass {
        match result {
            Ok(_) => QueryClass::Known,
            Err(error) if error.is_no_records_found() => QueryClass::Known,
            Err(NetError::Timeout) => QueryClass::Silent,
            // The library replaces I/O errors of all servers by `NoConnections`.
            Err(NetError::NoConnections | NetError::Io(_) | NetError::Busy) => QueryClass::NotSent,
            Err(_) => QueryClass::Failed,
        }
    }
}

/// Whether a name server that responds so can be expected to resolve names. A server without recursion refuses the query
/// for the root and is healthy.
pub(crate) fn is_healthy<T>(response: &Result<T, NetError>) -> bool {
    match QueryClass::of(response) {
        QueryClass::Known => true,
        QueryClass::Failed => {
            !matches!(response, Err(NetError::Dns(DnsError::ResponseCode(ResponseCode::ServFail))))
        }
        QueryClass::Silent | QueryClass::NotSent => false,
    }
}

/// Times of the last responses.
#[derive(Debug, Default)]
pub(crate) struct NameServerHealth(Mutex<LastResponses>);

#[derive(Debug, Default)]
struct LastResponses {
    any: Option<Instant>,
    known: Option<Instant>,
    /// Last name with an address.
    known_name: Option<String>,
}

impl NameServerHealth {
    /// Records the result of a query.
    pub(crate) fn record(&self, class: QueryClass, now: Instant) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(class, QueryClass::Known | QueryClass::Failed) {
            last.any = Some(now);
        }
        if class == QueryClass::Known {
            last.known = Some(now);
        }
    }

    /// Records a name that has an address.
    pub(crate) fn set_known_name(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).known_name = Some(name.to_owned());
    }

    /// Last name with an address.
    pub(crate) fn known_name(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).known_name.clone()
    }

    /// Whether any response arrived since a time.
    pub(crate) fn has_responded_since(&self, time: Instant) -> bool {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.any.is_some_and(|any| any >= time)
    }

    /// Whether a query succeeded within the last `age`.
    pub(crate) fn has_succeeded_within(&self, age: Duration, now: Instant) -> bool {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.known.is_some_and(|known| now.saturating_duration_since(known) <= age)
    }
}
