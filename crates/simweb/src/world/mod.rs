//! The synthetic Web as pure functions of the seed: sites, pages, links, paths, languages and change.
//!
//! Nothing here does I/O or reads a clock, except [`clock`], which maps real time to the time of this Web.

pub(crate) mod change_process;
pub(crate) mod charset;
pub(crate) mod clock;
pub(crate) mod date;
pub(crate) mod history;
pub(crate) mod kinds;
pub(crate) mod language;
pub(crate) mod links;
pub(crate) mod lookup;
pub(crate) mod page;
pub(crate) mod path;
pub(crate) mod random;
pub(crate) mod robots;
pub(crate) mod site;
pub(crate) mod synthetic_web;
pub(crate) mod text_buffer;
