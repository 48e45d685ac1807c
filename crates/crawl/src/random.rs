//! A number nobody can foresee, for jitter.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Any of 2^64 numbers.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
