//! How does the text of some URLs become one block? Sites, then lengths, then the paths one behind the other: like
//! stands by like, and zstd finds what repeats.

use model::SiteId;

use crate::varint;

/// So many pages share a block: four times as many would be 2 % smaller, and take three times as long to read.
pub(super) const PAGES_PER_BLOCK: usize = 256;

/// No block is longer: no URL is longer than a u16 can count, and no number longer than five bytes.
pub(super) const MAX_BLOCK_BYTES: usize = PAGES_PER_BLOCK * ((1 << 16) + 10) + 5;

/// The URLs of up to [`PAGES_PER_BLOCK`] pages in the order of their ids.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct TextBlock {
    sites: Vec<SiteId>,
    paths: String,
    /// Where each path, with its query, ends.
    ends: Vec<u32>,
}

impl TextBlock {
    pub(super) fn len(&self) -> usize {
        self.sites.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() == PAGES_PER_BLOCK
    }

    pub(super) fn clear(&mut self) {
        self.sites.clear();
        self.paths.clear();
        self.ends.clear();
    }

    pub(super) fn push(&mut self, site: SiteId, path: &str) {
        self.sites.push(site);
        self.paths.push_str(path);
        self.ends.push(self.paths.len() as u32);
    }

    /// Site and path of the page at this place.
    pub(super) fn get(&self, place: usize) -> Option<(SiteId, &str)> {
        let start = if place == 0 { 0 } else { *self.ends.get(place - 1)? as usize };
        Some((*self.sites.get(place)?, &self.paths[start..*self.ends.get(place)? as usize]))
    }

    /// Replaces the content of `out` by the block's bytes.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        varint::put(out, self.len() as u64);
        let mut last = 0;
        for site in &self.sites {
            // Neighbours are often of one site, or of sites that became known together.
            varint::put(out, varint::zigzag(i64::from(site.0) - last));
            last = i64::from(site.0);
        }
        let mut last = 0;
        for end in &self.ends {
            varint::put(out, u64::from(end - last));
            last = *end;
        }
        out.extend_from_slice(self.paths.as_bytes());
    }

    /// What was encoded; `None` if `bytes` are anything else.
    pub(super) fn decode(mut bytes: &[u8]) -> Option<TextBlock> {
        let count = usize::try_from(varint::take(&mut bytes)?).ok()?;
        if count > PAGES_PER_BLOCK {
            return None;
        }
        let mut sites = Vec::with_capacity(count);
        let mut last = 0_i64;
        for _ in 0..count {
            last = last.checked_add(varint::unzigzag(varint::take(&mut bytes)?))?;
            sites.push(SiteId(u32::try_from(last).ok()?));
        }
        let mut ends = Vec::with_capacity(count);
        let mut end = 0_u32;
        for _ in 0..count {
            end = end.checked_add(u32::try_from(varint::take(&mut bytes)?).ok()?)?;
            ends.push(end);
        }
        // Canonical URLs are ASCII: every end is the end of a character.
        let paths = str::from_utf8(bytes).ok().filter(|paths| paths.is_ascii())?.to_owned();
        (paths.len() == end as usize).then_some(TextBlock { sites, paths, ends })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_block_comes_back(pages in prop::collection::vec((any::<u32>(), "/[a-z/?=]{0,40}"), 0..256)) {
            let mut block = TextBlock::default();
            for (site, path) in &pages {
                block.push(SiteId(*site), path);
            }
            let mut bytes = Vec::new();
            block.encode(&mut bytes);
            let decoded = TextBlock::decode(&bytes).unwrap();
            prop_assert_eq!(&decoded, &block);
            for (place, (site, path)) in pages.iter().enumerate() {
                prop_assert_eq!(decoded.get(place), Some((SiteId(*site), path.as_str())));
            }
            prop_assert_eq!(decoded.get(pages.len()), None);
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some(block) = TextBlock::decode(&bytes) {
                prop_assert!((0..block.len()).all(|place| block.get(place).is_some()));
            }
        }
    }

    #[test]
    fn the_longest_block_is_within_its_limit() {
        let mut block = TextBlock::default();
        let longest = "/".repeat(usize::from(u16::MAX));
        while !block.is_full() {
            block.push(SiteId(if block.len() % 2 == 0 { u32::MAX / 2 } else { 0 }), &longest);
        }
        let mut bytes = Vec::new();
        block.encode(&mut bytes);
        assert!(bytes.len() <= MAX_BLOCK_BYTES);
        assert_eq!(TextBlock::decode(&bytes).unwrap(), block);
    }
}
