//! One file per subcommand: its arguments, its call, its words.

pub(crate) mod parse;
pub(crate) mod robots;
pub(crate) mod simweb;
pub(crate) mod url;
