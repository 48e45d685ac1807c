//! Text fields with their weights.

use tantivy::schema::Field;

use super::Ranking;
use crate::index::schema::Fields;
use crate::query::QueryField;

/// Text field.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextField {
    pub(super) field: Field,
    pub(super) weight: f32,
    /// Name in descriptions of scores.
    pub(super) name: &'static str,
}

impl TextField {
    /// Fields with a weight, for words without a field name.
    pub(super) fn default_fields(fields: &Fields, ranking: &Ranking) -> Vec<TextField> {
        let all = [
            (fields.title, ranking.title, "title"),
            (fields.headings, ranking.headings, "headings"),
            (fields.anchor, ranking.anchor, "anchor texts"),
            (fields.url, ranking.url, "URL"),
            (fields.body, ranking.body, "text"),
        ];
        let weighted = all.into_iter().filter(|(_, weight, _)| *weight > 0.0);
        weighted.map(|(field, weight, name)| TextField { field, weight, name }).collect()
    }

    /// The named field; its weight is 1 if it is set to 0.
    pub(super) fn named(field: QueryField, fields: &Fields, ranking: &Ranking) -> TextField {
        let (field, weight, name) = match field {
            QueryField::Title => (fields.title, ranking.title, "title"),
            QueryField::Url => (fields.url, ranking.url, "URL"),
            QueryField::Anchor => (fields.anchor, ranking.anchor, "anchor texts"),
        };
        TextField { field, weight: if weight > 0.0 { weight } else { 1.0 }, name }
    }
}
