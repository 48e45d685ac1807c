//! Limit of open files of the process (`ulimit -n`).

use harvest::CrawlSettings;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::human;

/// Maximum to which the soft limit is raised: enough for 100,000 connections.
const MAX_SOFT_LIMIT: u64 = 1 << 20;

/// Raises the soft limit to the hard limit. The usual soft limit of 1,024 exists for programs that use `select`.
pub(crate) fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let target = maximum.unwrap_or(MAX_SOFT_LIMIT).min(MAX_SOFT_LIMIT);
    if current.is_some_and(|current| current < target) {
        // Without it the number of connections is reduced, which is reported.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(target), maximum });
    }
}

/// Reduces the number of connections of a crawl in this process to the limit.
pub(crate) fn fit_to_threads(settings: &mut CrawlSettings) -> Option<String> {
    let threads = harvest::harvester::pool::threads(settings);
    fit_connections(settings, threads)
}

/// Reduces the number of connections of a process with `threads` threads to the limit. Returns a message for the user if that
/// was necessary.
pub(crate) fn fit_connections(settings: &mut CrawlSettings, threads: usize) -> Option<String> {
    let max_open_files = getrlimit(Resource::Nofile).current?;
    let requested = settings.max_connections;
    (settings.fit_open_files(max_open_files, threads) && settings.max_connections < requested).then(|| {
        format!(
            "using {} connections instead of {} (crawl.max_connections): this process can open {} files; raise the \
             limit with `ulimit -n` or LimitNOFILE",
            human::number(settings.max_connections as u64),
            human::number(requested as u64),
            human::number(max_open_files)
        )
    })
}
