//! Failure to open a connection.

use std::io;

use model::Reason;

use crate::local_fault::LocalFault;

/// Failure of a connection or of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConnectError {
    pub(crate) reason: Reason,
    /// Fault of this machine that caused it.
    pub(crate) local_fault: Option<LocalFault>,
    /// Whether no packet of the server was received.
    pub(crate) is_unreachable: bool,
}

impl ConnectError {
    /// Failure with the error of a system call; `local_fault` is its classification.
    pub(crate) fn from_io(error: &io::Error, local_fault: Option<LocalFault>) -> ConnectError {
        let is_refusal =
            matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset);
        ConnectError { reason: Reason::ConnectFailed, local_fault, is_unreachable: !is_refusal }
    }

    /// Failure of the proxy.
    pub(crate) fn from_proxy(fault: LocalFault) -> ConnectError {
        ConnectError { reason: Reason::ProxyFailed, local_fault: Some(fault), is_unreachable: false }
    }
}

impl From<Reason> for ConnectError {
    fn from(reason: Reason) -> ConnectError {
        ConnectError { reason, local_fault: None, is_unreachable: reason == Reason::ConnectTimeout }
    }
}
