//! Failures of an ftp session.

use model::Reason;

use crate::connect_error::ConnectError;

/// Failure of an ftp session.
pub(super) enum FtpError {
    /// The exchange failed.
    Exchange(ConnectError),
    /// The server rejected a command with this reply code.
    Reply(u16),
}

impl From<Reason> for FtpError {
    fn from(reason: Reason) -> FtpError {
        FtpError::Exchange(reason.into())
    }
}

impl From<ConnectError> for FtpError {
    fn from(error: ConnectError) -> FtpError {
        FtpError::Exchange(error)
    }
}
