//! Where are words looked for, and how much do they count there?

use tantivy::schema::Field;

use super::Ranking;
use crate::query::Part;
use crate::schema::Fields;

/// A field of words.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextField {
    pub(super) field: Field,
    pub(super) weight: f32,
    /// For people.
    pub(super) name: &'static str,
}

impl TextField {
    /// The fields that count, where none is named.
    pub(super) fn everywhere(fields: &Fields, ranking: &Ranking) -> Vec<TextField> {
        let all = [
            (fields.title, ranking.title, "title"),
            (fields.headings, ranking.headings, "headings"),
            (fields.anchor, ranking.anchor, "anchors"),
            (fields.url, ranking.url, "URL"),
            (fields.body, ranking.body, "text"),
        ];
        let weighed = all.into_iter().filter(|(_, weight, _)| *weight > 0.0);
        weighed.map(|(field, weight, name)| TextField { field, weight, name }).collect()
    }

    /// The one that is named; it counts even if it does not elsewhere.
    pub(super) fn of(part: Part, fields: &Fields, ranking: &Ranking) -> TextField {
        let (field, weight, name) = match part {
            Part::Title => (fields.title, ranking.title, "title"),
            Part::Url => (fields.url, ranking.url, "URL"),
            Part::Anchor => (fields.anchor, ranking.anchor, "anchors"),
        };
        TextField { field, weight: if weight > 0.0 { weight } else { 1.0 }, name }
    }
}
