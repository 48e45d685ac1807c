//! What do its pages say about a site? Sums over all rows of pages, and what its server said last.

use store::{FetchRow, PageRow};

use super::words::{Word, Words};

/// Sums over the pages of one site.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SiteSums {
    pub(super) pages: i64,
    pub(super) fetched: i64,
    pub(super) failed: i64,
    pub(super) dynamic: i64,
    pub(super) bytes: i64,
    pub(super) links_internal: i64,
    pub(super) links_external: i64,
    pub(super) ages: Spread,
    pub(super) depths: Spread,
}

/// The smallest, the largest and the mean of some numbers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spread {
    count: u32,
    min: f32,
    max: f32,
    sum: f64,
}

impl Spread {
    fn add(&mut self, number: f32) {
        let is_first = self.count == 0;
        self.min = if is_first { number } else { self.min.min(number) };
        self.max = if is_first { number } else { self.max.max(number) };
        self.sum += f64::from(number);
        self.count += 1;
    }

    pub(super) fn min(&self) -> Option<f32> {
        (self.count > 0).then_some(self.min)
    }

    pub(super) fn max(&self) -> Option<f32> {
        (self.count > 0).then_some(self.max)
    }

    pub(super) fn mean(&self) -> Option<f32> {
        (self.count > 0).then(|| (self.sum / f64::from(self.count)) as f32)
    }
}

impl SiteSums {
    pub(super) fn add(&mut self, page: &PageRow<'_>) {
        self.pages += 1;
        self.fetched += i64::from(page.stage == "fetched");
        self.failed += i64::from(page.stage == "failed");
        self.dynamic += i64::from(page.dynamic);
        self.bytes += page.content_length.unwrap_or(0);
        self.links_internal += i64::from(page.links_internal.unwrap_or(0));
        self.links_external += i64::from(page.links_external.unwrap_or(0));
        self.depths.add(f32::from(page.depth));
        if let Some(age) = page.age_days {
            self.ages.add(age);
        }
    }
}

/// What the servers of all sites said last.
#[derive(Debug)]
pub(super) struct Servers {
    sites: Vec<Server>,
    words: Words,
}

#[derive(Debug, Clone, Copy)]
struct Server {
    software_time_ms: i64,
    software: Word,
    version_time_ms: i64,
    version: Word,
}

const UNKNOWN: Server = Server {
    software_time_ms: i64::MIN,
    software: Word::NONE,
    version_time_ms: i64::MIN,
    version: Word::NONE,
};

impl Servers {
    pub(super) fn new(sites: u32) -> Servers {
        Servers { sites: vec![UNKNOWN; sites as usize], words: Words::default() }
    }

    pub(super) fn note(&mut self, visit: &FetchRow<'_>) {
        let Some(server) = self.sites.get_mut(visit.site_id as usize) else { return };
        if visit.server.is_some() && visit.fetch_time >= server.software_time_ms {
            server.software_time_ms = visit.fetch_time;
            server.software = self.words.of(visit.server);
        }
        if visit.http_version.is_some() && visit.fetch_time >= server.version_time_ms {
            server.version_time_ms = visit.fetch_time;
            server.version = self.words.of(visit.http_version);
        }
    }

    /// The software that a site named last.
    pub(super) fn software(&self, site: u32) -> Option<&str> {
        self.words.get(self.sites[site as usize].software)
    }

    /// The version of HTTP that it answered with last.
    pub(super) fn http_version(&self, site: u32) -> Option<&str> {
        self.words.get(self.sites[site as usize].version)
    }
}

/// A number of each page, of which every site's median is wanted. Takes 8 bytes a page.
#[derive(Debug, Default)]
pub(super) struct SiteMedians {
    /// The site, and the bits of a number that is not negative: they are in the order of the numbers.
    numbers: Vec<(u32, u32)>,
}

impl SiteMedians {
    pub(super) fn add(&mut self, site: u32, number: f32) {
        self.numbers.push((site, number.max(0.0).to_bits()));
    }

    /// Puts all in order.
    pub(super) fn sort(&mut self) {
        self.numbers.sort_unstable();
    }

    /// The median of a site, once all are in order.
    pub(super) fn of(&self, site: u32) -> Option<f32> {
        let start = self.numbers.partition_point(|(other, _)| *other < site);
        let own = &self.numbers[start..];
        let own = &own[..own.partition_point(|(other, _)| *other == site)];
        let at = |place: usize| own.get(place).map(|(_, bits)| f64::from(f32::from_bits(*bits)));
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
        fn medians_are_those_of_the_naive_way(
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
                let wanted = (!own.is_empty()).then(|| middle((own.len() - 1) / 2, own.len() / 2));
                prop_assert_eq!(medians.of(site), wanted);
            }
        }
    }
}
