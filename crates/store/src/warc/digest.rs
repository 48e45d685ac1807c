//! Is it the same content? SHA-1 in base 32, as the indexes of web archives have it.
//!
//! SHA-1 finds damage and candidates for duplicates; since collisions can be made on purpose, duplicates are compared
//! byte by byte before they count as such.

use serde::{Deserialize, Serialize};
use sha1::Digest as _;
use sha1::block_api::compress;

/// A SHA-1 digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest(pub(crate) [u8; 20]);

/// What duplicates are looked up by: most of the digest, and the length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct DigestKey {
    hash: u128,
    payload_bytes: u64,
}

impl Digest {
    pub(crate) fn of(bytes: &[u8]) -> Digest {
        Digest(sha1::Sha1::digest(bytes).into())
    }

    /// The digests of a block (head and payload together) and of its payload, in one pass over the payload.
    ///
    /// SHA-1 waits for its own last step most of the time. Two of them taken in turns, 64 bytes each, fill each
    /// other's gaps: together they cost little more than one.
    pub(crate) fn of_block_and_payload(head: &[u8], payload: &[u8]) -> (Digest, Digest) {
        let mut block_state = INITIAL;
        let mut payload_state = INITIAL;
        let (head_blocks, head_rest) = head.as_chunks::<64>();
        compress(&mut block_state, head_blocks);
        // The block's first chunk that has bytes of the payload; from `shift` on it walks through the payload alone.
        let shift = (64 - head_rest.len()) % 64;
        if payload.len() < shift {
            return (Digest::of(&[head, payload].concat()), Digest::of(payload));
        }
        if shift > 0 {
            let mut bridge = [0; 64];
            bridge[..head_rest.len()].copy_from_slice(head_rest);
            bridge[head_rest.len()..].copy_from_slice(&payload[..shift]);
            compress(&mut block_state, &[bridge]);
        }
        let (of_block, block_rest) = payload[shift..].as_chunks::<64>();
        let (of_payload, payload_rest) = payload.as_chunks::<64>();
        for (block, payload) in of_block.iter().zip(of_payload) {
            compress(&mut block_state, std::slice::from_ref(block));
            compress(&mut payload_state, std::slice::from_ref(payload));
        }
        compress(&mut payload_state, &of_payload[of_block.len()..]);
        let total_bytes = (head.len() + payload.len()) as u64;
        let block = finish(block_state, block_rest, total_bytes);
        (block, finish(payload_state, payload_rest, payload.len() as u64))
    }

    /// As in WARC headers, without the name of the algorithm.
    pub(crate) fn base32(&self) -> String {
        let groups = self.0.as_chunks::<5>().0.iter();
        let letters = groups.flat_map(|five| {
            let number = five.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
            (0..8).rev().map(move |letter| ALPHABET[(number >> (5 * letter)) as usize & 31] as char)
        });
        letters.collect()
    }

    /// Whether a digest in a header claims to be one of these.
    pub(crate) fn is_sha1(text: &str) -> bool {
        let algorithm = text.trim().split(':').next().unwrap_or_default();
        algorithm.eq_ignore_ascii_case("sha1") || algorithm.eq_ignore_ascii_case("sha-1")
    }

    /// Reads `sha1:` and a digest in base 32, 16 or 64, as different writers have it: the length tells which.
    pub(crate) fn parse(text: &str) -> Option<Digest> {
        let (_, value) = text.trim().split_once(':').filter(|_| Digest::is_sha1(text))?;
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
        digest.try_into().ok().map(Digest)
    }

    pub(crate) fn key(&self, payload_bytes: u64) -> DigestKey {
        let first: [u8; 16] = std::array::from_fn(|at| self.0[at]);
        DigestKey { hash: u128::from_le_bytes(first), payload_bytes }
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "sha1:{}", self.base32())
    }
}

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// FIPS 180-4, section 5.3.1.
const INITIAL: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

/// The padding of FIPS 180-4, section 5.1.1, behind the last bytes.
fn finish(mut state: [u32; 5], rest: &[u8], total_bytes: u64) -> Digest {
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
    Digest(digest)
}

/// The value of a letter in the base of so many bits.
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
    fn digests_are_written_and_read() {
        let empty = Digest::of(b"");
        assert_eq!(empty.to_string(), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        assert_eq!(Digest::parse(&empty.to_string()), Some(empty));
        assert_eq!(Digest::parse("SHA-1:da39a3ee5e6b4b0d3255bfef95601890afd80709"), Some(empty));
        for base64 in ["sha1:2jmj7l5rSw0yVb/vlWAYkK/YBwk=", "sha1:2jmj7l5rSw0yVb_vlWAYkK_YBwk"] {
            assert_eq!(Digest::parse(base64), Some(empty));
        }
        for other in ["", "sha1", "sha1:", "sha256:abc", "sha1:!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!"] {
            assert_eq!(Digest::parse(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn both_digests_are_those_of_one_at_a_time(
            head in proptest::collection::vec(any::<u8>(), 0..200),
            payload in proptest::collection::vec(any::<u8>(), 0..400),
        ) {
            let (block, own) = Digest::of_block_and_payload(&head, &payload);
            prop_assert_eq!(own, Digest::of(&payload));
            prop_assert_eq!(block, Digest::of(&[head, payload].concat()));
        }
    }
}
