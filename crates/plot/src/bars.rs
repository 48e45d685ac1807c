//! Bars that lie, so that long names can be read, each with its value.

use crate::axis::{Axis, Ruler};
use crate::canvas::{Canvas, Tone};
use crate::labels::width;

/// One value for each of several names, from top to bottom.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bars {
    /// What the picture says.
    pub title: String,
    /// What it shows.
    pub subtitle: String,
    /// What the bars measure.
    pub axis: Axis,
    /// Digits after the point of the values beside the bars.
    pub digits: usize,
    /// From top to bottom.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bar {
    /// What it stands for.
    pub name: String,
    /// How long it is.
    pub value: f64,
    /// How strongly it is drawn; [`Tone::Colour`] is the same colour for all.
    pub tone: Tone,
}

const WIDTH: f64 = 760.0;
const TOP: f64 = 62.0;
const ROW: f64 = 27.0;
const BAR: f64 = 17.0;
const BOTTOM: f64 = 50.0;
const FONT_PX: f64 = 12.0;

impl Bars {
    /// The picture.
    pub fn svg(&self) -> String {
        let bottom = TOP + ROW * self.bars.len() as f64;
        let mut canvas = Canvas::new(WIDTH, bottom + BOTTOM, &self.title, &self.subtitle);
        canvas.text(8.0, 24.0, "title", &self.title);
        canvas.text(8.0, 44.0, "dim", &self.subtitle);
        let names = self.bars.iter().map(|bar| width(&bar.name, FONT_PX)).fold(0.0, f64::max);
        let (left, right) = (20.0 + names.min(WIDTH / 3.0), WIDTH - 64.0);
        let values = self.bars.iter().map(|bar| bar.value).chain([0.0]);
        let ruler = Ruler::new(&self.axis, values, 6).between(left, right);
        for tick in &ruler.ticks {
            let Some(x) = ruler.place(tick.value) else { continue };
            canvas.line((x, TOP), (x, bottom), "rule");
            canvas.text(x, bottom + 17.0, "dim middle", &tick.label);
        }
        canvas.text((left + right) / 2.0, bottom + 38.0, "dim middle", &self.axis.title);
        for (number, bar) in self.bars.iter().enumerate() {
            let middle = TOP + ROW * (number as f64 + 0.5);
            self.draw(bar, middle, (left, right), &ruler, &mut canvas);
        }
        canvas.line((left, TOP), (left, bottom), "base");
        canvas.finish()
    }

    fn draw(&self, bar: &Bar, middle: f64, (left, right): (f64, f64), ruler: &Ruler, canvas: &mut Canvas) {
        let colour = match bar.tone {
            Tone::Colour => "c0",
            Tone::Strong => "s",
            Tone::Reference => "ink",
            Tone::Quiet => "quiet",
        };
        let strong = if bar.tone == Tone::Strong { " strong" } else { "" };
        canvas.text(left - 8.0, middle + 4.0, &format!("end{strong}"), &bar.name);
        let Some(end) = ruler.place(bar.value).map(|end| end.clamp(left, right)) else { return };
        canvas.bar(left, middle - BAR / 2.0, end - left, BAR, &format!("fill {colour}"));
        let value = self.axis.format.value(bar.value, self.digits);
        canvas.text(end + 6.0, middle + 4.0, &format!("dim{strong}"), &value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Format;

    #[test]
    fn every_bar_has_its_name_and_its_value() {
        let bar = |name: &str, value| Bar { name: name.to_owned(), value, tone: Tone::Colour };
        let axis = Axis { format: Format::Percent, limits: Some((0.0, 1.0)), ..Axis::default() };
        let bars =
            Bars { axis, digits: 1, bars: vec![bar("a&b", 0.9512), bar("c", f64::NAN)], ..Bars::default() };
        let svg = bars.svg();
        assert!(svg.contains("a&amp;b") && svg.contains("95.1 %") && !svg.contains("NaN"), "{svg}");
    }
}
