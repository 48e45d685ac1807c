//! Control state of a crawl: stop mode and pause.

use crate::settings::stop_mode::StopMode;

/// Control state, read by all threads before each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ControlState {
    pub(crate) stop_mode: StopMode,
    /// No request starts; everything else continues.
    pub(crate) paused: bool,
}

impl ControlState {
    /// Whether a request may start.
    pub(crate) fn may_start(self) -> bool {
        self.stop_mode == StopMode::Running && !self.paused
    }
}
