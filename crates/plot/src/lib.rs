//! How are numbers shown as a picture? Series become SVG: lines, steps, areas, points, bars and bow ties, with axes
//! that can be read and names that stand where the line ends.
//!
//! A picture is text without dependencies: the same data give the same bytes, it follows the reader's choice of light or
//! dark, and programs that do not know custom properties show the light one. Colours are told apart by people who see fewer of
//! them, and no picture needs its colours alone: every line is named where it ends.
//!
//! This crate never computes a statistic: what is drawn was computed by who has the data. Points that cannot be shown (not
//! finite, or not positive where the axis is logarithmic) are left out.

mod axis;
mod bars;
mod bow_tie;
mod canvas;
mod chart;
mod labels;
mod panels;

pub use axis::{Axis, Format, Scale, raised};
pub use bars::{Bar, Bars};
pub use bow_tie::{BowTie, Knot};
pub use canvas::{Heading, Tone, escape, plain};
pub use chart::{Chart, Series, Shape};
pub use panels::Panels;
