//! Which secrets are there? The user's token; what a browser gets for having shown it; and what every form of ours carries.
//!
//! The last two are made anew by each process. A form counts only together with the cookie: a page of another site can send
//! neither, for browsers keep the cookie back from it and do not let it read our forms.

use std::fs::File;
use std::io::Read;

use crate::error::{Error, Result};
use crate::token::Token;

/// The secrets of one process.
pub(crate) struct Secrets {
    pub(crate) token: Option<Token>,
    pub(crate) cookie: Token,
    pub(crate) form: Token,
    /// Servers on other ports of this machine share its cookies.
    cookie_name: String,
}

impl Secrets {
    pub(crate) fn new(token: Option<Token>, port: u16) -> Result<Secrets> {
        let (cookie, form) = (random()?, random()?);
        Ok(Secrets { token, cookie, form, cookie_name: format!("weir-{port}") })
    }

    /// Whether a `Cookie` line has our cookie in it.
    pub(crate) fn is_in_cookies(&self, line: &str) -> bool {
        let mut pairs = line.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == self.cookie_name && self.cookie.is(value))
    }

    /// The `Set-Cookie` line.
    pub(crate) fn set_cookie(&self) -> String {
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie_name, self.cookie.as_str())
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
        let secrets = Secrets::new(None, 80).unwrap();
        let value = secrets.cookie.as_str();
        assert!(secrets.is_in_cookies(&format!("a=b; weir-80={value}; c")));
        for other in
            [format!("weir-81={value}"), format!("weir-80={value}0"), "weir-80=".into(), String::new()]
        {
            assert!(!secrets.is_in_cookies(&other), "{other}");
        }
        assert!(secrets.cookie != secrets.form && secrets.cookie != Secrets::new(None, 80).unwrap().cookie);
    }
}
