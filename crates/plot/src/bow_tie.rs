//! The macro structure of a graph: IN, MAIN and OUT as a bow tie, what hangs off it beneath. Areas are shares.

use crate::axis::Format;
use crate::canvas::{Canvas, Heading};
use crate::labels::spread;

/// The parts of a bow tie.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BowTie {
    /// What the picture says.
    pub title: String,
    /// What it shows.
    pub subtitle: String,
    /// Whether these are drawn.
    pub heading: Heading,
    /// What reaches the middle, the middle, and what is reached from there.
    pub tie: [Knot; 3],
    /// What hangs off it or stands apart.
    pub others: Vec<Knot>,
}

/// A part: its name, how many there are, and which share of all they are.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Knot {
    /// As it is called.
    pub name: String,
    /// How many, in words.
    pub count: String,
    /// Of all, up to 1.
    pub share: f64,
}

const WIDTH: f64 = 760.0;
/// The middle of the tie, and the lines beneath it.
const MIDDLE: f64 = 132.0;
const LABELS: f64 = 274.0;
const OTHERS: f64 = 352.0;
const HEIGHT: f64 = 400.0;
/// The area of everything, in square pixels.
const WHOLE: f64 = 34_000.0;
const GAP: f64 = 16.0;
const LABEL_GAP: f64 = 130.0;
const LINE: f64 = 16.0;
/// A part that is there is seen.
const LEAST_PX: f64 = 2.0;

/// The inner and the outer height of a wing, in widths of it.
const INNER: f64 = 0.55;
const OUTER: f64 = 1.25;

impl BowTie {
    /// The picture.
    pub fn svg(&self) -> String {
        let top = self.heading.height();
        let mut canvas = Canvas::new(WIDTH, top + HEIGHT, &self.title, &self.subtitle);
        self.heading.draw(&self.title, &self.subtitle, &mut canvas);
        let centres = self.draw_tie(top + MIDDLE, &mut canvas);
        let places = spread(&centres, LABEL_GAP, LABEL_GAP / 2.0, WIDTH - LABEL_GAP / 2.0);
        for (knot, x) in self.tie.iter().zip(places) {
            draw_label(knot, x, top + LABELS, " middle", &mut canvas);
        }
        let each = WIDTH / self.others.len().max(1) as f64;
        for (number, knot) in self.others.iter().enumerate() {
            let x = each * number as f64 + each * 0.3;
            let radius = radius(knot.share);
            canvas.dot(x, top + OTHERS, radius, "fill quiet");
            draw_label(knot, x + radius + 10.0, top + OTHERS - LINE + 4.0, "", &mut canvas);
        }
        canvas.finish()
    }

    /// Draws the three shapes one beside the other; tells where their centres are.
    fn draw_tie(&self, middle: f64, canvas: &mut Canvas) -> [f64; 3] {
        let [into, main, out] = [&self.tie[0], &self.tie[1], &self.tie[2]];
        let (left, radius, right) = (wing(into.share), radius(main.share), wing(out.share));
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

/// The width of a wing whose area is that share.
fn wing(share: f64) -> f64 {
    side(share * WHOLE / ((INNER + OUTER) / 2.0))
}

fn radius(share: f64) -> f64 {
    side(share * WHOLE / std::f64::consts::PI)
}

fn side(area: f64) -> f64 {
    if area > 0.0 { area.sqrt().clamp(LEAST_PX, WIDTH / 3.0) } else { 0.0 }
}

/// A trapezium between two upright edges, given by place and height.
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

fn draw_label(knot: &Knot, x: f64, y: f64, align: &str, canvas: &mut Canvas) {
    canvas.text(x, y, &format!("strong{align}"), &knot.name);
    canvas.text(x, y + LINE, align.trim_start(), &Format::Percent.value(knot.share, 1));
    canvas.text(x, y + 2.0 * LINE, &format!("dim{align}"), &knot.count);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tie(shares: [f64; 3]) -> BowTie {
        let knot = |share: f64| Knot {
            name: format!("N{share:.0}").replace("NaN", "none"),
            count: "7 pages".to_owned(),
            share,
        };
        BowTie {
            tie: shares.map(knot),
            others: vec![knot(1.0 - shares.iter().sum::<f64>())],
            ..BowTie::default()
        }
    }

    #[test]
    fn areas_are_shares_and_empty_parts_are_only_named() {
        let svg = tie([0.0, 0.5, 0.25]).svg();
        assert!(svg.contains("50 %") && svg.contains(">N0<") && svg.contains("0 %"), "{svg}");
        assert_eq!(svg.matches("<polygon").count(), 1, "no wing for nothing");
        let (half, quarter) = (radius(0.5), wing(0.25));
        assert!((std::f64::consts::PI * half * half / 2.0 - 0.9 * quarter * quarter).abs() < 1e-6);
    }

    #[test]
    fn nothing_lies_outside_whatever_the_shares() {
        for (a, b) in [(1.0, 0.0), (0.0, 1.0), (0.34, 0.33), (0.0, 0.0), (f64::NAN, 0.2)] {
            let svg = tie([a, b, 1.0 - a - b]).svg();
            assert!(!svg.contains("NaN"), "{svg}");
        }
        assert!(MIDDLE - wing(1.0) * OUTER / 2.0 > 0.0 && MIDDLE + wing(1.0) * OUTER / 2.0 < LABELS - LINE);
    }
}
