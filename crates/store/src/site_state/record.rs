//! What is known about one site, and how it lies in its record.
//!
//! A record has 154 bytes in one column: the fields of [`SiteRecord`] in their order, little-endian and without gaps.
//! The address takes 16 bytes, an IPv4 one mapped into IPv6, all zero for none; `alias_of` is 0 for none, else the site's
//! id + 1; the place of the robots text is its file's number `u32`, its offset in 48 bits and its length there `u32`, which
//! is 0 for none.

use std::net::{IpAddr, Ipv6Addr};

use model::SiteId;

use crate::fields::{PutFields, TakeFields};

/// A record's size.
pub(super) const ROW_BYTES: usize = 154;

/// Everything of fixed size that is known about a site. Its name is in the URL table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SiteRecord {
    /// The site that this one is only another name of.
    pub alias_of: Option<SiteId>,
    /// Its address, if it was resolved.
    pub address: Option<IpAddr>,
    /// When it was resolved, or could not be, in Unix seconds; 0 if never.
    pub resolved_s: u32,
    /// When it has to be resolved again, in Unix seconds.
    pub resolve_again_s: u32,
    /// When its robots.txt was last asked for, in Unix seconds; 0 if never.
    pub robots_fetched_s: u32,
    /// The HTTP status of the answer; 0 if there was none.
    pub robots_status: u16,
    /// The wait that robots.txt asks for; 0 if it does not.
    pub crawl_delay_ms: u32,
    /// XXH3 of the text of robots.txt; 0 without one.
    pub(super) robots_hash: u64,
    /// Where that text is.
    pub(super) robots_text: Option<Place>,
    /// No request may be sent before this time, in Unix milliseconds.
    pub next_request_ms: u64,
    /// Requests in a row that failed.
    pub errors_in_a_row: u16,
    /// Because of them, the site is left alone until this time, in Unix milliseconds.
    pub back_off_until_ms: u64,
    /// The wait that it asked for by answering that we come too often; 0 if it does not.
    pub asked_wait_ms: u32,
    /// Pages of which the URL is known.
    pub pages_known: u32,
    /// Of those, in a batch that is not finished.
    pub pages_queued: u32,
    /// Of those, fetched at least once.
    pub pages_fetched: u32,
    /// Of those that are known, static ones.
    pub pages_static: u32,
    /// Of those that are known, dynamic ones.
    pub pages_dynamic: u32,
    /// Requests that failed.
    pub errors: u32,
    /// Links from pages of other sites.
    pub in_links: u32,
    /// SiteRank, from the last analysis.
    pub site_rank: f32,
    /// Sum of its pages' PageRank, from the last analysis.
    pub page_rank_sum: f32,
    /// When its name was first met, in Unix seconds.
    pub first_seen_s: u32,
    /// When it last answered, in Unix seconds; 0 if never.
    pub last_seen_s: u32,
    /// When its sitemaps were last asked for, in Unix seconds; 0 if never.
    pub sitemaps_read_s: u32,
    /// Hash of the body of its front page; 0 as long as nothing is known. Aliases and mirrors have it in common.
    pub front_hash: u64,
    /// A sketch of the registered domains that link to it: each sets one of 64 bits.
    pub linking_domains: u64,
    /// Bytes of bodies that it sent, as transferred.
    pub bytes: u64,
}

/// Where a text lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: u32,
    pub(super) offset: u64,
    /// As stored; not 0.
    pub(super) bytes: u32,
}

impl SiteRecord {
    /// A site whose name was just met.
    pub fn new(first_seen_s: u32) -> SiteRecord {
        SiteRecord { first_seen_s, ..SiteRecord::decode(&[0; ROW_BYTES]) }
    }

    /// A number that is the same for the same text of robots.txt: aliases of a site have it in common. 0 without a text.
    pub fn robots_hash(&self) -> u64 {
        self.robots_hash
    }

