//! How does a crawl go that runs in this process?

use std::sync::Arc;

use crawl::Helm;

/// A crawl that runs in this process.
#[derive(Clone)]
pub struct Live {
    helm: Arc<Helm>,
}

impl Live {
    /// The crawl that this helm steers.
    pub fn new(helm: Arc<Helm>) -> Live {
        Live { helm }
    }

    pub(crate) fn helm(&self) -> &Helm {
        &self.helm
    }
}
