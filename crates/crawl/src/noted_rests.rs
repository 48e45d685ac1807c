//! When may a site be asked again that was asked on an errand, but is in no collection? The notes of the collection tell,
//! as a part of its commits: a crawl that goes on a second later heeds it.
//!
//! A note is called `rest`, the site, its address, and holds Unix milliseconds. It is forgotten when the rest is over.

use std::net::IpAddr;

use frontier::Waits;
use model::SiteId;
use store::{Collection, Result};

const REST: &str = "rest ";

/// What a note tells.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotedRest<'n> {
    pub(crate) name: &'n str,
    pub(crate) address: Option<IpAddr>,
    pub(crate) until_ms: u64,
}

/// Takes note of a request that ended then; a site that is known keeps its clock itself.
pub(crate) fn note(
    collection: &mut Collection,
    rest: &NotedRest<'_>,
    ended_ms: u64,
    waits: &Waits,
) -> Result<()> {
    let NotedRest { name, address, until_ms } = *rest;
    let known: Option<SiteId> = collection.urls.known().find_site(name);
    if let Some(site) = known {
        return collection.sites.update(&[site], |_, record| {
            let wait_ms = waits.site_wait_ms(record.pages_known, record.crawl_delay_ms.into(), Some(0));
            let until_ms = until_ms.max(ended_ms + wait_ms);
            record.next_request_ms = record.next_request_ms.max(until_ms);
            // Its clock stands for that of the address, which may be another by now.
            record.address = record.address.or(address);
        });
    }
    forget(collection, ended_ms);
    let address = address.map(|address| address.to_string()).unwrap_or_default();
    collection.notes.insert(format!("{REST}{name} {address}"), until_ms);
    Ok(())
}

/// All notes of rests that are not over.
pub(crate) fn all(collection: &Collection, now_ms: u64) -> impl Iterator<Item = NotedRest<'_>> {
    let notes = collection.notes.range(REST.to_owned()..).take_while(|(name, _)| name.starts_with(REST));
    notes.filter(move |(_, until_ms)| **until_ms > now_ms).filter_map(|(name, until_ms)| {
        let (name, address) = name[REST.len()..].rsplit_once(' ')?;
        Some(NotedRest { name, address: address.parse().ok(), until_ms: *until_ms })
    })
}

/// Rests that are over are not noted any more, from the next commit on.
pub(crate) fn forget(collection: &mut Collection, now_ms: u64) {
    collection.notes.retain(|name, until_ms| !name.starts_with(REST) || *until_ms > now_ms);
}
