//! Manager, gatherer and seeder as separate programs that exchange directories, as in WIRE.

pub(crate) mod gatherer;
pub(crate) mod manager;
pub(crate) mod seeder;
