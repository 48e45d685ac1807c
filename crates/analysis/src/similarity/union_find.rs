//! Union-find over consecutive numbers. The representative of a group is its smallest member.

/// Disjoint sets of the numbers below `count`; initially each number is a set.
#[derive(Debug, Clone)]
pub(crate) struct UnionFind {
    /// A smaller member of the same group; the smallest member points to itself.
    smaller: Vec<u32>,
}

/// Number and size of the groups with two or more members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct GroupSizes {
    pub(crate) groups: u32,
    /// Number of members of all groups.
    pub(crate) members: u32,
    /// The smallest member of the largest group, and its size; of equal groups the first.
    pub(crate) largest: Option<(u32, u32)>,
}

impl UnionFind {
    pub(crate) fn new(count: usize) -> UnionFind {
        UnionFind { smaller: (0..count as u32).collect() }
    }

    /// Representative of the group of a member.
    pub(crate) fn find(&mut self, mut member: u32) -> u32 {
        while self.smaller[member as usize] != member {
            let next = self.smaller[self.smaller[member as usize] as usize];
            // Path halving: the next lookup takes half as many steps.
            self.smaller[member as usize] = next;
            member = next;
        }
        member
    }

    /// Joins the groups of two members.
    pub(crate) fn union(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find(one), self.find(other));
        self.smaller[one.max(other) as usize] = one.min(other);
    }

    /// For each number its group, as the representative + 1; 0 for a number that is alone.
    pub(crate) fn column(&mut self) -> Vec<u32> {
        let mut alone = vec![true; self.smaller.len()];
        let mut firsts = Vec::with_capacity(self.smaller.len());
        for member in 0..self.smaller.len() as u32 {
            let first = self.find(member);
            if first != member {
                alone[first as usize] = false;
                alone[member as usize] = false;
            }
            firsts.push(first);
        }
        firsts.into_iter().zip(alone).map(|(first, alone)| if alone { 0 } else { first + 1 }).collect()
    }
}

/// Renames each group of a column of [`UnionFind::column`] to its smallest member that is not a copy, if it has one:
/// the page with the smallest id is not always the one that was fetched first, and a group should have exactly one
/// original.
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

impl GroupSizes {
    /// Computes the sizes from a column of [`UnionFind::column`].
    pub(crate) fn from_column(column: &[u32]) -> GroupSizes {
        let mut sizes = vec![0u32; column.len()];
        column.iter().filter(|group| **group > 0).for_each(|group| sizes[*group as usize - 1] += 1);
        let groups = sizes.iter().filter(|size| **size > 0).count() as u32;
        let largest =
            sizes.iter().zip(0..).filter(|(size, _)| **size > 0).map(|(size, first)| (first, *size));
        let largest = largest.max_by_key(|(first, size)| (*size, std::cmp::Reverse(*first)));
        GroupSizes { groups, members: sizes.iter().sum(), largest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn groups_are_the_connected_components(pairs in prop::collection::vec((0u32..40, 0u32..40), 0..60)) {
            let mut groups = UnionFind::new(40);
            pairs.iter().for_each(|(one, other)| groups.union(*one, *other));
            let found = groups.column();
            // Propagate the names of components along pairs until nothing changes.
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
            let counts = GroupSizes::from_column(&found);
            prop_assert_eq!(counts.members as usize, found.iter().filter(|group| **group > 0).count());
        }
    }

    #[test]
    fn groups_are_named_after_originals() {
        // All members of the last group are copies.
        let mut column = [1, 2, 1, 2, 0, 1, 7, 7];
        name_by_originals(&mut column, &[true, false, false, true, true, false, true, true]);
        assert_eq!(column, [3, 2, 3, 2, 0, 3, 7, 7]);
    }

    #[test]
    fn a_group_of_a_million_members_takes_linear_time() {
        let mut groups = UnionFind::new(1_000_000);
        (1..1_000_000).rev().for_each(|member| groups.union(member, member - 1));
        let counts = GroupSizes::from_column(&groups.column());
        assert_eq!(counts, GroupSizes { groups: 1, members: 1_000_000, largest: Some((0, 1_000_000)) });
        assert_eq!(GroupSizes::from_column(&UnionFind::new(0).column()), GroupSizes::default());
    }
}
