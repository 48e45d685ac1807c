//! What waits for its turn at a site?

use model::{CanonicalUrl, PageId};

use crate::errand::Errand;

/// One request to be made.
#[derive(Debug)]
pub(crate) enum Job {
    /// A page of the batch.
    Page { page: PageId, url: CanonicalUrl },
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
