//! Where are the sites of a batch that is to be lent? They are resolved before it leaves, so that it can be said which
//! addresses it owns, and that no other batch has one of them.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use fetch::Resolver;
use model::SiteId;
use store::Collection;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinError, JoinSet, LocalSet};

use crate::batch::Batch;
use crate::clock::{Clock, seconds};
use crate::crawl_settings::CrawlSettings;
use crate::error::Error;

/// Resolves names, at the pace of the settings.
pub(crate) struct Locator<'s> {
    settings: &'s CrawlSettings,
    runtime: Runtime,
    resolver: Arc<Resolver>,
}

/// A site, where it is, and until when that may be believed.
type Located = (SiteId, IpAddr, u32);

impl Locator<'_> {
    pub(crate) fn new(settings: &CrawlSettings) -> Result<Locator<'_>, Error> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
        let resolver = {
            let _guard = runtime.enter();
            Arc::new(Resolver::new(&settings.dns)?)
        };
        Ok(Locator { settings, runtime, resolver })
    }

    /// Finds the addresses of a batch's sites, lets the collection know them, and takes the sites out that are at one of
    /// these. Tells how many. A site that cannot be found stays: it will go back if it can be found later.
    pub(crate) fn locate(
        &mut self,
        collection: &mut Collection,
        batch: &mut Batch,
        taken: &HashSet<IpAddr>,
        clock: &Clock,
    ) -> Result<usize, Error> {
        let mut located = self.resolve(batch, clock);
        located.sort_unstable();
        let sites: Vec<SiteId> = located.iter().map(|(site, ..)| *site).collect();
        collection.sites.update(&sites, |index, record| {
            let (_, address, resolve_again_s) = located[index];
            (record.address, record.resolve_again_s) = (Some(address), resolve_again_s);
        })?;
        let now_s = clock.now_s();
        for site in &mut batch.sites {
            if let Ok(place) = sites.binary_search(&site.site) {
                let (_, address, resolve_again_s) = located[place];
                (site.address, site.resolve_again_s) = (Some(address), resolve_again_s);
            } else if site.resolve_again_s <= now_s {
                // Where it was, it is not any more.
                site.address = None;
            }
        }
        let before = batch.sites.len();
        let is_taken = |address: IpAddr| taken.contains(&address.to_canonical());
        batch.sites.retain(|site| !site.address.is_some_and(is_taken));
        Ok(before - batch.sites.len())
    }

    /// Asks for all addresses that are not known, or not for sure.
    fn resolve(&mut self, batch: &Batch, clock: &Clock) -> Vec<Located> {
        let pause = Duration::from_secs(1) / self.settings.names_per_second.max(1);
        let now_s = clock.now_s();
        let rules = &self.settings.gather.rules;
        let unknown =
            batch.sites.iter().filter(|site| site.address.is_none() || site.resolve_again_s <= now_s);
        let work = async {
            let (mut questions, mut located) = (JoinSet::new(), Vec::new());
            for site in unknown {
                let Ok(front) = rules.canonical(&format!("{}/", site.name)) else { continue };
                while questions.len() >= self.settings.names_at_once.max(1) {
                    located.extend(questions.join_next().await.and_then(answer));
                }
                let (resolver, now_ms, number) = (Arc::clone(&self.resolver), clock.now_ms(), site.site);
                let host = front.host().to_owned();
                questions.spawn_local(async move {
                    let resolved = resolver.resolve(&host, now_ms).await.ok()?;
                    let address = *resolved.addresses.first()?;
                    Some((number, address, seconds(resolved.good_until_ms)))
                });
                tokio::time::sleep(pause).await;
            }
            while let Some(ended) = questions.join_next().await {
                located.extend(answer(ended));
            }
            located
        };
        LocalSet::new().block_on(&self.runtime, work)
    }
}

/// What came of a question; a name that cannot be resolved has no answer.
fn answer(ended: Result<Option<Located>, JoinError>) -> Option<Located> {
    ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}
