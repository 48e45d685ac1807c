//! Who are we, to the broker?

use std::path::PathBuf;

use async_nats::ConnectOptions;
use crawl::BrokerError;

/// What a broker wants to see before it lets somebody in. At most one of token, user and file.
#[derive(Clone, Default)]
pub struct Credentials {
    /// A word that everybody knows who may come in.
    pub token: Option<String>,
    /// A name and a password.
    pub user: Option<(String, String)>,
    /// A file with a JWT and its key, as `nsc` writes them.
    pub file: Option<PathBuf>,
    /// Certificates (PEM) of the authorities that vouch for the broker, instead of those of the system.
    pub authorities: Option<PathBuf>,
}

impl Credentials {
    /// The options of a connection with these.
    pub(crate) fn options(&self) -> Result<ConnectOptions, BrokerError> {
        let options = match (&self.token, &self.user, &self.file) {
            (None, None, None) => ConnectOptions::new(),
            (Some(token), None, None) => ConnectOptions::with_token(token.clone()),
            (None, Some((user, password)), None) => {
                ConnectOptions::with_user_and_password(user.clone(), password.clone())
            }
            (None, None, Some(file)) => {
                let unreadable =
                    |error| BrokerError::Refused(format!("credentials {}: {error}", file.display()));
                let text = std::fs::read_to_string(file).map_err(unreadable)?;
                ConnectOptions::with_credentials(&text).map_err(unreadable)?
            }
            _ => {
                let what = "a broker takes a token, a user and a password, or a file of credentials: only one of them";
                return Err(BrokerError::Refused(what.to_owned()));
            }
        };
        let Some(authorities) = &self.authorities else { return Ok(options) };
        // Looked at here, since the client would only say that it cannot connect.
        std::fs::metadata(authorities).map_err(|error| {
            BrokerError::Refused(format!("certificates {}: {error}", authorities.display()))
        })?;
        Ok(options.add_root_certificates(authorities.clone()))
    }
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Credentials")
            .field("token", &self.token.as_ref().map(|_| "hidden"))
            .field("user", &self.user.as_ref().map(|(user, _)| user))
            .field("file", &self.file)
            .field("authorities", &self.authorities)
            .finish()
    }
}
