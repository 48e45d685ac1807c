//! Where are the sites of a batch that is to be lent, and those that they refer to? They are resolved before it leaves, so that it
//! can be said which addresses it owns, and that no other batch has one of them.

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

/// What was asked for, where it is, and until when that may be believed.
type Located<K> = (K, IpAddr, u32);

/// Where the sites of a batch are that were not known to be anywhere, by number, and those that sites refer to, by their places.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    sites: Vec<Located<SiteId>>,
    referrals: Vec<Located<(usize, usize)>>,
}

/// What others have already.
pub(crate) struct Taken<'t> {
    pub(crate) address: &'t dyn Fn(IpAddr) -> bool,
    /// Sites by name that are asked on behalf of others.
    pub(crate) name: &'t dyn Fn(&str) -> bool,
    /// Sites in any batch, also this one.
    pub(crate) site: &'t dyn Fn(SiteId) -> bool,
}

impl Locator<'_> {
    pub(crate) fn new(settings: &CrawlSettings) -> Result<Locator<'_>, Error> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
        let resolver = {
            let _guard = runtime.enter();
            Arc::new(Resolver::new(&settings.dns)?)
        };
        Ok(Locator { settings, runtime, resolver })
    }

    /// Asks for what is not known. It takes its time.
    pub(crate) fn locate(&self, batch: &Batch, clock: Clock) -> Addresses {
        let now_s = clock.now_s();
        let unknown = batch.sites.iter().filter(|site| !site.is_located(now_s));
        let mut sites = self.resolve(unknown.map(|site| (site.site, site.name.as_str())), clock);
        sites.sort_unstable();
        let referrals = batch.sites.iter().enumerate().flat_map(|(place, site)| {
            let own = site.refers.iter().enumerate();
            own.map(move |(number, referral)| ((place, number), referral.name.as_str()))
        });
        Addresses { sites, referrals: self.resolve(referrals, clock) }
    }

    /// Asks where sites are, by their names.
    fn resolve<'n, K: 'static>(
        &self,
        names: impl Iterator<Item = (K, &'n str)>,
        clock: Clock,
    ) -> Vec<Located<K>> {
        let pause = Duration::from_secs(1) / self.settings.names_per_second.max(1);
        let rules = &self.settings.gather.rules;
        let work = async {
            let (mut questions, mut located) = (JoinSet::new(), Vec::new());
            for (key, name) in names {
                let Ok(front) = rules.canonical(&format!("{name}/")) else { continue };
                while questions.len() >= self.settings.names_at_once.max(1) {
                    located.extend(questions.join_next().await.and_then(answer));
                }
                let (resolver, now_ms) = (Arc::clone(&self.resolver), clock.now_ms());
                let host = front.host().to_owned();
                questions.spawn_local(async move {
                    let resolved = resolver.resolve(&host, now_ms).await.ok()?;
                    let address = *resolved.addresses.first()?;
                    Some((key, address, seconds(resolved.good_until_ms)))
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

impl Addresses {
    /// Lets batch and collection know them, and takes the sites out that have something which is taken. Tells how many. A site
    /// that cannot be found stays: it will go back if it can be found later.
    pub(crate) fn settle(
        &self,
        collection: &mut Collection,
        batch: &mut Batch,
        taken: &Taken<'_>,
        now_s: u32,
    ) -> Result<usize, Error> {
        self.tell(collection, batch, now_s)?;
        let before = batch.sites.len();
        let own: HashSet<SiteId> = batch.sites.iter().map(|site| site.site).collect();
        let known = collection.urls.known();
        let is_elsewhere = |name: &str| {
            let site = known.find_site(name);
            (taken.name)(name) || site.is_some_and(|site| !own.contains(&site) && (taken.site)(site))
        };
        batch.sites.retain(|site| {
            let mut names = site.refers.iter().map(|referral| referral.name.as_str());
            !site.addresses().any(|address| (taken.address)(address))
                && !(taken.name)(&site.name)
                && !names.any(is_elsewhere)
        });
        Ok(before - batch.sites.len())
    }

    fn tell(&self, collection: &mut Collection, batch: &mut Batch, now_s: u32) -> Result<(), Error> {
        let sites: Vec<SiteId> = self.sites.iter().map(|(site, ..)| *site).collect();
        collection.sites.update(&sites, |index, record| {
            let (_, address, resolve_again_s) = self.sites[index];
            (record.address, record.resolve_again_s) = (Some(address), resolve_again_s);
        })?;
        for site in &mut batch.sites {
            if let Ok(place) = sites.binary_search(&site.site) {
                let (_, address, resolve_again_s) = self.sites[place];
                (site.address, site.resolve_again_s) = (Some(address), resolve_again_s);
            } else if !site.is_located(now_s) {
                // Where it was, it is not any more.
                site.address = None;
            }
        }
        for ((place, own), address, _) in &self.referrals {
            batch.sites[*place].refers[*own].address = Some(*address);
        }
        Ok(())
    }
}

/// What came of a question; a name that cannot be resolved has no answer.
fn answer<K>(ended: Result<Option<Located<K>>, JoinError>) -> Option<Located<K>> {
    ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}
