//! Resolution of all host names of a batch before it is leased, so that it can claim its addresses.

use std::cell::Cell;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use fetch::{Failure, LocalFault, Resolver};
use model::SiteId;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinError, JoinSet, LocalSet};

use crate::error::Error;
use crate::item::batch::Batch;
use crate::settings::clock::{CrawlClock, seconds};
use crate::settings::crawl_settings::CrawlSettings;

/// Resolver for batches, rate-limited by the settings.
pub struct BatchResolver<'s> {
    settings: &'s CrawlSettings,
    runtime: Runtime,
    resolver: Arc<Resolver>,
}

/// Key of a name, its address, and the expiry of the address in Unix seconds.
type ResolvedKey<K> = (K, IpAddr, u32);

/// Addresses that were resolved for a batch.
#[derive(Debug, Default)]
pub struct ResolvedAddresses {
    /// Sites whose address was unknown or expired, by id.
    pub sites: Vec<ResolvedKey<SiteId>>,
    /// Hosts that robots.txt files redirect to, by the indexes of site and redirect in the batch.
    pub robots_redirects: Vec<ResolvedKey<(usize, usize)>>,
    /// Fault of this machine because of which names are not resolved.
    pub fault: Option<LocalFault>,
}

impl BatchResolver<'_> {
    /// Creates a resolver.
    pub fn new(settings: &CrawlSettings) -> Result<BatchResolver<'_>, Error> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
        let resolver = {
            let _guard = runtime.enter();
            Arc::new(Resolver::new(&settings.dns)?)
        };
        Ok(BatchResolver { settings, runtime, resolver })
    }

    /// Resolves all names of a batch that are not resolved yet. It blocks until all lookups have ended.
    pub fn resolve_batch(&self, batch: &Batch, clock: CrawlClock) -> ResolvedAddresses {
        let now_s = clock.now_s();
        let unresolved = batch.sites.iter().filter(|site| !site.is_resolved(now_s));
        let (mut sites, sites_fault) =
            self.resolve(unresolved.map(|site| (site.site, site.name.as_str())), clock);
        sites.sort_unstable();
        let redirects = batch.sites.iter().enumerate().flat_map(|(index, site)| {
            let of_site = site.robots_redirects.iter().enumerate();
            of_site.map(move |(redirect_index, redirect)| ((index, redirect_index), redirect.name.as_str()))
        });
        let (robots_redirects, redirects_fault) = self.resolve(redirects, clock);
        ResolvedAddresses { sites, robots_redirects, fault: sites_fault.or(redirects_fault) }
    }

    /// Resolves names; those that fail are missing in the result. It ends at the first fault of this machine, which is returned.
    fn resolve<'n, K: 'static>(
        &self,
        names: impl Iterator<Item = (K, &'n str)>,
        clock: CrawlClock,
    ) -> (Vec<ResolvedKey<K>>, Option<LocalFault>) {
        let interval = Duration::from_secs(1) / self.settings.lookups.max_per_second.max(1);
        let rules = &self.settings.gathering.rules;
        let work = async {
            let (mut lookups, mut resolved_keys) = (JoinSet::new(), Vec::new());
            let first_fault = Rc::new(Cell::new(None));
            for (key, name) in names {
                let Ok(front_page) = rules.canonical(&format!("{name}/")) else { continue };
                while lookups.len() >= self.settings.lookups.max_concurrent.max(1) {
                    resolved_keys.extend(lookups.join_next().await.and_then(lookup_result));
                }
                // The worker resolves the others, and waits if it has the same fault.
                if first_fault.get().is_some() {
                    break;
                }
                let (resolver, now_ms) = (Arc::clone(&self.resolver), clock.now_ms());
                let (host, fault) = (front_page.host().to_owned(), Rc::clone(&first_fault));
                lookups.spawn_local(async move {
                    let resolved = match resolver.resolve(&host, now_ms).await {
                        Ok(resolved) => resolved,
                        Err(Failure::Local(local)) => {
                            fault.set(fault.get().or(Some(local)));
                            return None;
                        }
                        Err(Failure::Site(_)) => return None,
                    };
                    let address = *resolved.addresses.first()?;
                    Some((key, address, seconds(resolved.expires_ms)))
                });
                tokio::time::sleep(interval).await;
            }
            while let Some(ended) = lookups.join_next().await {
                resolved_keys.extend(lookup_result(ended));
            }
            (resolved_keys, first_fault.get())
        };
        LocalSet::new().block_on(&self.runtime, work)
    }
}

/// Result of a lookup task; `None` for a name that cannot be resolved.
fn lookup_result<K>(ended: Result<Option<ResolvedKey<K>>, JoinError>) -> Option<ResolvedKey<K>> {
    ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}
