//! Document for the index writer: text fields with a language prefix, keywords and numbers of a page.

use std::iter::Empty;

use tantivy::schema::Field;
use tantivy::schema::document::{Document, ReferenceValue, ReferenceValueLeaf, Value};

use crate::indexing::memory_budget::MemoryPermit;
use crate::text::language::Language;
use crate::text::tokenizer::with_language_prefix;

/// One page on its way to the index. The index stores no text.
#[derive(Debug, Default)]
pub(crate) struct IndexDocument {
    values: Vec<(Field, FieldValue)>,
    text_bytes: usize,
    /// Permit for its memory, released when the writer drops the document.
    permit: Option<MemoryPermit>,
}

#[derive(Debug)]
enum FieldValue {
    Text(String),
    Number(u64),
    Signed(i64),
}

impl IndexDocument {
    /// Adds text in a language.
    pub(crate) fn add_text(&mut self, field: Field, language: Language, words: &str) {
        if !words.is_empty() {
            self.add_term(field, with_language_prefix(language, words));
        }
    }

    /// Adds a single term.
    pub(crate) fn add_term(&mut self, field: Field, term: String) {
        self.text_bytes += term.len();
        self.values.push((field, FieldValue::Text(term)));
    }

    /// Adds an unsigned number.
    pub(crate) fn add_number(&mut self, field: Field, number: u64) {
        self.values.push((field, FieldValue::Number(number)));
    }

    /// Adds a signed number.
    pub(crate) fn add_signed(&mut self, field: Field, number: i64) {
        self.values.push((field, FieldValue::Signed(number)));
    }

    /// Approximate size in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.text_bytes + self.values.len() * size_of::<(Field, FieldValue)>()
    }

    /// Keeps a permit until the document is dropped.
    pub(crate) fn attach_permit(&mut self, permit: MemoryPermit) {
        self.permit = Some(permit);
    }
}

/// Reference to a field value, for tantivy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldValueRef<'e>(&'e FieldValue);

impl<'e> Value<'e> for FieldValueRef<'e> {
    type ArrayIter = Empty<FieldValueRef<'e>>;
    type ObjectIter = Empty<(&'e str, FieldValueRef<'e>)>;

    fn as_value(&self) -> ReferenceValue<'e, FieldValueRef<'e>> {
        ReferenceValue::Leaf(match self.0 {
            FieldValue::Text(text) => ReferenceValueLeaf::Str(text),
            FieldValue::Number(number) => ReferenceValueLeaf::U64(*number),
            FieldValue::Signed(number) => ReferenceValueLeaf::I64(*number),
        })
    }
}

impl Document for IndexDocument {
    type Value<'e> = FieldValueRef<'e>;
    type FieldsValuesIter<'e> = FieldValues<'e>;

    fn iter_fields_and_values(&self) -> FieldValues<'_> {
        FieldValues(self.values.iter())
    }
}

/// Iterator over the field values of a document.
pub(crate) struct FieldValues<'e>(std::slice::Iter<'e, (Field, FieldValue)>);

impl<'e> Iterator for FieldValues<'e> {
    type Item = (Field, FieldValueRef<'e>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(field, value)| (*field, FieldValueRef(value)))
    }
}
