//! Shares of a whole: one lying bar for each row, cut into parts that together are all of it.

use crate::canvas::{Canvas, Palette, Tone};
use crate::labels::{spread, width};

/// How several wholes are made up of the same parts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shares {
    /// What the picture says.
    pub title: String,
    /// What it shows.
    pub subtitle: String,
    /// The names of the parts, from left to right.
    pub parts: Vec<String>,
    /// From top to bottom.
    pub rows: Vec<Share>,
}

/// One whole.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Share {
    /// What it is.
    pub name: String,
    /// The sizes of its parts, in any unit.
    pub sizes: Vec<f64>,
}

const WIDTH: f64 = 760.0;
const TOP: f64 = 96.0;
const ROW: f64 = 32.0;
const BAR: f64 = 22.0;
const FONT_PX: f64 = 12.0;

impl Shares {
    /// The picture.
    pub fn svg(&self) -> String {
        let bottom = TOP + ROW * self.rows.len() as f64;
        let mut canvas = Canvas::new(WIDTH, bottom + 14.0, &self.title, &self.subtitle);
        canvas.text(8.0, 24.0, "title", &self.title);
        canvas.text(8.0, 44.0, "dim", &self.subtitle);
        let names = self.rows.iter().map(|row| width(&row.name, FONT_PX)).fold(0.0, f64::max);
        let (left, right) = (20.0 + names.min(WIDTH / 3.0), WIDTH - 20.0);
        let mut palette = Palette::default();
        let classes: Vec<String> = self.parts.iter().map(|_| palette.next(Tone::Colour)).collect();
        for (number, row) in self.rows.iter().enumerate() {
            let middle = TOP + ROW * (number as f64 + 0.5);
            canvas.text(left - 8.0, middle + 4.0, "end", &row.name);
            draw(row, &classes, (left, right, middle), &mut canvas);
        }
        self.draw_names(&classes, (left, right), &mut canvas);
        canvas.finish()
    }

    /// The names of the parts above the first bar, where their part is.
    fn draw_names(&self, classes: &[String], (left, right): (f64, f64), canvas: &mut Canvas) {
        let Some(row) = self.rows.first() else { return };
        let places = cuts(row, left, right);
        let middles: Vec<f64> = places.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
        let widest = self.parts.iter().map(|part| width(part, FONT_PX)).fold(0.0, f64::max);
        let spread = spread(&middles, widest + 12.0, left + widest / 2.0, right - widest / 2.0);
        for (((part, class), x), middle) in self.parts.iter().zip(classes).zip(spread).zip(middles) {
            let y = TOP - 16.0;
            canvas.text(x, y, &format!("name middle {class}"), part);
            canvas.line((x, y + 4.0), (middle, TOP + 4.0), &format!("lead {class}"));
        }
    }
}

/// Where the parts of a row begin and end; all at the left if there is nothing to share.
fn cuts(row: &Share, left: f64, right: f64) -> Vec<f64> {
    let size = |size: &f64| if size.is_finite() { size.max(0.0) } else { 0.0 };
    let whole: f64 = row.sizes.iter().map(size).sum();
    let mut sum = 0.0;
    let ends = row.sizes.iter().map(|part| {
        sum += size(part);
        left + if whole > 0.0 { sum / whole * (right - left) } else { 0.0 }
    });
    std::iter::once(left).chain(ends.collect::<Vec<_>>()).collect()
}

fn draw(row: &Share, classes: &[String], (left, right, middle): (f64, f64, f64), canvas: &mut Canvas) {
    for (pair, class) in cuts(row, left, right).windows(2).zip(classes) {
        let length = pair[1] - pair[0];
        // A thin gap tells neighbours apart without colour.
        canvas.bar(
            pair[0],
            middle - BAR / 2.0,
            (length - 1.0).max(length / 2.0),
            BAR,
            &format!("fill {class}"),
        );
        let share = format!("{:.0} %", length / (right - left) * 100.0);
        if length > width(&share, FONT_PX) + 8.0 {
            canvas.text((pair[0] + pair[1]) / 2.0, middle + 4.0, "inside middle", &share);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fill_the_whole() {
        let row = Share { name: "a".to_owned(), sizes: vec![1.0, f64::NAN, 3.0, -2.0] };
        assert_eq!(cuts(&row, 0.0, 100.0), [0.0, 25.0, 25.0, 100.0, 100.0]);
        let parts = ["one", "two", "three", "four"].map(str::to_owned).to_vec();
        let svg = Shares { parts, rows: vec![row], ..Shares::default() }.svg();
        assert!(svg.contains("25 %") && svg.contains("75 %") && !svg.contains("NaN"), "{svg}");
    }
}
