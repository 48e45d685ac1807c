//! Which settings make no sense?

use crate::{Aim, Strategy};

/// A setting that cannot be meant as it is written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A strategy that does not exist.
    #[error("there is no strategy `{name}`; there are {}", Strategy::ALL.map(Strategy::as_str).join(", "))]
    UnknownStrategy {
        /// As it was written.
        name: String,
    },
    /// An aim that does not exist.
    #[error("there is no aim `{name}`; there are {}", Aim::ALL.map(Aim::as_str).join(", "))]
    UnknownAim {
        /// As it was written.
        name: String,
    },
    /// A pattern that would reject every page.
    #[error("the pattern `{pattern}` would reject every page")]
    RejectsAll {
        /// As it was written.
        pattern: String,
    },
    /// An entry of a list of hosts that no host can match.
    #[error(
        "`{entry}` is no host and no suffix of hosts; write `www.example.org`, or `.example.org` for a whole domain, and names beyond ASCII in their `xn--` form"
    )]
    BadHost {
        /// As it was written.
        entry: String,
    },
}
