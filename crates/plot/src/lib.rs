//! Plots as SVG: lines, steps, areas, points, bars and bow ties, with axes and direct labels.
//!
//! A plot is a string without external dependencies. The same data give the same bytes. It follows the reader's light
//! or dark colour scheme; renderers without custom properties show the light one. The colours are distinguishable with
//! colour vision deficiencies, and no plot relies on colour alone: each line is labelled at its end.
//!
//! This crate never computes a statistic. Points that cannot be shown (not finite, or not positive on a logarithmic
//! axis) are omitted.

mod axis;
mod bars;
mod bow_tie;
mod canvas;
mod chart;
mod labels;
mod panels;

pub use axis::{Axis, Format, Scale, superscript};
pub use bars::{Bar, Bars};
pub use bow_tie::{BowTie, BowTiePart};
pub use canvas::{Heading, SeriesStyle, escape, for_print};
pub use chart::{Chart, Series, Shape};
pub use panels::Panels;
