//! Record of a site and its layout on disk.
//!
//! A record has 170 bytes in one column: the fields of [`SiteRecord`] in their order, little-endian and without gaps.
//! The address has 16 bytes, with IPv4 mapped into IPv6, all zero for none; `alias_of` is 0 for none, else the site's
//! id + 1; the location of the robots.txt text is the number of its file `u32`, its offset in 48 bits and its length
//! `u32`, which is 0 for none.

use std::net::{IpAddr, Ipv6Addr};

use model::SiteId;

use crate::file::fields::{FieldReader, FieldWriter};

/// Size of a record.
pub(crate) const ROW_BYTES: usize = 170;

/// State of a site. Its name is in the URL table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SiteRecord {
    /// Site of which this is an alias.
    pub alias_of: Option<SiteId>,
    /// IP address, if it was resolved.
    pub address: Option<IpAddr>,
    /// Time of the last DNS resolution, successful or not, in Unix seconds; 0 if never.
    pub resolved_s: u32,
    /// Expiry of the address in Unix seconds.
    pub address_expires_s: u32,
    /// Time of the last request of robots.txt in Unix seconds; 0 if never.
    pub robots_fetched_s: u32,
    /// HTTP status of robots.txt; 0 without a response.
    pub robots_status: u16,
    /// Crawl-delay of robots.txt; 0 if there is none.
    pub crawl_delay_ms: u32,
    /// XXH3 of robots.txt; 0 if there is none.
    pub(crate) robots_hash: u64,
    /// Location of the text of robots.txt.
    pub(crate) robots_text: Option<TextLocation>,
    /// Earliest time of the next request in Unix milliseconds.
    pub earliest_request_ms: u64,
    /// Consecutive failed requests.
    pub consecutive_errors: u16,
    /// End of the back-off in Unix milliseconds.
    pub back_off_until_ms: u64,
    /// Delay after a throttling response (429, 503); 0 if there is none.
    pub throttle_delay_ms: u32,
    /// Known pages.
    pub pages_known: u32,
    /// Pages in open batches.
    pub pages_queued: u32,
    /// Pages fetched at least once.
    pub pages_fetched: u32,
    /// Known pages with a static URL.
    pub pages_static: u32,
    /// Known pages with a dynamic URL.
    pub pages_dynamic: u32,
    /// Failed requests.
    pub failed_requests: u32,
    /// Links from pages of other sites.
    pub inlinks: u32,
    /// SiteRank, from the last analysis.
    pub site_rank: f32,
    /// Sum of the PageRank of its pages, from the last analysis.
    pub pagerank_sum: f32,
    /// Time of the discovery in Unix seconds.
    pub first_seen_s: u32,
    /// Time of the last response in Unix seconds; 0 if none.
    pub last_seen_s: u32,
    /// Time of the last request of sitemaps in Unix seconds; 0 if never.
    pub sitemaps_read_s: u32,
    /// Interval between two polls of robots.txt, by what they have yielded; 0 without an estimate.
    pub robots_interval_s: u32,
    /// Interval between two polls of sitemaps, by what they have yielded; 0 without an estimate.
    pub sitemap_interval_s: u32,
    /// Pages that sitemaps have added or reported as changed since their last poll.
    pub sitemap_yield: u32,
    /// URLs of other sites that sitemaps listed at their last poll without permission by the robots.txt of these sites.
    pub sitemap_refusals: u32,
    /// Fingerprint of the front page; 0 if unknown. Equal for aliases and mirrors.
    pub front_page_hash: u64,
    /// Sketch of the registered domains that link to the site: each sets one of 64 bits.
    pub linking_domains_sketch: u64,
    /// Bytes of bodies received, as transferred.
    pub bytes_received: u64,
}

/// Location of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextLocation {
    pub(crate) file: u32,
    pub(crate) offset: u64,
    /// Stored size; not 0.
    pub(crate) bytes: u32,
}

impl SiteRecord {
    /// Creates the record of a discovered site.
    pub fn new(first_seen_s: u32) -> SiteRecord {
        SiteRecord { first_seen_s, ..SiteRecord::decode(&[0; ROW_BYTES]) }
    }

    /// Hash of the text of robots.txt, equal for aliases; 0 without a text.
    pub fn robots_hash(&self) -> u64 {
        self.robots_hash
    }

