//! Which word was it? A few thousand different words of many million rows, by numbers of two bytes.

use std::collections::HashMap;

/// Servers may send whatever they like as a type or an encoding; what comes after so many is not kept.
const MOST_WORDS: usize = u16::MAX as usize - 1;

/// A word by its number; 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Word(u16);

/// The words that were met.
#[derive(Debug, Default)]
pub(super) struct Words {
    numbers: HashMap<String, Word>,
    words: Vec<String>,
}

impl Word {
    pub(super) const NONE: Word = Word(0);
}

impl Words {
    /// The number of a word.
    pub(super) fn of(&mut self, word: Option<&str>) -> Word {
        let Some(word) = word else { return Word::NONE };
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        if self.words.len() >= MOST_WORDS {
            return Word::NONE;
        }
        self.words.push(word.to_owned());
        let number = Word(self.words.len() as u16);
        self.numbers.insert(word.to_owned(), number);
        number
    }

    /// The word of a number.
    pub(super) fn get(&self, word: Word) -> Option<&str> {
        Some(&self.words[usize::from(word.0).checked_sub(1)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_as_long_as_there_are_numbers() {
        let mut words = Words::default();
        let numbers: Vec<Word> = (0..70_000).map(|word| words.of(Some(&word.to_string()))).collect();
        for (word, number) in numbers.iter().enumerate() {
            let wanted = (word < MOST_WORDS).then(|| word.to_string());
            assert_eq!(words.get(*number).map(str::to_owned), wanted);
        }
        assert_eq!(words.of(Some("7")), numbers[7]);
        assert_eq!(words.of(None), Word::NONE);
        assert_eq!(words.get(Word::NONE), None);
    }
}
