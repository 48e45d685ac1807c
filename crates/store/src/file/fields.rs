//! Encoding of fixed-size records: fields in order, little-endian, without padding.
//!
//! Reading must use the same order of calls as writing; a record type has one function for each, side by side.

/// Writer of fields into a record of fixed size.
pub(crate) struct FieldWriter<'a>(pub(crate) &'a mut [u8]);

impl FieldWriter<'_> {
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let (field, rest) = std::mem::take(&mut self.0).split_at_mut(bytes.len());
        field.copy_from_slice(bytes);
        self.0 = rest;
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    /// Writes the low six bytes of a value below 2^48.
    pub(crate) fn u48(&mut self, value: u64) {
        debug_assert!(value < 1 << 48);
        self.bytes(&value.to_le_bytes()[..6]);
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    pub(crate) fn f32(&mut self, value: f32) {
        self.bytes(&value.to_le_bytes());
    }
}

/// Reader of fields from a record that is long enough.
pub(crate) struct FieldReader<'a>(pub(crate) &'a [u8]);

impl FieldReader<'_> {
    pub(crate) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut value = [0; N];
        let (field, rest) = self.0.split_at(N);
        value.copy_from_slice(field);
        self.0 = rest;
        value
    }

    pub(crate) fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.bytes())
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.bytes())
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    pub(crate) fn u48(&mut self) -> u64 {
        let [a, b, c, d, e, f] = self.bytes();
        u64::from_le_bytes([a, b, c, d, e, f, 0, 0])
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    pub(crate) fn f32(&mut self) -> f32 {
        f32::from_le_bytes(self.bytes())
    }
}
