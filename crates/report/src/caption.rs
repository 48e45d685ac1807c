//! What is said beneath a figure? The sentences of its file, with numbers of the statistic in their places.
//!
//! `{mean}` is a note of the statistic, `{mean:bytes}` the same as a size, `{share:share}` one as a percentage. Where two
//! sides are shown, the number of the second follows in brackets. A sentence with a number that is not there is left out.

use store::{PowerLaw, Statistic, Value};

use crate::figure::Figure;
use crate::format::Format;

/// The sentences for these statistics, one of each side, with the names of the sides.
pub(crate) fn caption(figure: &Figure, sides: &[(&str, Option<&Statistic>)]) -> Vec<String> {
    let sentences = figure.caption.iter().filter_map(|sentence| filled(sentence, sides));
    let fits = sides.iter().filter_map(|(name, statistic)| {
        let fit = (*statistic)?.fit.as_ref()?;
        Some(if sides.len() > 1 { format!("{name}: {}", law(fit)) } else { law(fit) })
    });
    sentences.chain(fits).collect()
}

/// The fit in words.
fn law(fit: &PowerLaw) -> String {
    let number = |number: f64| Format::Plain.number(number);
    let PowerLaw { alpha, x_min, ks, tail, n, .. } = fit;
    format!(
        "The tail is closest to a power law with exponent α = {alpha:.2} from {} on (maximum likelihood; \
         Kolmogorov–Smirnov distance {ks:.3}; {} of {} values).",
        number(*x_min),
        number(*tail as f64),
        number(*n as f64)
    )
}

fn filled(sentence: &str, sides: &[(&str, Option<&Statistic>)]) -> Option<String> {
    let mut text = String::with_capacity(sentence.len());
    let mut rest = sentence;
    while let Some((before, behind)) = rest.split_once('{') {
        let (place, after) = behind.split_once('}')?;
        text.push_str(before);
        text.push_str(&number(place, sides)?);
        rest = after;
    }
    text.push_str(rest);
    Some(text)
}

/// The number for a place: of the first side, and of the second in brackets.
fn number(place: &str, sides: &[(&str, Option<&Statistic>)]) -> Option<String> {
    let (note, format) = place.split_once(':').unwrap_or((place, "plain"));
    let format = Format::parse(format)?;
    let of = |statistic: &Statistic| {
        let zeros = || if note == ZERO { zeros(statistic) } else { None };
        statistic.notes.get(note).copied().or_else(zeros).map(|number| format.number(number))
    };
    let mut all = sides.iter().map(|(name, statistic)| (name, statistic.and_then(of)));
    let (_, first) = all.next()?;
    let others: Vec<String> = all.filter_map(|(name, number)| Some(format!("{name}: {}", number?))).collect();
    let first = first?;
    Some(if others.is_empty() { first } else { format!("{first} ({})", others.join(", ")) })
}

/// Stands for how many values of a distribution are 0: logarithmic axes do not show them.
const ZERO: &str = "zero";

fn zeros(statistic: &Statistic) -> Option<f64> {
    let first = statistic.rows.first()?;
    let [from, to, count] = [0, 1, 2].map(|place| first.get(place).and_then(Value::as_f64));
    count.filter(|_| from == Some(0.0) && to == Some(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistic(mean: f64) -> Statistic {
        Statistic { notes: [("mean".to_owned(), mean)].into(), ..Statistic::default() }
    }

    #[test]
    fn numbers_take_their_places_and_sentences_without_them_go() {
        let (one, other) = (statistic(1_500.0), statistic(2.0));
        let alone = [("now", Some(&one))];
        assert_eq!(filled("On average {mean:bytes}.", &alone).as_deref(), Some("On average 1.5 kB."));
        assert_eq!(filled("At most {max}.", &alone), None);
        let both = [("now", Some(&one)), ("then", Some(&other))];
        assert_eq!(filled("On average {mean}.", &both).as_deref(), Some("On average 1,500 (then: 2)."));
        assert_eq!(filled("No numbers.", &[]).as_deref(), Some("No numbers."));
    }
}
