//! Objectives of the revisit policy.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// Quantity that fetches maximise (setting `quality.objective`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Objective {
    /// Value of the collection after the next batch, as in WIRE.
    WireProfit,
    /// Fraction of copies that are up to date, averaged over time.
    #[default]
    Freshness,
    /// Low mean age: time since the first change that a copy lacks.
    Age,
    /// Low harmonic staleness: every change counts, so that no page starves. For news and archives.
    EveryChange,
}

impl Objective {
    /// All objectives.
    pub const ALL: [Objective; 4] =
        [Objective::WireProfit, Objective::Freshness, Objective::Age, Objective::EveryChange];

    /// Name in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Objective::WireProfit => "profit",
            Objective::Freshness => "freshness",
            Objective::Age => "age",
            Objective::EveryChange => "every-change",
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for Objective {
    type Err = Error;

    fn from_str(name: &str) -> Result<Objective, Error> {
        Objective::ALL.into_iter().find(|objective| objective.as_str() == name).ok_or_else(|| {
            Error::UnknownObjective {
                name: name.to_owned(),
                known: Objective::ALL.map(Objective::as_str).join(", "),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_and_the_error_lists_them() {
        for objective in Objective::ALL {
            assert_eq!(objective.as_str().parse(), Ok(objective));
        }
        let error = "fresh".parse::<Objective>().unwrap_err().to_string();
        assert!(Objective::ALL.iter().all(|objective| error.contains(objective.as_str())), "{error}");
    }
}
