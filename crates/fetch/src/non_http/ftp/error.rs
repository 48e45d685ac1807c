//! Failures of an ftp session.

use model::Reason;

/// Failure of an ftp session.
pub(super) enum FtpError {
    /// The exchange failed.
    Exchange(Reason),
    /// The server rejected a command with this reply code.
    Reply(u16),
}

impl From<Reason> for FtpError {
    fn from(reason: Reason) -> FtpError {
        FtpError::Exchange(reason)
    }
}
