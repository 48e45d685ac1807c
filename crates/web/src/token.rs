//! Who may ask? Whoever knows the token.

use std::fmt;

use crate::error::{Error, Result};

/// A secret that a user has chosen, or that this process has made up.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// 96 bits, if they come from a good source.
const LEAST_CHARACTERS: usize = 16;
const MOST_CHARACTERS: usize = 512;

impl Token {
    /// The token in the text of a file; space around it does not count.
    pub fn new(text: &str) -> Result<Token> {
        let text = text.trim();
        let is_sound = (LEAST_CHARACTERS..=MOST_CHARACTERS).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_sound { Ok(Token(text.to_owned())) } else { Err(Error::WeakToken { least: LEAST_CHARACTERS }) }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a text is the token; how long that takes tells nothing about where they differ.
    pub fn is(&self, other: &str) -> bool {
        let (own, other) = (self.0.as_bytes(), other.as_bytes());
        // The length is no secret: it is that of every token which this process makes, or the user's own choice.
        own.len() == other.len() && own.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
    }
}

/// Never the token itself: this may end in a log.
impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_itself_and_nothing_else() {
        let token = Token::new(" 0123456789abcdef\n").unwrap();
        assert!(token.is("0123456789abcdef"));
        for other in ["", "0123456789abcdeF", "0123456789abcde", "0123456789abcdef0", "x123456789abcdef"] {
            assert!(!token.is(other), "{other}");
        }
        assert_eq!(format!("{token:?}"), "Token(..)");
    }

    #[test]
    fn what_could_be_guessed_or_not_be_sent_is_no_token() {
        for weak in ["", "short", "0123456789 abcdef", "0123456789abcdeé", &"x".repeat(513)] {
            assert!(Token::new(weak).is_err(), "{weak}");
        }
    }
}