    pub(crate) fn encode(&self) -> [u8; ROW_BYTES] {
        let mut row = [0; ROW_BYTES];
        let mut put = FieldWriter(&mut row);
        put.u32(self.alias_of.map_or(0, |site| site.0 + 1));
        put.bytes(&address_bytes(self.address));
        put.u32(self.resolved_s);
        put.u32(self.address_expires_s);
        put.u32(self.robots_fetched_s);
        put.u16(self.robots_status);
        put.u32(self.crawl_delay_ms);
        put.u64(self.robots_hash);
        let text = self.robots_text.unwrap_or(TextLocation { file: 0, offset: 0, bytes: 0 });
        put.u32(text.file);
        put.u48(text.offset);
        put.u32(text.bytes);
        put.u64(self.earliest_request_ms);
        put.u16(self.consecutive_errors);
        put.u64(self.back_off_until_ms);
        put.u32(self.throttle_delay_ms);
        for count in [self.pages_known, self.pages_queued, self.pages_fetched] {
            put.u32(count);
        }
        for count in [self.pages_static, self.pages_dynamic, self.failed_requests, self.inlinks] {
            put.u32(count);
        }
        put.f32(self.site_rank);
        put.f32(self.pagerank_sum);
        put.u32(self.first_seen_s);
        put.u32(self.last_seen_s);
        put.u32(self.sitemaps_read_s);
        for value in [self.robots_interval_s, self.sitemap_interval_s] {
            put.u32(value);
        }
        for count in [self.sitemap_yield, self.sitemap_refusals] {
            put.u32(count);
        }
        put.u64(self.front_page_hash);
        put.u64(self.linking_domains_sketch);
        put.u64(self.bytes_received);
        row
    }

    pub(crate) fn decode(row: &[u8; ROW_BYTES]) -> SiteRecord {
        let mut take = FieldReader(row);
        SiteRecord {
            alias_of: take.u32().checked_sub(1).map(SiteId),
            address: address(take.bytes()),
            resolved_s: take.u32(),
            address_expires_s: take.u32(),
            robots_fetched_s: take.u32(),
            robots_status: take.u16(),
            crawl_delay_ms: take.u32(),
            robots_hash: take.u64(),
            robots_text: Some(TextLocation { file: take.u32(), offset: take.u48(), bytes: take.u32() })
                .filter(|location| location.bytes > 0),
            earliest_request_ms: take.u64(),
            consecutive_errors: take.u16(),
            back_off_until_ms: take.u64(),
            throttle_delay_ms: take.u32(),
            pages_known: take.u32(),
            pages_queued: take.u32(),
            pages_fetched: take.u32(),
            pages_static: take.u32(),
            pages_dynamic: take.u32(),
            failed_requests: take.u32(),
            inlinks: take.u32(),
            site_rank: take.f32(),
            pagerank_sum: take.f32(),
            first_seen_s: take.u32(),
            last_seen_s: take.u32(),
            sitemaps_read_s: take.u32(),
            robots_interval_s: take.u32(),
            sitemap_interval_s: take.u32(),
            sitemap_yield: take.u32(),
            sitemap_refusals: take.u32(),
            front_page_hash: take.u64(),
            linking_domains_sketch: take.u64(),
            bytes_received: take.u64(),
        }
    }
}

fn address_bytes(address: Option<IpAddr>) -> [u8; 16] {
    match address {
        None => [0; 16],
        Some(IpAddr::V4(address)) => address.to_ipv6_mapped().octets(),
        Some(IpAddr::V6(address)) => address.octets(),
    }
}

/// Decodes an address; a mapped one is returned as IPv4.
fn address(octets: [u8; 16]) -> Option<IpAddr> {
    (octets != [0; 16]).then(|| IpAddr::V6(Ipv6Addr::from(octets)).to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_comes_back() {
        let mut record = SiteRecord {
            alias_of: Some(SiteId(0)),
            address: Some("192.0.2.7".parse().unwrap()),
            resolved_s: 3,
            address_expires_s: 4,
            robots_fetched_s: 5,
            robots_status: 6,
            crawl_delay_ms: 7,
            robots_hash: 8,
            robots_text: Some(TextLocation { file: 9, offset: 10, bytes: 11 }),
            earliest_request_ms: 12 << 40,
            consecutive_errors: 13,
            back_off_until_ms: 14 << 40,
            throttle_delay_ms: 30,
            pages_known: 15,
            pages_queued: 16,
            pages_fetched: 17,
            pages_static: 18,
            pages_dynamic: 19,
            failed_requests: 20,
            inlinks: 21,
            site_rank: 22.5,
            pagerank_sum: 23.5,
            first_seen_s: 24,
            last_seen_s: 25,
            sitemaps_read_s: 26,
            robots_interval_s: 31,
            sitemap_interval_s: 32,
            sitemap_yield: 33,
            sitemap_refusals: 34,
            front_page_hash: u64::MAX - 27,
            linking_domains_sketch: u64::MAX - 28,
            bytes_received: 29 << 40,
        };
        assert_eq!(SiteRecord::decode(&record.encode()), record);
        record.address = Some("2001:db8::1".parse().unwrap());
        assert_eq!(SiteRecord::decode(&record.encode()), record);
        let new = SiteRecord::new(9);
        assert_eq!(SiteRecord::decode(&new.encode()), new);
        assert_eq!((new.alias_of, new.address, new.robots_text), (None, None, None));
    }
}
