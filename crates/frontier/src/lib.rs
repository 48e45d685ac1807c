//! What may be fetched next, and when is it polite?
//!
//! This crate never touches a socket, the disk or a clock: the time is an argument, so that politeness can be proved.
