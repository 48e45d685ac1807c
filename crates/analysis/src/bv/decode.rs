//! Which successors has a node? Reads lists one after the other from the start of a piece.
//!
//! Damaged bits give an error, never a panic and never more successors than there are nodes.

use super::{LEAST_INTERVAL, WINDOW};
use crate::bits::{BitReader, difference};

/// Decodes consecutive nodes from the first one of a piece on.
pub(crate) struct Decoder<'g> {
    node: u32,
    /// How many nodes the graph has.
    nodes: u32,
    bits: BitReader<'g>,
    /// The last lists, by node modulo their number.
    recent: [Vec<u32>; WINDOW + 1],
    copied: Vec<u32>,
    extras: Vec<u32>,
    intervals: Vec<(u32, u32)>,
}

/// The bits are not those of a graph.
#[derive(Debug)]
pub(crate) struct Nonsense;

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

    /// The successors of the next node, ascending.
    pub(crate) fn next(&mut self) -> Result<&[u32], Nonsense> {
        let slot = self.node as usize % (WINDOW + 1);
        let mut successors = std::mem::take(&mut self.recent[slot]);
        successors.clear();
        let degree = self.bits.gamma();
        if degree > u64::from(self.nodes) {
            return Err(Nonsense);
        }
        if degree > 0 {
            self.decode(degree as usize, &mut successors)?;
        }
        if self.bits.is_beyond() {
            return Err(Nonsense);
        }
        self.node += 1;
        self.recent[slot] = successors;
        Ok(&self.recent[slot])
    }

    fn decode(&mut self, degree: usize, successors: &mut Vec<u32>) -> Result<(), Nonsense> {
        self.copied.clear();
        let reference = self.bits.unary();
        if reference > 0 {
            if reference > WINDOW as u64 || reference > u64::from(self.node) {
                return Err(Nonsense);
            }
            self.copy((self.node - reference as u32) as usize % (WINDOW + 1))?;
        }
        let extras = degree.checked_sub(self.copied.len()).ok_or(Nonsense)?;
        if extras == 0 {
            successors.extend_from_slice(&self.copied);
            return Ok(());
        }
        self.read_extras(extras)?;
        merge(&self.copied, &self.extras, successors);
        Ok(())
    }

    /// Copies the blocks of the list in a slot.
    fn copy(&mut self, slot: usize) -> Result<(), Nonsense> {
        let mut rest = &self.recent[slot][..];
        let blocks = self.bits.gamma();
        if blocks > rest.len() as u64 + 1 {
            return Err(Nonsense);
        }
        for index in 0..blocks {
            let length = self.bits.gamma() + u64::from(index > 0);
            let length = usize::try_from(length).map_err(|_| Nonsense)?;
            let (block, behind) = rest.split_at_checked(length).ok_or(Nonsense)?;
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

    /// Reads so many numbers that were not copied, in intervals and one by one.
    fn read_extras(&mut self, count: usize) -> Result<(), Nonsense> {
        self.intervals.clear();
        self.extras.clear();
        let mut left_over = count;
        let mut end: Option<u32> = None;
        let intervals = self.bits.gamma();
        if intervals > count as u64 / u64::from(LEAST_INTERVAL) {
            return Err(Nonsense);
        }
        for _ in 0..intervals {
            let code = self.bits.gamma();
            let left = match end {
                None => first_place(self.node, self.nodes, code)?,
                Some(end) => next_place(end, self.nodes, code)?,
            };
            let length = self.bits.gamma() + u64::from(LEAST_INTERVAL);
            left_over =
                left_over.checked_sub(usize::try_from(length).map_err(|_| Nonsense)?).ok_or(Nonsense)?;
            if u64::from(left) + length > u64::from(self.nodes) {
                return Err(Nonsense);
            }
            self.intervals.push((left, length as u32));
            end = Some(left + length as u32);
        }
        let mut intervals = self.intervals.iter().copied().peekable();
        let mut last: Option<u32> = None;
        for _ in 0..left_over {
            let code = self.bits.zeta();
            let residual = match last {
                None => first_place(self.node, self.nodes, code)?,
                Some(last) => next_place(last, self.nodes, code)?,
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

fn first_place(node: u32, nodes: u32, code: u64) -> Result<u32, Nonsense> {
    let place = i64::from(node).checked_add(difference(code)).ok_or(Nonsense)?;
    u32::try_from(place).ok().filter(|place| *place < nodes).ok_or(Nonsense)
}

fn next_place(last: u32, nodes: u32, code: u64) -> Result<u32, Nonsense> {
    let place = code.checked_add(u64::from(last) + 1).ok_or(Nonsense)?;
    u32::try_from(place).ok().filter(|place| *place < nodes).ok_or(Nonsense)
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
