//! Which secrets are there? The token, the user's or one that is made up; what a browser gets for having shown it; and what every
//! form of ours carries.
//!
//! The last two are made anew by each process. A form counts only together with the cookie: a page of another site can send
//! neither, for browsers keep the cookie back from it and do not let it read our forms.

use std::fs::File;
use std::io::Read;

use crate::error::{Error, Result};
use crate::token::Token;

/// The secrets of one process.
pub(crate) struct Secrets {
    pub(crate) token: Token,
    /// Whether the token was made up here: then who does not know it may read, but change nothing.
    pub(crate) is_made_up: bool,
    pub(crate) cookie: Token,
    pub(crate) form: Token,
    /// Servers on other ports of this machine share its cookies.
    cookie_name: String,
    /// Whether browsers may send the cookie over TLS only.
    is_secure: bool,
}

impl Secrets {
    pub(crate) fn new(token: Option<Token>, port: u16, is_secure: bool) -> Result<Secrets> {
        let (cookie, form, is_made_up) = (random()?, random()?, token.is_none());
        let token = token.map_or_else(random, Ok)?;
        Ok(Secrets { token, is_made_up, cookie, form, cookie_name: format!("weir-{port}"), is_secure })
    }

    /// Whether a `Cookie` line has our cookie in it.
    pub(crate) fn is_in_cookies(&self, line: &str) -> bool {
        let mut pairs = line.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == self.cookie_name && self.cookie.is(value))
    }

    /// The `Set-Cookie` line.
    pub(crate) fn set_cookie(&self) -> String {
        let secure = if self.is_secure { "; Secure" } else { "" };
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict{secure}", self.cookie_name, self.cookie.as_str())
    }
}

/// 256 bits of the system's randomness.
fn random() -> Result<Token> {
    let mut bytes = [0; 32];
    let read = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    read.map_err(|source| Error::Start { source })?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Token::new(&digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_cookie_counts() {
        let secrets = Secrets::new(None, 80, false).unwrap();
        let value = secrets.cookie.as_str();
        assert!(secrets.is_in_cookies(&format!("a=b; weir-80={value}; c")));
        for other in
            [format!("weir-81={value}"), format!("weir-80={value}0"), "weir-80=".into(), String::new()]
        {
            assert!(!secrets.is_in_cookies(&other), "{other}");
        }
        let other = Secrets::new(None, 80, true).unwrap();
        assert!(secrets.cookie != secrets.form && secrets.cookie != other.cookie);
        assert!(secrets.is_made_up && secrets.token != other.token && secrets.token != secrets.cookie);
        assert!(other.set_cookie().ends_with("; Secure") && !secrets.set_cookie().contains("Secure"));
    }
}
