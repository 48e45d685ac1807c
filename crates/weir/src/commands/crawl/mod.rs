//! Commands that crawl: the whole crawl, its separate programs and workers.

#[expect(clippy::module_inception, reason = "the module of a command has the name of the command")]
pub(crate) mod crawl;
pub(crate) mod demo;
pub(crate) mod gatherer;
pub(crate) mod harvester;
pub(crate) mod manager;
pub(crate) mod refetch;
pub(crate) mod rejudge;
pub(crate) mod seeder;
pub(crate) mod worker;
