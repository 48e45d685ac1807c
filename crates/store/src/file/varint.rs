//! Variable-length integers (LEB128): seven bits per byte, lowest first; the top bit marks continuation.

/// Maximum length of an encoded integer.
pub(crate) const MAX_BYTES: usize = 10;

/// Appends an integer.
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads an integer from the front; `None` if it is incomplete or exceeds 64 bits.
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for (index, byte) in bytes.iter().take(MAX_BYTES).enumerate() {
        let bits = u64::from(byte & 0x7f);
        if index == MAX_BYTES - 1 && bits > 1 {
            return None;
        }
        number |= bits << (7 * index);
        if byte & 0x80 == 0 {
            *bytes = &bytes[index + 1..];
            return Some(number);
        }
    }
    None
}

/// Maps a signed integer near zero to a small unsigned one.
pub(crate) fn zigzag(difference: i64) -> u64 {
    ((difference << 1) ^ (difference >> 63)) as u64
}

/// Inverse of [`zigzag`].
pub(crate) fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_encoded_and_decoded() {
        for number in [0, 1, 0x7f, 0x80, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put(&mut bytes, number);
            bytes.push(9);
            let mut rest = &bytes[..];
            assert_eq!(take(&mut rest), Some(number));
            assert_eq!(rest, [9]);
            assert_eq!(zigzag(unzigzag(number)), number);
        }
        assert_eq!([0, -1, 1, -2].map(zigzag), [0, 1, 2, 3]);
    }

    #[test]
    fn an_incomplete_or_too_long_integer_is_rejected() {
        assert_eq!(take(&mut &[0x80; 20][..]), None);
        assert_eq!(take(&mut &[0xff, 0xff][..]), None);
        assert_eq!(take(&mut &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02][..]), None);
    }
}
