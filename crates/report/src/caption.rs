//! Captions: the sentences of a figure's definition, with placeholders replaced by numbers of the statistic.
//!
//! `{mean}` is a summary value of the statistic, `{mean:bytes}` the same as a size, `{share:share}` as a percentage. With two
//! inputs, the number of the second follows in parentheses. A sentence with a missing number is omitted.

use store::{PowerLaw, Statistic, StatisticValue};

use crate::figure::Figure;
use crate::format::Format;

/// Sentences for these statistics, one per input, with the names of the inputs.
pub(crate) fn caption(figure: &Figure, inputs: &[(&str, Option<&Statistic>)]) -> Vec<String> {
    let sentences = figure.caption.iter().filter_map(|sentence| fill(sentence, inputs));
    let fits = inputs.iter().filter_map(|(name, statistic)| {
        let fit = (*statistic)?.power_law_fit.as_ref()?;
        Some(if inputs.len() > 1 { format!("{name}: {}", law(fit)) } else { law(fit) })
    });
    sentences.chain(fits).collect()
}

/// Description of a power-law fit.
fn law(fit: &PowerLaw) -> String {
    let number = |number: f64| Format::Plain.format_number(number);
    let PowerLaw { alpha, x_min, ks, tail, n, .. } = fit;
    format!(
        "The tail fits a power law with exponent α = {alpha:.2} from {} (maximum likelihood; \
         Kolmogorov–Smirnov distance {ks:.3}; {} of {} values).",
        number(*x_min),
        number(*tail as f64),
        number(*n as f64)
    )
}

fn fill(sentence: &str, inputs: &[(&str, Option<&Statistic>)]) -> Option<String> {
    let mut text = String::with_capacity(sentence.len());
    let mut rest = sentence;
    while let Some((before, behind)) = rest.split_once('{') {
        let (placeholder, after) = behind.split_once('}')?;
        text.push_str(before);
        text.push_str(&number(placeholder, inputs)?);
        rest = after;
    }
    text.push_str(rest);
    Some(text)
}

/// Number for a placeholder: of the first input, and of the others in parentheses.
fn number(placeholder: &str, inputs: &[(&str, Option<&Statistic>)]) -> Option<String> {
    let (note, format) = placeholder.split_once(':').unwrap_or((placeholder, "plain"));
    let format = Format::parse(format)?;
    let of = |statistic: &Statistic| {
        let zeros = || if note == ZERO { zeros(statistic) } else { None };
        statistic.summary.get(note).copied().or_else(zeros).map(|number| format.format_number(number))
    };
    let mut all = inputs.iter().map(|(name, statistic)| (name, statistic.and_then(of)));
    let (_, first) = all.next()?;
    let others: Vec<String> = all.filter_map(|(name, number)| Some(format!("{name}: {}", number?))).collect();
    let first = first?;
    Some(if others.is_empty() { first } else { format!("{first} ({})", others.join(", ")) })
}

/// Placeholder for the number of values that are 0: logarithmic axes cannot show them.
const ZERO: &str = "zero";

fn zeros(statistic: &Statistic) -> Option<f64> {
    let first = statistic.rows.first()?;
    let [from, to, count] = [0, 1, 2].map(|index| first.get(index).and_then(StatisticValue::as_f64));
    count.filter(|_| from == Some(0.0) && to == Some(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistic(mean: f64) -> Statistic {
        Statistic { summary: [("mean".to_owned(), mean)].into(), ..Statistic::default() }
    }

    #[test]
    fn placeholders_are_replaced_and_sentences_with_missing_numbers_are_omitted() {
        let (one, other) = (statistic(1_500.0), statistic(2.0));
        let alone = [("now", Some(&one))];
        assert_eq!(fill("Mean {mean:bytes}.", &alone).as_deref(), Some("Mean 1.5 kB."));
        assert_eq!(fill("Maximum {max}.", &alone), None);
        let both = [("now", Some(&one)), ("then", Some(&other))];
        assert_eq!(fill("Mean {mean}.", &both).as_deref(), Some("Mean 1,500 (then: 2)."));
        assert_eq!(fill("No numbers.", &[]).as_deref(), Some("No numbers."));
    }
}
