//! Series of a figure: one per input, with its name, style and number format.

use plot::SeriesStyle;
use store::Statistic;

use crate::format::Format;

/// Name of an input, and its statistic.
pub(crate) type LabelledStatistic<'s> = (&'s str, &'s Statistic);

/// Names of the series, if there are several.
pub(super) fn series_names(inputs: &[LabelledStatistic<'_>]) -> Vec<String> {
    if inputs.len() > 1 { inputs.iter().map(|(name, _)| (*name).to_owned()).collect() } else { Vec::new() }
}

/// Style of an input.
pub(super) fn series_style(number: usize) -> SeriesStyle {
    if number == 0 { SeriesStyle::Colour } else { SeriesStyle::Compared }
}

/// Number format of an axis.
pub(super) fn axis_format(format: Format) -> plot::Format {
    match format {
        Format::Bytes => plot::Format::Bytes,
        Format::Share => plot::Format::Percent,
        Format::Plain | Format::Time | Format::Url => plot::Format::Number,
    }
}
