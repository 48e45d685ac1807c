//! Random numbers for jitter.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Random 64-bit number, from the random keys of the standard hasher; not for cryptography.
pub fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
