//! Cooldowns of hosts that were contacted for a redirected robots.txt but are not sites of the collection.
//!
//! A host that is a site keeps its cooldown in its site record. The others are part of the committed state, so that a crawl
//! that restarts a second later respects them; expired ones are removed.

use frontier::Politeness;
use store::{Collection, Result};

use crate::state::crawl_state::{CrawlState, StoredCooldown};

/// Records a request to a host that ended at `ended_ms`: in its site record if it is a site, else in the state.
pub(crate) fn record(
    collection: &mut Collection,
    state: &mut CrawlState,
    cooldown: StoredCooldown,
    ended_ms: u64,
    politeness: &Politeness,
) -> Result<()> {
    let StoredCooldown { host, address, until_ms } = &cooldown;
    if let Some(site) = collection.urls.reader().find_site(host) {
        return collection.site_state.update(&[site], |_, record| {
            let delay_ms =
                politeness.delay_for_site_ms(record.pages_known, record.crawl_delay_ms.into(), Some(0));
            let until_ms = (*until_ms).max(ended_ms + delay_ms);
            record.earliest_request_ms = record.earliest_request_ms.max(until_ms);
            // The cooldown of the address is derived from its sites; a known address may have changed since.
            record.address = record.address.or(*address);
        });
    }
    state.host_cooldowns.retain(|known| {
        known.until_ms > ended_ms && (&known.host, &known.address) != (&cooldown.host, &cooldown.address)
    });
    state.host_cooldowns.push(cooldown);
    Ok(())
}

/// Cooldowns that have not expired.
pub(crate) fn active(state: &CrawlState, now_ms: u64) -> impl Iterator<Item = &StoredCooldown> {
    state.host_cooldowns.iter().filter(move |cooldown| cooldown.until_ms > now_ms)
}
