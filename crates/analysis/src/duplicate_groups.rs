//! Which things belong together, if some pairs of them do? Groups that grow by one pair at a time: a union-find, whose groups are
//! called by their smallest member.

/// Groups of the numbers below a limit; at first each is alone.
#[derive(Debug, Clone)]
pub(crate) struct Groups {
    /// Somebody of the same group, with a smaller number; the smallest has itself.
    smaller: Vec<u32>,
}

/// How many groups there are of two or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct GroupCounts {
    pub(crate) groups: u32,
    /// That are in one of them.
    pub(crate) members: u32,
    /// The smallest member of the largest group, and how many it has; of equal ones the first.
    pub(crate) largest: Option<(u32, u32)>,
}

impl Groups {
    pub(crate) fn new(count: usize) -> Groups {
        Groups { smaller: (0..count as u32).collect() }
    }

    /// The smallest member of the group of one.
    pub(crate) fn first_of(&mut self, mut member: u32) -> u32 {
        while self.smaller[member as usize] != member {
            let next = self.smaller[self.smaller[member as usize] as usize];
            // Half of the way is cut off for the next one who asks.
            self.smaller[member as usize] = next;
            member = next;
        }
        member
    }

    /// Makes two groups one.
    pub(crate) fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.first_of(one), self.first_of(other));
        self.smaller[one.max(other) as usize] = one.min(other);
    }

    /// For each its group, the smallest member + 1; 0 for who is alone.
    pub(crate) fn column(&mut self) -> Vec<u32> {
        let mut alone = vec![true; self.smaller.len()];
        let mut firsts = Vec::with_capacity(self.smaller.len());
        for member in 0..self.smaller.len() as u32 {
            let first = self.first_of(member);
            if first != member {
                alone[first as usize] = false;
                alone[member as usize] = false;
            }
            firsts.push(first);
        }
        firsts.into_iter().zip(alone).map(|(first, alone)| if alone { 0 } else { first + 1 }).collect()
    }
}

/// Calls each group of a column that [`Groups::column`] gave by its smallest member that is no copy, if there is one: who was
/// numbered first need not be who was fetched first, and a group should not have two originals, or none.
pub(crate) fn name_by_originals(column: &mut [u32], is_copy: &[bool]) {
    let mut names = vec![0; column.len()];
    for ((group, is_copy), name) in column.iter().zip(is_copy).zip(1..) {
        if *group > 0 && !is_copy && names[*group as usize - 1] == 0 {
            names[*group as usize - 1] = name;
        }
    }
    for group in column.iter_mut().filter(|group| **group > 0) {
        let name = names[*group as usize - 1];
        *group = if name > 0 { name } else { *group };
    }
}

impl GroupCounts {
    /// Of a column that [`Groups::column`] gave.
    pub(crate) fn of(column: &[u32]) -> GroupCounts {
        let mut sizes = vec![0u32; column.len()];
        column.iter().filter(|group| **group > 0).for_each(|group| sizes[*group as usize - 1] += 1);
        let groups = sizes.iter().filter(|size| **size > 0).count() as u32;
        let largest =
            sizes.iter().zip(0..).filter(|(size, _)| **size > 0).map(|(size, first)| (first, *size));
        let largest = largest.max_by_key(|(first, size)| (*size, std::cmp::Reverse(*first)));
        GroupCounts { groups, members: sizes.iter().sum(), largest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn groups_are_the_connected_components(pairs in prop::collection::vec((0u32..40, 0u32..40), 0..60)) {
            let mut groups = Groups::new(40);
            pairs.iter().for_each(|(one, other)| groups.join(*one, *other));
            let found = groups.column();
            // Names of components spread along pairs until nothing changes.
            let mut names: Vec<u32> = (0..40).collect();
            loop {
                let before = names.clone();
                for (one, other) in &pairs {
                    let name = names[*one as usize].min(names[*other as usize]);
                    (names[*one as usize], names[*other as usize]) = (name, name);
                }
                if before == names {
                    break;
                }
            }
            let alone = |name: u32| names.iter().filter(|other| **other == name).count() == 1;
            let expected: Vec<u32> =
                names.iter().map(|name| if alone(*name) { 0 } else { name + 1 }).collect();
            prop_assert_eq!(&found, &expected);
            let counts = GroupCounts::of(&found);
            prop_assert_eq!(counts.members as usize, found.iter().filter(|group| **group > 0).count());
        }
    }

    #[test]
    fn groups_are_called_by_originals() {
        // Of the last group all are copies of something else.
        let mut column = [1, 2, 1, 2, 0, 1, 7, 7];
        name_by_originals(&mut column, &[true, false, false, true, true, false, true, true]);
        assert_eq!(column, [3, 2, 3, 2, 0, 3, 7, 7]);
    }

    #[test]
    fn a_million_of_one_group_are_joined_at_once() {
        let mut groups = Groups::new(1_000_000);
        (1..1_000_000).rev().for_each(|member| groups.join(member, member - 1));
        let counts = GroupCounts::of(&groups.column());
        assert_eq!(counts, GroupCounts { groups: 1, members: 1_000_000, largest: Some((0, 1_000_000)) });
        assert_eq!(GroupCounts::of(&Groups::new(0).column()), GroupCounts::default());
    }
}
