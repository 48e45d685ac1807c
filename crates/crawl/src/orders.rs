//! What does the one at the helm want of a crawl that runs?

use crate::stop::Stop;

/// What all threads of a crawl obey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Orders {
    pub(crate) stop: Stop,
    /// Nothing new is asked for; all else goes on.
    pub(crate) paused: bool,
}

impl Orders {
    /// Whether a request may begin.
    pub(crate) fn may_begin(self) -> bool {
        self.stop == Stop::No && !self.paused
    }
}
