//! SHA-1 digests in base 32, the form that web archives use.
//!
//! They detect corruption and candidates for duplicates. SHA-1 collisions can be constructed, so duplicates are
//! compared byte by byte before one is replaced by a revisit record.

use sha1::Digest as _;
use sha1::block_api::compress;

/// SHA-1 digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sha1Digest([u8; 20]);

/// Key by which duplicates are looked up: the first 128 bits of the digest, and the length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PayloadKey {
    hash: u128,
    payload_bytes: u64,
}

impl Sha1Digest {
    /// Computes the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Sha1Digest {
        Sha1Digest(sha1::Sha1::digest(bytes).into())
    }

    /// Computes the digests of a block (head and payload) and of its payload in one pass over the payload.
    ///
    /// SHA-1 is bound by the latency of its rounds, each of which depends on the one before. Interleaving two
    /// computations, 64 bytes at a time, fills the pipeline: both together cost little more than one.
    pub fn of_block_and_payload(head: &[u8], payload: &[u8]) -> (Sha1Digest, Sha1Digest) {
        let mut block_state = INITIAL;
        let mut payload_state = INITIAL;
        let (head_blocks, head_rest) = head.as_chunks::<64>();
        compress(&mut block_state, head_blocks);
        // The chunks of the two computations are not aligned if the length of the head is not a multiple of 64. One chunk
        // then has the end of the head and `shift` bytes of the payload; all later chunks of the block are in the payload.
        let shift = (64 - head_rest.len()) % 64;
        if payload.len() < shift {
            return (Sha1Digest::of(&[head, payload].concat()), Sha1Digest::of(payload));
        }
        if shift > 0 {
            let mut bridge = [0; 64];
            bridge[..head_rest.len()].copy_from_slice(head_rest);
            bridge[head_rest.len()..].copy_from_slice(&payload[..shift]);
            compress(&mut block_state, &[bridge]);
        }
        let (block_chunks, block_rest) = payload[shift..].as_chunks::<64>();
        let (payload_chunks, payload_rest) = payload.as_chunks::<64>();
        for (block, payload) in block_chunks.iter().zip(payload_chunks) {
            compress(&mut block_state, std::slice::from_ref(block));
            compress(&mut payload_state, std::slice::from_ref(payload));
        }
        compress(&mut payload_state, &payload_chunks[block_chunks.len()..]);
        let total_bytes = (head.len() + payload.len()) as u64;
        let block = finish(block_state, block_rest, total_bytes);
        (block, finish(payload_state, payload_rest, payload.len() as u64))
    }

    /// Formats the digest in base 32, without the name of the algorithm.
    pub fn base32(&self) -> String {
        let groups = self.0.as_chunks::<5>().0.iter();
        let letters = groups.flat_map(|five| {
            let number = five.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
            (0..8).rev().map(move |letter| ALPHABET[(number >> (5 * letter)) as usize & 31] as char)
        });
        letters.collect()
    }

    /// Whether a header value names SHA-1 as its algorithm.
    pub fn is_sha1(text: &str) -> bool {
        let algorithm = text.trim().split(':').next().unwrap_or_default();
        algorithm.eq_ignore_ascii_case("sha1") || algorithm.eq_ignore_ascii_case("sha-1")
    }

    /// Parses `sha1:` and a digest in base 32, 16 or 64. Writers differ; the length identifies the base.
    pub fn parse(text: &str) -> Option<Sha1Digest> {
        let (_, value) = text.trim().split_once(':').filter(|_| Sha1Digest::is_sha1(text))?;
        let value = value.trim_end_matches('=');
        let bits = match value.len() {
            40 => 4,
            32 => 5,
            27 => 6,
            _ => return None,
        };
        let mut digest = Vec::with_capacity(20);
        let (mut held, mut held_bits) = (0u32, 0);
        for letter in value.bytes() {
            held = held << bits | digit(letter, bits)?;
            held_bits += bits;
            if held_bits >= 8 {
                held_bits -= 8;
                digest.push((held >> held_bits) as u8);
                held &= (1 << held_bits) - 1;
            }
        }
        digest.try_into().ok().map(Sha1Digest)
    }

    /// Returns the key under which a payload of this digest and length is looked up.
    pub fn key(&self, payload_bytes: u64) -> PayloadKey {
        let first: [u8; 16] = std::array::from_fn(|at| self.0[at]);
        PayloadKey { hash: u128::from_le_bytes(first), payload_bytes }
    }
}

impl std::fmt::Display for Sha1Digest {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "sha1:{}", self.base32())
    }
}

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// FIPS 180-4, section 5.3.1.
const INITIAL: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

/// Applies the padding of FIPS 180-4, section 5.1.1, and returns the digest.
fn finish(mut state: [u32; 5], rest: &[u8], total_bytes: u64) -> Sha1Digest {
    let mut padded = [0; 128];
    padded[..rest.len()].copy_from_slice(rest);
    padded[rest.len()] = 0x80;
    let end = if rest.len() < 56 { 64 } else { 128 };
    padded[end - 8..end].copy_from_slice(&(total_bytes * 8).to_be_bytes());
    compress(&mut state, padded[..end].as_chunks::<64>().0);
    let mut digest = [0; 20];
    for (four, word) in digest.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *four = word.to_be_bytes();
    }
    Sha1Digest(digest)
}

/// Value of a digit in the base of 2 to the power of `bits`.
fn digit(letter: u8, bits: u32) -> Option<u32> {
    let position = |alphabet: &[u8], letter: u8| {
        alphabet.iter().position(|known| *known == letter).map(|digit| digit as u32)
    };
    match (bits, letter) {
        (4, _) => (letter as char).to_digit(16),
        (5, _) => position(ALPHABET, letter.to_ascii_uppercase()),
        (_, b'A'..=b'Z') => Some(u32::from(letter - b'A')),
        (_, b'a'..=b'z') => Some(u32::from(letter - b'a') + 26),
        (_, b'0'..=b'9') => Some(u32::from(letter - b'0') + 52),
        (_, b'+' | b'-') => Some(62),
        (_, b'/' | b'_') => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn digests_are_formatted_and_parsed_in_three_bases() {
        let empty = Sha1Digest::of(b"");
        assert_eq!(empty.to_string(), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        assert_eq!(Sha1Digest::parse(&empty.to_string()), Some(empty));
        assert_eq!(Sha1Digest::parse("SHA-1:da39a3ee5e6b4b0d3255bfef95601890afd80709"), Some(empty));
        for base64 in ["sha1:2jmj7l5rSw0yVb/vlWAYkK/YBwk=", "sha1:2jmj7l5rSw0yVb_vlWAYkK_YBwk"] {
            assert_eq!(Sha1Digest::parse(base64), Some(empty));
        }
        for other in ["", "sha1", "sha1:", "sha256:abc", "sha1:!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!"] {
            assert_eq!(Sha1Digest::parse(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn interleaved_digests_equal_separate_ones(
            head in proptest::collection::vec(any::<u8>(), 0..200),
            payload in proptest::collection::vec(any::<u8>(), 0..400),
        ) {
            let (block, of_payload) = Sha1Digest::of_block_and_payload(&head, &payload);
            prop_assert_eq!(of_payload, Sha1Digest::of(&payload));
            prop_assert_eq!(block, Sha1Digest::of(&[head, payload].concat()));
        }
    }
}
