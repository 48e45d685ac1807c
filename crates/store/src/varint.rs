//! How are small numbers kept small? Seven bits a byte, the lowest first; the top bit says that more follow.

/// No number takes more.
pub(crate) const MAX_BYTES: usize = 10;

/// Appends a number.
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number off the front; `None` if there is none, or none of 64 bits.
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

/// A difference, near zero on either side, as a small number.
pub(crate) fn zigzag(difference: i64) -> u64 {
    ((difference << 1) ^ (difference >> 63)) as u64
}

/// What [`zigzag`] was given.
pub(crate) fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
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
    fn a_number_without_end_is_none() {
        assert_eq!(take(&mut &[0x80; 20][..]), None);
        assert_eq!(take(&mut &[0xff, 0xff][..]), None);
        assert_eq!(take(&mut &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02][..]), None);
    }
}
