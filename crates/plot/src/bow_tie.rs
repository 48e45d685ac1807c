//! Bow-tie diagrams of the macro structure of a graph: IN, MAIN and OUT, and the other parts below. Areas are
//! proportional to shares.

use crate::axis::Format;
use crate::canvas::{Canvas, Heading};
use crate::labels::separate_labels;

/// A bow-tie diagram.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BowTie {
    /// Title.
    pub title: String,
    /// Subtitle.
    pub subtitle: String,
    /// Whether title and subtitle are drawn.
    pub heading: Heading,
    /// IN, MAIN and OUT.
    pub tie: [BowTiePart; 3],
    /// The other parts.
    pub others: Vec<BowTiePart>,
}

/// A part of the bow tie.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BowTiePart {
    /// Name.
    pub name: String,
    /// Formatted number of members.
    pub count: String,
    /// Share of all, up to 1.
    pub share: f64,
}

const WIDTH: f64 = 760.0;
/// Maximum width of the three main shapes, and below it their height and the spacing of the labels.
const TIE_WIDTH: f64 = 600.0;
const TIE_HEIGHT: f64 = 210.0;
const MARGIN: f64 = 10.0;
const LABELS: f64 = 26.0;
const OTHERS: f64 = 116.0;
const BOTTOM: f64 = 46.0;
const GAP: f64 = 16.0;
const LABEL_GAP: f64 = 130.0;
const LINE: f64 = 16.0;
/// Inner and outer height of a wing, relative to its width.
const INNER: f64 = 0.55;
const OUTER: f64 = 1.25;

impl BowTie {
    /// Renders the diagram as SVG.
    pub fn svg(&self) -> String {
        let scale = Scale::of(self);
        let middle = self.heading.height() + MARGIN + scale.height(self) / 2.0;
        let below = middle + scale.height(self) / 2.0;
        // A large circle needs more room than its label.
        let largest = self.others.iter().map(|part| scale.radius(part.share)).fold(BOTTOM, f64::max);
        let others = below + OTHERS - BOTTOM + largest;
        let mut canvas = Canvas::new(WIDTH, others + largest + MARGIN, &self.title, &self.subtitle);
        self.heading.draw(&self.title, &self.subtitle, &mut canvas);
        let centres = self.draw_tie(&scale, middle, &mut canvas);
        let positions = separate_labels(&centres, LABEL_GAP, LABEL_GAP / 2.0, WIDTH - LABEL_GAP / 2.0);
        for (part, x) in self.tie.iter().zip(positions) {
            draw_label(part, x, below + LABELS, " middle", &mut canvas);
        }
        let slot_width = WIDTH / self.others.len().max(1) as f64;
        for (index, part) in self.others.iter().enumerate() {
            let radius = scale.radius(part.share);
            let x = (slot_width * index as f64 + slot_width * 0.3).max(radius + MARGIN);
            canvas.dot(x, others, radius, "fill quiet");
            draw_label(part, x + radius + 10.0, others - LINE + 4.0, "", &mut canvas);
        }
        canvas.finish()
    }

    /// Draws the three shapes side by side, and returns their centres.
    fn draw_tie(&self, scale: &Scale, middle: f64, canvas: &mut Canvas) -> [f64; 3] {
        let [into, main, out] = &self.tie;
        let (left, radius, right) = (scale.wing(into.share), scale.radius(main.share), scale.wing(out.share));
        let start = (WIDTH - left - right - 2.0 * (radius + GAP)) / 2.0;
        let centre = start + left + GAP + radius;
        let end = centre + radius + GAP;
        draw_wing((start, left * OUTER), (start + left, left * INNER), middle, canvas);
        canvas.dot(centre, middle, radius, "fill c0");
        draw_wing((end, right * INNER), (end + right, right * OUTER), middle, canvas);
        for (from, to, share) in
            [(start + left, centre - radius, into.share), (centre + radius, end, out.share)]
        {
            if share > 0.0 && main.share > 0.0 {
                canvas.line((from + 3.0, middle), (to - 3.0, middle), "base");
                let tip = [(to - 8.0, middle - 3.5), (to - 3.0, middle), (to - 8.0, middle + 3.5)];
                canvas.polyline(&tip, "base");
            }
        }
        [start + left / 2.0, centre, end + right / 2.0]
    }
}

