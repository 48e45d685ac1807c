//! Parameters of the format, and the index of chunks.

/// References reach back at most this number of nodes.
pub(super) const WINDOW: usize = 7;
/// Maximum length of a chain of references.
pub(super) const MAX_REF_COUNT: u32 = 3;
/// Minimum length of a run of consecutive numbers that is coded as an interval.
pub(super) const MIN_INTERVAL_LENGTH: u32 = 4;
/// Size of an entry of the `.chunks` file.
pub(super) const CHUNK_ENTRY_BYTES: usize = 28;

/// A position where decoding can start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) first_node: u32,
    pub(super) first_arc: u64,
    pub(super) first_bit: u64,
    /// XXH3 of the bytes that contain its bits; none for a graph written by another tool.
    pub(super) checksum: Option<u64>,
}

impl Chunk {
    /// Decodes the entries of a `.chunks` file.
    pub(super) fn decode_all(bytes: &[u8]) -> Vec<Chunk> {
        let number =
            |bytes: &[u8]| bytes.iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        let chunk = |bytes: &[u8; CHUNK_ENTRY_BYTES]| Chunk {
            first_node: number(&bytes[..4]) as u32,
            first_arc: number(&bytes[4..12]),
            first_bit: number(&bytes[12..20]),
            checksum: Some(number(&bytes[20..])),
        };
        bytes.as_chunks().0.iter().map(chunk).collect()
    }
}