    pub(super) fn encode(&self) -> [u8; ROW_BYTES] {
        let mut row = [0; ROW_BYTES];
        let mut put = PutFields(&mut row);
        put.u32(self.alias_of.map_or(0, |site| site.0 + 1));
        put.bytes(&address_bytes(self.address));
        put.u32(self.resolved_s);
        put.u32(self.resolve_again_s);
        put.u32(self.robots_fetched_s);
        put.u16(self.robots_status);
        put.u32(self.crawl_delay_ms);
        put.u64(self.robots_hash);
        let text = self.robots_text.unwrap_or(Place { file: 0, offset: 0, bytes: 0 });
        put.u32(text.file);
        put.u48(text.offset);
        put.u32(text.bytes);
        put.u64(self.next_request_ms);
        put.u16(self.errors_in_a_row);
        put.u64(self.back_off_until_ms);
        put.u32(self.asked_wait_ms);
        for count in [self.pages_known, self.pages_queued, self.pages_fetched] {
            put.u32(count);
        }
        for count in [self.pages_static, self.pages_dynamic, self.errors, self.in_links] {
            put.u32(count);
        }
        put.f32(self.site_rank);
        put.f32(self.page_rank_sum);
        put.u32(self.first_seen_s);
        put.u32(self.last_seen_s);
        put.u32(self.sitemaps_read_s);
        put.u64(self.front_hash);
        put.u64(self.linking_domains);
        put.u64(self.bytes);
        row
    }

    pub(super) fn decode(row: &[u8; ROW_BYTES]) -> SiteRecord {
        let mut take = TakeFields(row);
        SiteRecord {
            alias_of: take.u32().checked_sub(1).map(SiteId),
            address: address(take.bytes()),
            resolved_s: take.u32(),
            resolve_again_s: take.u32(),
            robots_fetched_s: take.u32(),
            robots_status: take.u16(),
            crawl_delay_ms: take.u32(),
            robots_hash: take.u64(),
            robots_text: Some(Place { file: take.u32(), offset: take.u48(), bytes: take.u32() })
                .filter(|place| place.bytes > 0),
            next_request_ms: take.u64(),
            errors_in_a_row: take.u16(),
            back_off_until_ms: take.u64(),
            asked_wait_ms: take.u32(),
            pages_known: take.u32(),
            pages_queued: take.u32(),
            pages_fetched: take.u32(),
            pages_static: take.u32(),
            pages_dynamic: take.u32(),
            errors: take.u32(),
            in_links: take.u32(),
            site_rank: take.f32(),
            page_rank_sum: take.f32(),
            first_seen_s: take.u32(),
            last_seen_s: take.u32(),
            sitemaps_read_s: take.u32(),
            front_hash: take.u64(),
            linking_domains: take.u64(),
            bytes: take.u64(),
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

/// A mapped address comes back as what it is reached by: an IPv4 one.
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
            resolve_again_s: 4,
            robots_fetched_s: 5,
            robots_status: 6,
            crawl_delay_ms: 7,
            robots_hash: 8,
            robots_text: Some(Place { file: 9, offset: 10, bytes: 11 }),
            next_request_ms: 12 << 40,
            errors_in_a_row: 13,
            back_off_until_ms: 14 << 40,
            asked_wait_ms: 30,
            pages_known: 15,
            pages_queued: 16,
            pages_fetched: 17,
            pages_static: 18,
            pages_dynamic: 19,
            errors: 20,
            in_links: 21,
            site_rank: 22.5,
            page_rank_sum: 23.5,
            first_seen_s: 24,
            last_seen_s: 25,
            sitemaps_read_s: 26,
            front_hash: u64::MAX - 27,
            linking_domains: u64::MAX - 28,
            bytes: 29 << 40,
        };
        assert_eq!(SiteRecord::decode(&record.encode()), record);
        record.address = Some("2001:db8::1".parse().unwrap());
        assert_eq!(SiteRecord::decode(&record.encode()), record);
        let new = SiteRecord::new(9);
        assert_eq!(SiteRecord::decode(&new.encode()), new);
        assert_eq!((new.alias_of, new.address, new.robots_text), (None, None, None));
    }
}
