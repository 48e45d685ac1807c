//! Decoder of successor lists, sequential from the start of a chunk.
//!
//! Corrupt bits give an error, never a panic, and never more successors than the graph has nodes.

use super::format::{MIN_INTERVAL_LENGTH, WINDOW};
use crate::graph::bit_codes::{BitReader, nat_to_int};

/// Decodes consecutive nodes, from the first node of a chunk.
pub(crate) struct Decoder<'g> {
    node: u32,
    /// Number of nodes of the graph.
    nodes: u32,
    bits: BitReader<'g>,
    /// The last lists, by node modulo their number.
    recent: [Vec<u32>; WINDOW + 1],
    copied: Vec<u32>,
    extras: Vec<u32>,
    intervals: Vec<(u32, u32)>,
}

/// The bits are not a valid successor list.
#[derive(Debug)]
pub(crate) struct InvalidList;

impl<'g> Decoder<'g> {
    pub(crate) fn new(first: u32, nodes: u32, bits: BitReader<'g>) -> Decoder<'g> {
        Decoder {
            node: first,
            nodes,
            bits,
            recent: Default::default(),
            copied: Vec::new(),
            extras: Vec::new(),
            intervals: Vec::new(),
        }
    }

    /// Decodes the successors of the next node, ascending.
    pub(crate) fn next(&mut self) -> Result<&[u32], InvalidList> {
        let slot = self.node as usize % (WINDOW + 1);
        let mut successors = std::mem::take(&mut self.recent[slot]);
        successors.clear();
        let degree = self.bits.gamma();
        if degree > u64::from(self.nodes) {
            return Err(InvalidList);
        }
        if degree > 0 {
            self.decode(degree as usize, &mut successors)?;
        }
        if self.bits.is_past_end() {
            return Err(InvalidList);
        }
        self.node += 1;
        self.recent[slot] = successors;
        Ok(&self.recent[slot])
    }

    fn decode(&mut self, degree: usize, successors: &mut Vec<u32>) -> Result<(), InvalidList> {
        self.copied.clear();
        let reference = self.bits.unary();
        if reference > 0 {
            if reference > WINDOW as u64 || reference > u64::from(self.node) {
                return Err(InvalidList);
            }
            self.copy((self.node - reference as u32) as usize % (WINDOW + 1))?;
        }
        let extras = degree.checked_sub(self.copied.len()).ok_or(InvalidList)?;
        if extras == 0 {
            successors.extend_from_slice(&self.copied);
            return Ok(());
        }
        self.read_extras(extras)?;
        merge(&self.copied, &self.extras, successors);
        Ok(())
    }

    /// Copies the blocks of the referenced list.
    fn copy(&mut self, slot: usize) -> Result<(), InvalidList> {
        let mut rest = &self.recent[slot][..];
        let blocks = self.bits.gamma();
        if blocks > rest.len() as u64 + 1 {
            return Err(InvalidList);
        }
        for index in 0..blocks {
            let length = self.bits.gamma() + u64::from(index > 0);
            let length = usize::try_from(length).map_err(|_| InvalidList)?;
            let (block, behind) = rest.split_at_checked(length).ok_or(InvalidList)?;
            if index.is_multiple_of(2) {
                self.copied.extend_from_slice(block);
            }
            rest = behind;
        }
        if blocks.is_multiple_of(2) {
            self.copied.extend_from_slice(rest);
        }
        Ok(())
    }

    /// Reads the `count` successors that are not copied: intervals, then residuals.
    fn read_extras(&mut self, count: usize) -> Result<(), InvalidList> {
        self.intervals.clear();
        self.extras.clear();
        let mut residuals = count;
        let mut end: Option<u32> = None;
        let intervals = self.bits.gamma();
        if intervals > count as u64 / u64::from(MIN_INTERVAL_LENGTH) {
            return Err(InvalidList);
        }
        for _ in 0..intervals {
            let code = self.bits.gamma();
            let left = match end {
                None => first_value(self.node, self.nodes, code)?,
                Some(end) => next_value(end, self.nodes, code)?,
            };
            let length = self.bits.gamma() + u64::from(MIN_INTERVAL_LENGTH);
            residuals = residuals
                .checked_sub(usize::try_from(length).map_err(|_| InvalidList)?)
                .ok_or(InvalidList)?;
            if u64::from(left) + length > u64::from(self.nodes) {
                return Err(InvalidList);
            }
            self.intervals.push((left, length as u32));
            end = Some(left + length as u32);
        }
        let mut intervals = self.intervals.iter().copied().peekable();
        let mut last: Option<u32> = None;
        for _ in 0..residuals {
            let code = self.bits.zeta();
            let residual = match last {
                None => first_value(self.node, self.nodes, code)?,
                Some(last) => next_value(last, self.nodes, code)?,
            };
            while let Some((left, length)) = intervals.next_if(|(left, _)| *left < residual) {
                self.extras.extend(left..left + length);
            }
            self.extras.push(residual);
            last = Some(residual);
        }
        intervals.for_each(|(left, length)| self.extras.extend(left..left + length));
        Ok(())
    }
}

fn first_value(node: u32, nodes: u32, code: u64) -> Result<u32, InvalidList> {
    let value = i64::from(node).checked_add(nat_to_int(code)).ok_or(InvalidList)?;
    u32::try_from(value).ok().filter(|value| *value < nodes).ok_or(InvalidList)
}

fn next_value(last: u32, nodes: u32, code: u64) -> Result<u32, InvalidList> {
    let value = code.checked_add(u64::from(last) + 1).ok_or(InvalidList)?;
    u32::try_from(value).ok().filter(|value| *value < nodes).ok_or(InvalidList)
}

fn merge(a: &[u32], b: &[u32], out: &mut Vec<u32>) {
    if a.is_empty() {
        out.extend_from_slice(b);
        return;
    }
    let (mut a, mut b) = (a, b);
    while let (Some((first_a, rest_a)), Some((first_b, rest_b))) = (a.split_first(), b.split_first()) {
        if first_a < first_b {
            out.push(*first_a);
            a = rest_a;
        } else {
            out.push(*first_b);
            b = rest_b;
        }
    }
    out.extend_from_slice(a);
    out.extend_from_slice(b);
}
