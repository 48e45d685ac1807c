//! Replay of the journals of a harvester that did not end cleanly.

use std::collections::HashMap;

use crate::files::journal::JournalEntry;
use crate::item::batch::{Batch, BatchSite};
use crate::item::harvest_event::HarvestEvent;

/// Applies journal entries to a batch; returns those that concern it, with their events.
pub(crate) fn apply_journal(
    batch: &mut Batch,
    entries: &[JournalEntry],
) -> Vec<(JournalEntry, HarvestEvent)> {
    let Batch { sites, address_cooldowns, host_cooldowns, .. } = batch;
    let mut sites: HashMap<String, &mut BatchSite> =
        sites.iter_mut().map(|site| (site.name.clone(), site)).collect();
    let mut applied = Vec::new();
    for entry in entries {
        if let Some(event @ HarvestEvent::HostContacted { address, until_ms, .. }) = entry.as_unowned() {
            host_cooldowns.push((entry.site.clone(), until_ms));
            address_cooldowns.extend(address.map(|address| (address, until_ms)));
            applied.push((entry.clone(), event));
            continue;
        }
        let Some(site) = sites.get_mut(&entry.site) else { continue };
        let event = entry.clone().into_event_for(site.site);
        match &event {
            HarvestEvent::RobotsFetched { response, .. } => site.robots = Some(response.clone()),
            HarvestEvent::SiteBackedOff { until_ms, consecutive_errors, .. } => {
                site.earliest_request_ms = site.earliest_request_ms.max(*until_ms);
                site.consecutive_errors = *consecutive_errors;
            }
            _ => {}
        }
        applied.push((entry.clone(), event));
    }
    applied
}
