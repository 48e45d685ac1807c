//! Block of URL texts: site ids, then lengths, then paths. Similar data is adjacent, so that zstd compresses it well.

use model::SiteId;

use crate::file::varint;

/// Number of pages per block. Four times as many would save 2 %, and take three times as long to read.
pub(super) const PAGES_PER_BLOCK: usize = 256;

/// Maximum size of a block: the length of a URL fits into a u16, and an integer takes at most five bytes.
pub(super) const MAX_BLOCK_BYTES: usize = PAGES_PER_BLOCK * ((1 << 16) + 10) + 5;

/// URLs of up to [`PAGES_PER_BLOCK`] pages in the order of their ids.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct TextBlock {
    sites: Vec<SiteId>,
    paths: String,
    /// End of each path with its query.
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

    /// Site and path of the page at an index.
    pub(super) fn get(&self, index: usize) -> Option<(SiteId, &str)> {
        let start = if index == 0 { 0 } else { *self.ends.get(index - 1)? as usize };
        Some((*self.sites.get(index)?, &self.paths[start..*self.ends.get(index)? as usize]))
    }

    /// Replaces the content of `out` by the encoded block.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        varint::put(out, self.len() as u64);
        let mut last = 0;
        for site in &self.sites {
            // Adjacent pages often belong to one site, or to sites discovered together.
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

    /// Decodes a block; `None` if it is invalid.
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
        // Canonical URLs are ASCII, so every end is a character boundary.
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
        fn any_block_is_encoded_and_decoded(pages in prop::collection::vec((any::<u32>(), "/[a-z/?=]{0,40}"), 0..256)) {
            let mut block = TextBlock::default();
            for (site, path) in &pages {
                block.push(SiteId(*site), path);
            }
            let mut bytes = Vec::new();
            block.encode(&mut bytes);
            let decoded = TextBlock::decode(&bytes).unwrap();
            prop_assert_eq!(&decoded, &block);
            for (index, (site, path)) in pages.iter().enumerate() {
                prop_assert_eq!(decoded.get(index), Some((SiteId(*site), path.as_str())));
            }
            prop_assert_eq!(decoded.get(pages.len()), None);
        }

        #[test]
        fn arbitrary_bytes_are_decoded_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some(block) = TextBlock::decode(&bytes) {
                prop_assert!((0..block.len()).all(|index| block.get(index).is_some()));
            }
        }
    }

    #[test]
    fn the_largest_block_is_within_its_limit() {
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
