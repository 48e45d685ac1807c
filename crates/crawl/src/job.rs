//! What waits for its turn at a site?

use model::{CanonicalUrl, PageId};

use crate::errand::Errand;
use crate::validators::Validators;

/// One request to be made.
#[derive(Debug)]
pub(crate) enum Job {
    /// A page of the batch, and what names the version that we have.
    Page { page: PageId, url: CanonicalUrl, validators: Validators },
    /// robots.txt, after so many redirects.
    Robots { url: CanonicalUrl, hops: u8 },
    /// A sitemap or robots.rdf; so many indexes led to it.
    Sitemap { url: CanonicalUrl, level: u8 },
    /// A robots.txt that another site refers to.
    Errand(Box<Errand>),
}

impl Job {
    pub(crate) fn url(&self) -> &CanonicalUrl {
        match self {
            Job::Page { url, .. } | Job::Robots { url, .. } | Job::Sitemap { url, .. } => url,
            Job::Errand(errand) => &errand.url,
        }
    }

    /// What names the version that we have, for pages.
    pub(crate) fn validators(&self) -> Option<&Validators> {
        if let Job::Page { validators, .. } = self { Some(validators) } else { None }
    }
}

/// Jobs by their numbers, which are used again.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    jobs: Vec<Option<Job>>,
    free: Vec<u32>,
}

impl Jobs {
    pub(crate) fn add(&mut self, job: Job) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.jobs[number as usize] = Some(job);
                number
            }
            None => {
                self.jobs.push(Some(job));
                self.jobs.len() as u32 - 1
            }
        }
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Job> {
        self.jobs.get(number as usize)?.as_ref()
    }

    pub(crate) fn remove(&mut self, number: u32) -> Option<Job> {
        let job = self.jobs.get_mut(number as usize)?.take()?;
        self.free.push(number);
        Some(job)
    }
}
