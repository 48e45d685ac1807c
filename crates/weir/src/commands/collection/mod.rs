//! Commands that create, list, verify, import and export a collection.

pub(crate) mod cat;
pub(crate) mod check;
pub(crate) mod compact;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod sites;
pub(crate) mod snapshots;
pub(crate) mod status;
