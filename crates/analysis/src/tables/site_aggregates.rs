//! Aggregates of sites: sums over their pages, and the software of their servers.

use store::{FetchRow, PageRow};

use crate::tables::string_pool::{StringId, StringPool};

/// Sums over the pages of one site.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SiteAggregates {
    pub(crate) pages: i64,
    pub(crate) fetched: i64,
    pub(crate) failed: i64,
    pub(crate) dynamic: i64,
    pub(crate) bytes: i64,
    pub(crate) links_internal: i64,
    pub(crate) links_external: i64,
    pub(crate) ages: MinMeanMax,
    pub(crate) depths: MinMeanMax,
}

/// Minimum, mean and maximum of numbers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MinMeanMax {
    count: u32,
    min: f32,
    max: f32,
    sum: f64,
}

impl MinMeanMax {
    fn add(&mut self, number: f32) {
        let is_first = self.count == 0;
        self.min = if is_first { number } else { self.min.min(number) };
        self.max = if is_first { number } else { self.max.max(number) };
        self.sum += f64::from(number);
        self.count += 1;
    }

    pub(crate) fn min(&self) -> Option<f32> {
        (self.count > 0).then_some(self.min)
    }

    pub(crate) fn max(&self) -> Option<f32> {
        (self.count > 0).then_some(self.max)
    }

    pub(crate) fn mean(&self) -> Option<f32> {
        (self.count > 0).then(|| (self.sum / f64::from(self.count)) as f32)
    }
}

impl SiteAggregates {
    pub(crate) fn add(&mut self, page: &PageRow<'_>) {
        self.pages += 1;
        self.fetched += i64::from(page.stage == "fetched");
        self.failed += i64::from(page.stage == "failed");
        self.dynamic += i64::from(page.is_dynamic);
        self.bytes += page.content_length.unwrap_or(0);
        self.links_internal += i64::from(page.internal_links.unwrap_or(0));
        self.links_external += i64::from(page.external_links.unwrap_or(0));
        self.depths.add(f32::from(page.depth));
        if let Some(age) = page.age_days {
            self.ages.add(age);
        }
    }
}

/// Software and HTTP version of the last response of each site.
#[derive(Debug)]
pub(crate) struct SiteServers {
    sites: Vec<ServerInfo>,
    strings: StringPool,
}

#[derive(Debug, Clone, Copy)]
struct ServerInfo {
    software_time_ms: i64,
    software: StringId,
    version_time_ms: i64,
    version: StringId,
}

const UNKNOWN: ServerInfo = ServerInfo {
    software_time_ms: i64::MIN,
    software: StringId::NONE,
    version_time_ms: i64::MIN,
    version: StringId::NONE,
};

impl SiteServers {
    pub(crate) fn new(sites: u32) -> SiteServers {
        SiteServers { sites: vec![UNKNOWN; sites as usize], strings: StringPool::default() }
    }

    pub(crate) fn record(&mut self, fetch: &FetchRow<'_>) {
        let Some(server) = self.sites.get_mut(fetch.site_id as usize) else { return };
        if fetch.server.is_some() && fetch.fetch_time >= server.software_time_ms {
            server.software_time_ms = fetch.fetch_time;
            server.software = self.strings.intern(fetch.server);
        }
        if fetch.http_version.is_some() && fetch.fetch_time >= server.version_time_ms {
            server.version_time_ms = fetch.fetch_time;
            server.version = self.strings.intern(fetch.http_version);
        }
    }

    /// Software in the last `Server` header of a site.
    pub(crate) fn software(&self, site: u32) -> Option<&str> {
        self.strings.get(self.sites[site as usize].software)
    }

    /// HTTP version of the last response of a site.
    pub(crate) fn http_version(&self, site: u32) -> Option<&str> {
        self.strings.get(self.sites[site as usize].version)
    }
}

/// Median of one number over the pages of each site. Takes 8 bytes per page.
#[derive(Debug, Default)]
pub(crate) struct SiteMedians {
    /// The site, and the bits of a non-negative number: they sort like the numbers.
    numbers: Vec<(u32, u32)>,
}

impl SiteMedians {
    pub(crate) fn add(&mut self, site: u32, number: f32) {
        self.numbers.push((site, number.max(0.0).to_bits()));
    }

    /// Sorts the numbers; required before [`SiteMedians::get`].
    pub(crate) fn sort(&mut self) {
        self.numbers.sort_unstable();
    }

    /// Median of a site.
    pub(crate) fn get(&self, site: u32) -> Option<f32> {
        let start = self.numbers.partition_point(|(other, _)| *other < site);
        let own = &self.numbers[start..];
        let own = &own[..own.partition_point(|(other, _)| *other == site)];
        let at = |index: usize| own.get(index).map(|(_, bits)| f64::from(f32::from_bits(*bits)));
        let upper = at(own.len() / 2)?;
        let lower = at((own.len() - 1) / 2)?;
        Some(((lower + upper) / 2.0) as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn medians_equal_those_computed_directly(
            numbers in prop::collection::vec((0u32..5, 0f32..1e6), 0..60),
        ) {
            let mut medians = SiteMedians::default();
            numbers.iter().for_each(|(site, number)| medians.add(*site, *number));
            medians.sort();
            for site in 0..6 {
                let mut own: Vec<f32> =
                    numbers.iter().filter(|(other, _)| *other == site).map(|(_, number)| *number).collect();
                own.sort_by(f32::total_cmp);
                let middle = |a: usize, b: usize| ((f64::from(own[a]) + f64::from(own[b])) / 2.0) as f32;
                let expected = (!own.is_empty()).then(|| middle((own.len() - 1) / 2, own.len() / 2));
                prop_assert_eq!(medians.get(site), expected);
            }
        }
    }
}
