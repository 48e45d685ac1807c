//! Credentials for the broker.

use std::path::PathBuf;

use async_nats::ConnectOptions;
use harvest::BrokerError;

/// Credentials for the broker: at most one of token, user and file.
#[derive(Clone, Default)]
pub struct BrokerCredentials {
    /// Shared token.
    pub token: Option<String>,
    /// User name and password.
    pub user: Option<(String, String)>,
    /// Credentials file with a JWT and its key, as written by `nsc`.
    pub creds_file: Option<PathBuf>,
    /// PEM file with CA certificates, used instead of those of the system.
    pub ca_file: Option<PathBuf>,
}

impl BrokerCredentials {
    /// Connection options with these credentials.
    pub(crate) fn options(&self) -> Result<ConnectOptions, BrokerError> {
        let options = match (&self.token, &self.user, &self.creds_file) {
            (None, None, None) => ConnectOptions::new(),
            (Some(token), None, None) => ConnectOptions::with_token(token.clone()),
            (None, Some((user, password)), None) => {
                ConnectOptions::with_user_and_password(user.clone(), password.clone())
            }
            (None, None, Some(file)) => {
                let unreadable = |error| {
                    BrokerError::Refused(format!(
                        "cannot read the credentials file {}: {error}",
                        file.display()
                    ))
                };
                let text = std::fs::read_to_string(file).map_err(unreadable)?;
                ConnectOptions::with_credentials(&text).map_err(unreadable)?
            }
            _ => {
                let cause = "conflicting broker credentials: use a token, a user with a password, or a credentials file";
                return Err(BrokerError::Refused(cause.to_owned()));
            }
        };
        let Some(ca_file) = &self.ca_file else { return Ok(options) };
        // Checked here, because the client library would only report that it cannot connect.
        std::fs::metadata(ca_file).map_err(|error| {
            BrokerError::Refused(format!("cannot read the CA certificates {}: {error}", ca_file.display()))
        })?;
        Ok(options.add_root_certificates(ca_file.clone()))
    }
}

impl std::fmt::Debug for BrokerCredentials {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("BrokerCredentials")
            .field("token", &self.token.as_ref().map(|_| "hidden"))
            .field("user", &self.user.as_ref().map(|(user, _)| user))
            .field("creds_file", &self.creds_file)
            .field("ca_file", &self.ca_file)
            .finish()
    }
}
