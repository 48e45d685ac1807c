//! Bit codes of the WebGraph format: most significant bit first; unary, γ and ζ (Boldi and Vigna, "Codes for the World
//! Wide Web", 2005).
//!
//! A reader never panics and always terminates: it reads zeros after the last bit, and remembers that it did.

/// Parameter k of the ζ code for residuals; 3 suits Web graphs.
pub(crate) const ZETA_K: u32 = 3;

/// Writer of bit codes into a buffer in memory.
#[derive(Debug, Default)]
pub(crate) struct BitWriter {
    bytes: Vec<u8>,
    /// Bits that do not fill a word yet, at the top.
    word: u64,
    /// Number of those bits, less than 64.
    filled: u32,
}

impl BitWriter {
    /// Appends the low `width` bits of a number, at most 64.
    pub(crate) fn write_bits(&mut self, value: u64, width: u32) {
        if width == 0 {
            return;
        }
        let value = value << (64 - width);
        self.word |= value >> self.filled;
        let filled = self.filled + width;
        if filled < 64 {
            self.filled = filled;
            return;
        }
        self.bytes.extend_from_slice(&self.word.to_be_bytes());
        let rest = filled - 64;
        self.word = if rest == 0 { 0 } else { value << (width - rest) };
        self.filled = rest;
    }

    /// Appends `number` zeros and a one.
    pub(crate) fn unary(&mut self, mut number: u64) {
        while number >= 63 {
            self.write_bits(0, 63);
            number -= 63;
        }
        self.write_bits(1, number as u32 + 1);
    }

    pub(crate) fn gamma(&mut self, number: u64) {
        let high = (number + 1).ilog2();
        self.unary(u64::from(high));
        self.write_bits(number + 1, high);
    }

    pub(crate) fn zeta(&mut self, number: u64) {
        let number = number + 1;
        let steps = number.ilog2() / ZETA_K;
        self.unary(u64::from(steps));
        let left = 1u64 << (steps * ZETA_K);
        if number - left < left {
            self.write_bits(number - left, steps * ZETA_K + ZETA_K - 1);
        } else {
            self.write_bits(number, steps * ZETA_K + ZETA_K);
        }
    }

    /// Appends the bits of another writer.
    pub(crate) fn append(&mut self, bits: &Bits) {
        let mut left = bits.length;
        for chunk in bits.bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let width = left.min(64) as u32;
            if width > 0 {
                self.write_bits(u64::from_be_bytes(word) >> (64 - width), width);
            }
            left -= u64::from(width);
        }
    }

    /// Number of bits that were written and not taken.
    pub(crate) fn length(&self) -> u64 {
        self.bytes.len() as u64 * 8 + u64::from(self.filled)
    }

    /// Removes and returns the complete bytes.
    pub(crate) fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Returns all bits, the last byte padded with zeros.
    pub(crate) fn finish(mut self) -> Bits {
        let length = self.length();
        let rest = self.word.to_be_bytes();
        self.bytes.extend_from_slice(&rest[..self.filled.div_ceil(8) as usize]);
        Bits { bytes: self.bytes, length }
    }
}

/// A finished sequence of bits.
#[derive(Debug)]
pub(crate) struct Bits {
    pub(crate) bytes: Vec<u8>,
    pub(crate) length: u64,
}

/// Length of the γ code of a number.
pub(crate) fn gamma_bits(number: u64) -> u64 {
    2 * u64::from((number + 1).ilog2()) + 1
}

/// Length of the ζ code of a number.
pub(crate) fn zeta_bits(number: u64) -> u64 {
    let number = number + 1;
    let steps = number.ilog2() / ZETA_K;
    let left = 1u64 << (steps * ZETA_K);
    u64::from(steps + 1 + steps * ZETA_K + ZETA_K - u32::from(number - left < left))
}

/// Maps an integer to a natural number: 0, -1, 1, -2 ... become 0, 1, 2, 3 ...
pub(crate) fn int_to_nat(integer: i64) -> u64 {
    if integer >= 0 { 2 * integer as u64 } else { (-2 * integer - 1) as u64 }
}

/// Inverse of [`int_to_nat`].
pub(crate) fn nat_to_int(natural: u64) -> i64 {
    if natural.is_multiple_of(2) { (natural / 2) as i64 } else { -((natural / 2) as i64) - 1 }
}

/// Reads codes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BitReader<'b> {
    bytes: &'b [u8],
    /// Index of the next bit.
    position: u64,
}

/// Number of bits that [`BitReader::peek`] returns at any position: a word minus the bits of a started byte.
const PEEK_BITS: u32 = 57;

