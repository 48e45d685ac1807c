//! Horizontal bar charts, so that long names are readable.

use crate::axis::{Axis, AxisScale};
use crate::canvas::{COMPARED, Canvas, Heading, SeriesStyle};
use crate::labels::{ellipsize, width};

/// A bar chart with one bar per name, or one per name and series.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bars {
    /// Title.
    pub title: String,
    /// Subtitle.
    pub subtitle: String,
    /// Whether title and subtitle are drawn.
    pub heading: Heading,
    /// The value axis.
    pub axis: Axis,
    /// Decimals of the value labels.
    pub digits: usize,
    /// Names of the series, if there are several.
    pub series: Vec<String>,
    /// Bars, from top to bottom.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Bar {
    /// Name.
    pub name: String,
    /// Value.
    pub value: f64,
    /// Values of the further series.
    pub others: Vec<f64>,
    /// Labels instead of the formatted values, if set.
    pub labels: Vec<String>,
    /// Style; [`SeriesStyle::Colour`] is the same colour for all bars.
    pub style: SeriesStyle,
}

const WIDTH: f64 = 760.0;
const TOP: f64 = 16.0;
const LEGEND: f64 = 22.0;
const SPACE: f64 = 10.0;
const BAR: f64 = 17.0;
/// Height of a bar if there are several series.
const THIN_BAR: f64 = 13.0;
const BOTTOM: f64 = 50.0;
const FONT_PX: f64 = 12.0;

impl Bars {
    /// Renders the chart as SVG.
    pub fn svg(&self) -> String {
        let (many, thickness) =
            (self.series.len().max(1), if self.series.len() > 1 { THIN_BAR } else { BAR });
        let row = thickness * many as f64 + SPACE;
        let top = self.heading.height() + TOP + if many > 1 { LEGEND } else { 0.0 };
        let bottom = top + row * self.bars.len() as f64;
        let mut canvas = Canvas::new(WIDTH, bottom + BOTTOM, &self.title, &self.subtitle);
        self.heading.draw(&self.title, &self.subtitle, &mut canvas);
        if many > 1 {
            self.draw_legend(top - 12.0, &mut canvas);
        }
        let widest = |widths: &mut dyn Iterator<Item = f64>| widths.fold(0.0, f64::max);
        let names = widest(&mut self.bars.iter().map(|bar| width(&bar.name, FONT_PX)));
        let labels =
            widest(&mut self.bars.iter().flat_map(|bar| &bar.labels).map(|text| width(text, FONT_PX)));
        let (left, right) = (20.0 + names.min(WIDTH / 3.0), WIDTH - (labels * 1.06 + 12.0).max(64.0));
        let values = self.bars.iter().flat_map(|bar| bar.others.iter().chain([&bar.value])).copied();
        let scale = AxisScale::new(&self.axis, values.chain([0.0]), 6).between(left, right);
        for tick in &scale.ticks {
            let Some(x) = scale.position(tick.value) else { continue };
            canvas.line((x, top), (x, bottom), "rule");
            canvas.text(x, bottom + 17.0, "dim middle", &tick.label);
        }
        canvas.text((left + right) / 2.0, bottom + 38.0, "dim middle", &self.axis.title);
        for (index, bar) in self.bars.iter().enumerate() {
            let position =
                RowPosition { top: top + row * index as f64 + SPACE / 2.0, thick: thickness, left, right };
            self.draw(bar, &position, &scale, &mut canvas);
        }
        canvas.line((left, top), (left, bottom), "base");
        canvas.finish()
    }

    fn draw_legend(&self, y: f64, canvas: &mut Canvas) {
        let mut x = 8.0;
        for (number, name) in self.series.iter().enumerate() {
            canvas.bar(x, y - 10.0, 12.0, 10.0, &format!("fill {}", colour_of(number)));
            canvas.text(x + 18.0, y, "dim", name);
            x += 18.0 + width(name, FONT_PX) * 1.06 + 24.0;
        }
    }

    fn draw(&self, bar: &Bar, position: &RowPosition, scale: &AxisScale, canvas: &mut Canvas) {
        let strong = if bar.style == SeriesStyle::Strong { " strong" } else { "" };
        let name = ellipsize(&bar.name, FONT_PX, WIDTH / 3.0);
        let middle = position.top + position.thick * (1.0 + bar.others.len() as f64) / 2.0;
        canvas.text(position.left - 8.0, middle + 4.0, &format!("end{strong}"), &name);
        let values = [bar.value].into_iter().chain(bar.others.iter().copied());
        for (number, value) in values.enumerate() {
            let colour = match bar.style {
                SeriesStyle::Colour => colour_of(number),
                SeriesStyle::Strong => "s",
                SeriesStyle::Compared => COMPARED,
                SeriesStyle::Reference => "ink",
                SeriesStyle::Quiet => "quiet",
            };
            let y = position.top + position.thick * number as f64;
            let Some(end) = scale.position(value).map(|end| end.clamp(position.left, position.right)) else {
                continue;
            };
            canvas.bar(position.left, y, end - position.left, position.thick, &format!("fill {colour}"));
            let written = || self.axis.format.value(value, self.digits);
            let label = bar.labels.get(number).cloned().unwrap_or_else(written);
            canvas.text(end + 6.0, y + position.thick / 2.0 + 4.0, &format!("dim{strong}"), &label);
        }
    }
}

/// Position of the bars of a name.
struct RowPosition {
    top: f64,
    thick: f64,
    left: f64,
    right: f64,
}

fn colour_of(number: usize) -> &'static str {
    if number == 0 { "c0" } else { COMPARED }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Format;

    #[test]
    fn each_bar_has_its_name_and_value() {
        let bar = |name: &str, value| Bar { name: name.to_owned(), value, ..Bar::default() };
        let axis = Axis { format: Format::Percent, limits: Some((0.0, 1.0)), ..Axis::default() };
        let bars =
            Bars { axis, digits: 1, bars: vec![bar("a&b", 0.9512), bar("c", f64::NAN)], ..Bars::default() };
        let svg = bars.svg();
        assert!(svg.contains("a&amp;b") && svg.contains("95.1 %") && !svg.contains("NaN"), "{svg}");
    }

    #[test]
    fn bars_of_one_name_are_stacked_vertically() {
        let labels = vec!["2 pages".to_owned()];
        let bar = Bar { name: "a".to_owned(), value: 2.0, others: vec![1.0], labels, ..Bar::default() };
        let bars =
            Bars { series: vec!["now".to_owned(), "then".to_owned()], bars: vec![bar], ..Bars::default() };
        let svg = bars.svg();
        assert!([">now<", ">then<", ">2 pages<", ">1<"].iter().all(|text| svg.contains(text)), "{svg}");
        assert_eq!(svg.matches("fill compared").count(), 2, "a legend sample and a bar");
    }
}
