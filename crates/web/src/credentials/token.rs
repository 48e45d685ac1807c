//! Access token of the server.

use std::fmt;

use crate::error::{Error, Result};

/// Access token, set by the user or generated at start.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// 96 bits in base64, if the characters are random.
const MIN_CHARACTERS: usize = 16;
const MAX_CHARACTERS: usize = 512;

impl Token {
    /// Parses the content of a token file; surrounding white space is ignored.
    pub fn new(text: &str) -> Result<Token> {
        let text = text.trim();
        let is_valid = (MIN_CHARACTERS..=MAX_CHARACTERS).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_valid {
            Ok(Token(text.to_owned()))
        } else {
            Err(Error::WeakToken { min_characters: MIN_CHARACTERS })
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares in constant time, so that the duration does not reveal a matching prefix.
    pub fn is(&self, other: &str) -> bool {
        let (own, other) = (self.0.as_bytes(), other.as_bytes());
        // The length is not secret: all generated tokens have the same.
        own.len() == other.len() && own.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
    }
}

/// Omits the token, since the output may end in a log.
impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_equals_only_itself() {
        let token = Token::new(" 0123456789abcdef\n").unwrap();
        assert!(token.is("0123456789abcdef"));
        for other in ["", "0123456789abcdeF", "0123456789abcde", "0123456789abcdef0", "x123456789abcdef"] {
            assert!(!token.is(other), "{other}");
        }
        assert_eq!(format!("{token:?}"), "Token(..)");
    }

    #[test]
    fn short_tokens_and_tokens_with_invalid_characters_are_rejected() {
        for weak in ["", "short", "0123456789 abcdef", "0123456789abcdeé", &"x".repeat(513)] {
            assert!(Token::new(weak).is_err(), "{weak}");
        }
    }
}
