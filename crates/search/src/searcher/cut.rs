//! What was left out of an answer, and why?

use std::fmt;

/// Why an answer may not be all there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// A star stands for more words than were looked for.
    RareWords,
    /// There are more words than a star was tried on.
    WordsTried,
    /// Time was up.
    Time,
}

impl Cut {
    /// For programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Cut::RareWords => "rare-words",
            Cut::WordsTried => "words-tried",
            Cut::Time => "time",
        }
    }
}

/// A sentence for people.
impl fmt::Display for Cut {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Cut::RareWords => "a star stands for very many words; only the most frequent were looked for",
            Cut::WordsTried => {
                "there are too many words to try a star on all of them; the last ones were not tried"
            }
            Cut::Time => {
                "time was up before all pages were looked through; ask for something narrower to see all"
            }
        })
    }
}