/// Area of the whole in square pixels: as large as the space allows.
struct Scale {
    whole: f64,
}

impl Scale {
    fn of(tie: &BowTie) -> Scale {
        let unit = Scale { whole: 1.0 };
        let [into, main, out] = &tie.tie;
        let width = unit.wing(into.share) + 2.0 * unit.radius(main.share) + unit.wing(out.share);
        let others = tie.others.iter().map(|part| 2.0 * unit.radius(part.share));
        let height = others.fold(unit.height(tie), f64::max);
        let length = (TIE_WIDTH / width).min(TIE_HEIGHT / height);
        Scale { whole: if length.is_finite() { length * length } else { 0.0 } }
    }

    /// Height of the tie.
    fn height(&self, tie: &BowTie) -> f64 {
        let [into, main, out] = &tie.tie;
        (OUTER * self.wing(into.share)).max(OUTER * self.wing(out.share)).max(2.0 * self.radius(main.share))
    }

    /// Width of a wing with this share of the area.
    fn wing(&self, share: f64) -> f64 {
        side(share * self.whole / ((INNER + OUTER) / 2.0))
    }

    fn radius(&self, share: f64) -> f64 {
        side(share * self.whole / std::f64::consts::PI)
    }
}

fn side(area: f64) -> f64 {
    if area > 0.0 { area.sqrt() } else { 0.0 }
}

/// Draws a trapezium between two vertical edges, given by position and height.
fn draw_wing(
    (left, left_height): (f64, f64),
    (right, right_height): (f64, f64),
    middle: f64,
    canvas: &mut Canvas,
) {
    if right > left {
        let corners = [
            (left, middle - left_height / 2.0),
            (right, middle - right_height / 2.0),
            (right, middle + right_height / 2.0),
            (left, middle + left_height / 2.0),
        ];
        canvas.polygon(&corners, "fill c5");
    }
}

fn draw_label(part: &BowTiePart, x: f64, y: f64, align: &str, canvas: &mut Canvas) {
    canvas.text(x, y, &format!("strong{align}"), &part.name);
    canvas.text(x, y + LINE, align.trim_start(), &Format::Percent.value(part.share, 1));
    canvas.text(x, y + 2.0 * LINE, &format!("dim{align}"), &part.count);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tie(shares: [f64; 3]) -> BowTie {
        let part = |share: f64| BowTiePart {
            name: format!("N{share:.0}").replace("NaN", "none"),
            count: "7 pages".to_owned(),
            share,
        };
        BowTie {
            tie: shares.map(part),
            others: vec![part(1.0 - shares.iter().sum::<f64>())],
            ..BowTie::default()
        }
    }

    #[test]
    fn areas_are_proportional_to_shares_and_empty_parts_are_only_labelled() {
        let tie = tie([0.0, 0.5, 0.25]);
        let svg = tie.svg();
        assert!(svg.contains("50 %") && svg.contains("0 %"), "{svg}");
        assert_eq!(svg.matches("<polygon").count(), 1, "no wing for an empty part");
        let scale = Scale::of(&tie);
        let (half, quarter) = (scale.radius(0.5), scale.wing(0.25));
        assert!((std::f64::consts::PI * half * half / 2.0 - 0.9 * quarter * quarter).abs() < 1e-6);
    }

    #[test]
    fn the_diagram_fits_for_all_shares() {
        for (a, b) in [(1.0, 0.0), (0.0, 1.0), (0.34, 0.33), (0.0, 0.0), (0.001, 0.0), (f64::NAN, 0.2)] {
            let tie = tie([a, b, 1.0 - a - b]);
            assert!(!tie.svg().contains("NaN"), "{a} {b}");
            assert!(Scale::of(&tie).height(&tie) <= TIE_HEIGHT + 0.01, "{a} {b}");
        }
    }
}
