//! How does a record of plain fields become bytes? Field after field, little-endian, without gaps.
//!
//! Writing and reading go through the same order of calls; a record type has one function for each, side by side.

/// Writes fields into a record of fixed size.
pub(crate) struct PutFields<'a>(pub(crate) &'a mut [u8]);

impl PutFields<'_> {
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let (now, later) = std::mem::take(&mut self.0).split_at_mut(bytes.len());
        now.copy_from_slice(bytes);
        self.0 = later;
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    /// The low six bytes of a number that has no more.
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

/// Reads fields from a record that is long enough.
pub(crate) struct TakeFields<'a>(pub(crate) &'a [u8]);

impl TakeFields<'_> {
    pub(crate) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut value = [0; N];
        let (now, later) = self.0.split_at(N);
        value.copy_from_slice(now);
        self.0 = later;
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
