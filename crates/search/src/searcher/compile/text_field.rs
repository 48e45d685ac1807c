//! Text fields with their weights.

use tantivy::schema::Field;

use crate::index::schema::Fields;
use crate::query::QueryField;
use crate::searcher::ranking::Ranking;
use crate::searcher::scoring::bm25::{ANCHOR_B, TEXT_B};

/// Text field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextField {
    pub(crate) field: Field,
    pub(crate) weight: f32,
    /// Influence of the length of the field in BM25.
    pub(crate) b: f32,
    /// Name in descriptions of scores.
    pub(crate) name: &'static str,
}

impl TextField {
    /// Fields with a weight, for words without a field name.
    pub(crate) fn default_fields(fields: &Fields, ranking: &Ranking) -> Vec<TextField> {
        let all = [
            (fields.title, ranking.title, "title"),
            (fields.headings, ranking.headings, "headings"),
            (fields.anchor, ranking.anchor, "anchor texts"),
            (fields.url, ranking.url, "URL"),
            (fields.body, ranking.body, "text"),
        ];
        let weighted = all.into_iter().filter(|(_, weight, _)| *weight > 0.0);
        weighted
            .map(|(field, weight, name)| TextField {
                field,
                weight,
                b: length_influence(field, fields),
                name,
            })
            .collect()
    }

    /// The named field; its weight is 1 if it is set to 0.
    pub(crate) fn named(field: QueryField, fields: &Fields, ranking: &Ranking) -> TextField {
        let (field, weight, name) = match field {
            QueryField::Title => (fields.title, ranking.title, "title"),
            QueryField::Url => (fields.url, ranking.url, "URL"),
            QueryField::Anchor => (fields.anchor, ranking.anchor, "anchor texts"),
        };
        let b = length_influence(field, fields);
        TextField { field, weight: if weight > 0.0 { weight } else { 1.0 }, b, name }
    }
}

fn length_influence(field: Field, fields: &Fields) -> f32 {
    if field == fields.anchor { ANCHOR_B } else { TEXT_B }
}
