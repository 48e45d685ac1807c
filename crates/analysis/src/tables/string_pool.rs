//! Interned strings: few different values in many rows, as ids of two bytes.

use std::collections::HashMap;

/// Maximum number of strings. Servers send arbitrary types and charsets; further strings are dropped.
const MAX_STRINGS: usize = u16::MAX as usize - 1;

/// Id of a string; 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct StringId(u16);

/// The interned strings.
#[derive(Debug, Default)]
pub(crate) struct StringPool {
    ids: HashMap<String, StringId>,
    strings: Vec<String>,
}

impl StringId {
    pub(crate) const NONE: StringId = StringId(0);
}

impl StringPool {
    /// Returns the id of a string.
    pub(crate) fn intern(&mut self, word: Option<&str>) -> StringId {
        let Some(word) = word else { return StringId::NONE };
        if let Some(number) = self.ids.get(word) {
            return *number;
        }
        if self.strings.len() >= MAX_STRINGS {
            return StringId::NONE;
        }
        self.strings.push(word.to_owned());
        let number = StringId(self.strings.len() as u16);
        self.ids.insert(word.to_owned(), number);
        number
    }

    /// Returns the string of an id.
    pub(crate) fn get(&self, word: StringId) -> Option<&str> {
        Some(&self.strings[usize::from(word.0).checked_sub(1)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_returned_until_the_ids_are_used_up() {
        let mut words = StringPool::default();
        let numbers: Vec<StringId> = (0..70_000).map(|word| words.intern(Some(&word.to_string()))).collect();
        for (word, number) in numbers.iter().enumerate() {
            let expected = (word < MAX_STRINGS).then(|| word.to_string());
            assert_eq!(words.get(*number).map(str::to_owned), expected);
        }
        assert_eq!(words.intern(Some("7")), numbers[7]);
        assert_eq!(words.intern(None), StringId::NONE);
        assert_eq!(words.get(StringId::NONE), None);
    }
}
