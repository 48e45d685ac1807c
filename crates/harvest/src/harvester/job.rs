//! Requests that wait in the queue of a site.

use model::{CanonicalUrl, PageId};

use crate::dispatcher::robots_fetch::CrossHostRobotsFetch;
use crate::item::validators::Validators;

/// Request to send.
#[derive(Debug)]
pub(crate) enum RequestJob {
    /// Page of the batch, with the validators of its stored version.
    Page { page: PageId, url: CanonicalUrl, validators: Validators },
    /// robots.txt, after a number of redirects.
    Robots { url: CanonicalUrl, redirects: u8 },
    /// Sitemap or robots.rdf, at a depth of nested sitemap indexes.
    Sitemap { url: CanonicalUrl, depth: u8 },
    /// robots.txt of another site that is redirected to this host.
    CrossHostRobots(Box<CrossHostRobotsFetch>),
}

impl RequestJob {
    pub(crate) fn url(&self) -> &CanonicalUrl {
        match self {
            RequestJob::Page { url, .. }
            | RequestJob::Robots { url, .. }
            | RequestJob::Sitemap { url, .. } => url,
            RequestJob::CrossHostRobots(fetch) => &fetch.url,
        }
    }

    /// Validators of the stored version, for pages.
    pub(crate) fn validators(&self) -> Option<&Validators> {
        if let RequestJob::Page { validators, .. } = self { Some(validators) } else { None }
    }
}

/// Slab of jobs; ids are reused.
#[derive(Debug, Default)]
pub(crate) struct JobSlab {
    jobs: Vec<Option<RequestJob>>,
    free: Vec<u32>,
}

impl JobSlab {
    pub(crate) fn add(&mut self, job: RequestJob) -> u32 {
        match self.free.pop() {
            Some(id) => {
                self.jobs[id as usize] = Some(job);
                id
            }
            None => {
                self.jobs.push(Some(job));
                self.jobs.len() as u32 - 1
            }
        }
    }

    pub(crate) fn get(&self, id: u32) -> Option<&RequestJob> {
        self.jobs.get(id as usize)?.as_ref()
    }

    pub(crate) fn remove(&mut self, id: u32) -> Option<RequestJob> {
        let job = self.jobs.get_mut(id as usize)?.take()?;
        self.free.push(id);
        Some(job)
    }
}