impl<'b> BitReader<'b> {
    pub(crate) fn new(bytes: &'b [u8], position: u64) -> BitReader<'b> {
        BitReader { bytes, position }
    }

    /// Reports whether bits after the end were read.
    pub(crate) fn is_past_end(&self) -> bool {
        self.position > self.bytes.len() as u64 * 8
    }

    #[inline]
    fn peek(&self) -> u64 {
        let byte = (self.position / 8) as usize;
        let word = match self.bytes.get(byte..).and_then(<[u8]>::first_chunk::<8>) {
            Some(chunk) => u64::from_be_bytes(*chunk),
            None => self.peek_at_end(byte),
        };
        word << (self.position % 8)
    }

    #[cold]
    fn peek_at_end(&self, byte: usize) -> u64 {
        let mut chunk = [0; 8];
        let rest = self.bytes.get(byte..).unwrap_or_default();
        chunk[..rest.len()].copy_from_slice(rest);
        u64::from_be_bytes(chunk)
    }

    /// Reads the next bits, at most 57.
    #[inline]
    fn read_bits(&mut self, width: u32) -> u64 {
        let word = self.peek();
        self.position += u64::from(width);
        if width == 0 { 0 } else { word >> (64 - width) }
    }

    /// Reads more bits than [`BitReader::read_bits`] can return at once.
    fn read_wide(&mut self, width: u32) -> u64 {
        let low = width.min(32);
        let high = self.read_bits(width - low);
        high << low | self.read_bits(low)
    }

    #[inline]
    pub(crate) fn unary(&mut self) -> u64 {
        let zeros = self.peek().leading_zeros();
        if zeros < PEEK_BITS {
            self.position += u64::from(zeros + 1);
            return u64::from(zeros);
        }
        self.long_unary()
    }

    #[cold]
    fn long_unary(&mut self) -> u64 {
        let start = self.position;
        loop {
            let zeros = self.peek().leading_zeros().min(PEEK_BITS);
            self.position += u64::from(zeros);
            if zeros < PEEK_BITS || self.is_past_end() {
                break;
            }
        }
        self.position += 1;
        self.position - 1 - start
    }

    #[inline]
    pub(crate) fn gamma(&mut self) -> u64 {
        let word = self.peek();
        let zeros = word.leading_zeros();
        let width = 2 * zeros + 1;
        if width <= PEEK_BITS {
            self.position += u64::from(width);
            return (word >> (64 - width)) - 1;
        }
        // No writer produces a longer code; a longer one is corruption, and is detected by its size.
        let high = self.unary().min(62) as u32;
        (1 << high | self.read_wide(high)) - 1
    }

    #[inline]
    pub(crate) fn zeta(&mut self) -> u64 {
        let steps = self.unary().min(20) as u32;
        let left = 1u64 << (steps * ZETA_K);
        let number = self.read_wide(steps * ZETA_K + ZETA_K - 1);
        if number < left { number + left - 1 } else { (number << 1 | self.read_bits(1)) - 1 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number() -> impl Strategy<Value = u64> {
        (0u32..40, any::<u64>()).prop_map(|(width, noise)| noise & ((1 << width) - 1))
    }

    proptest! {
        #[test]
        fn codes_are_read_back_and_have_the_predicted_length(numbers in prop::collection::vec((0..4u8, number()), 0..200)) {
            let mut writer = BitWriter::default();
            let mut lengths = 0;
            for (code, number) in &numbers {
                match code {
                    0 => { writer.unary(number % 300); lengths += number % 300 + 1; }
                    1 => { writer.gamma(*number); lengths += gamma_bits(*number); }
                    2 => { writer.zeta(*number); lengths += zeta_bits(*number); }
                    _ => { writer.write_bits(*number, 40); lengths += 40; }
                }
            }
            prop_assert_eq!(writer.length(), lengths);
            let mut twice = BitWriter::default();
            twice.write_bits(1, 3);
            let bits = writer.finish();
            twice.append(&bits);
            let twice = twice.finish();
            for (bytes, start) in [(&bits.bytes, 0), (&twice.bytes, 3)] {
                let mut reader = BitReader::new(bytes, start);
                for (code, number) in &numbers {
                    match code {
                        0 => prop_assert_eq!(reader.unary(), number % 300),
                        1 => prop_assert_eq!(reader.gamma(), *number),
                        2 => prop_assert_eq!(reader.zeta(), *number),
                        _ => prop_assert_eq!(reader.read_bits(40), *number),
                    }
                }
                prop_assert!(!reader.is_past_end());
            }
        }

        #[test]
        fn reading_any_bytes_terminates(bytes in prop::collection::vec(any::<u8>(), 0..50), zeros in 0..100usize) {
            let bytes = [bytes, vec![0; zeros]].concat();
            let mut reader = BitReader::new(&bytes, 0);
            while !reader.is_past_end() {
                let _ = (reader.unary(), reader.gamma(), reader.zeta());
            }
        }
    }

    #[test]
    fn integers_are_mapped_to_natural_numbers_and_back() {
        for number in [0, 1, -1, 5, -5, i64::from(u32::MAX), -i64::from(u32::MAX)] {
            assert_eq!(nat_to_int(int_to_nat(number)), number);
        }
        assert_eq!([0, -1, 1, -2].map(int_to_nat), [0, 1, 2, 3]);
    }
}
