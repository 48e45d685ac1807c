//! What of a page goes to the index? Its words, each field behind the mark of the page's language, and facts as numbers.

use std::iter::Empty;

use tantivy::schema::Field;
use tantivy::schema::document::{Document, ReferenceValue, ReferenceValueLeaf, Value};

use crate::budget::Share;
use crate::language::Language;
use crate::tokenizer::marked;

/// One page on its way to the index. Nothing of it is stored there.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    values: Vec<(Field, EntryValue)>,
    text_bytes: usize,
    /// What it takes of the budget, until it has arrived.
    share: Option<Share>,
}

#[derive(Debug)]
enum EntryValue {
    Text(String),
    Number(u64),
    Signed(i64),
}

impl Entry {
    /// Words in a language.
    pub(crate) fn add_words(&mut self, field: Field, language: Language, words: &str) {
        if !words.is_empty() {
            self.add_term(field, marked(language, words));
        }
    }

    /// One term, as it is.
    pub(crate) fn add_term(&mut self, field: Field, term: String) {
        self.text_bytes += term.len();
        self.values.push((field, EntryValue::Text(term)));
    }

    /// A number.
    pub(crate) fn add_number(&mut self, field: Field, number: u64) {
        self.values.push((field, EntryValue::Number(number)));
    }

    /// A number that may be negative.
    pub(crate) fn add_signed(&mut self, field: Field, number: i64) {
        self.values.push((field, EntryValue::Signed(number)));
    }

    /// What it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.text_bytes + self.values.len() * size_of::<(Field, EntryValue)>()
    }

    /// Keeps its share of the budget until it has arrived.
    pub(crate) fn hold(&mut self, share: Share) {
        self.share = Some(share);
    }
}

/// A value of an entry, as tantivy wants to see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryRef<'e>(&'e EntryValue);

impl<'e> Value<'e> for EntryRef<'e> {
    type ArrayIter = Empty<EntryRef<'e>>;
    type ObjectIter = Empty<(&'e str, EntryRef<'e>)>;

    fn as_value(&self) -> ReferenceValue<'e, EntryRef<'e>> {
        ReferenceValue::Leaf(match self.0 {
            EntryValue::Text(text) => ReferenceValueLeaf::Str(text),
            EntryValue::Number(number) => ReferenceValueLeaf::U64(*number),
            EntryValue::Signed(number) => ReferenceValueLeaf::I64(*number),
        })
    }
}

impl Document for Entry {
    type Value<'e> = EntryRef<'e>;
    type FieldsValuesIter<'e> = EntryValues<'e>;

    fn iter_fields_and_values(&self) -> EntryValues<'_> {
        EntryValues(self.values.iter())
    }
}

/// The values of an entry.
pub(crate) struct EntryValues<'e>(std::slice::Iter<'e, (Field, EntryValue)>);

impl<'e> Iterator for EntryValues<'e> {
    type Item = (Field, EntryRef<'e>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(field, value)| (*field, EntryRef(value)))
    }
}
