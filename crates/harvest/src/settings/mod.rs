//! Settings of a crawl, typed and checked.

pub mod clock;
pub mod crawl_settings;
pub mod focus;
pub mod gather_settings;
pub mod random;
pub mod stop_mode;
