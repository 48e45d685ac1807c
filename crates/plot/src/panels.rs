//! Two or more charts side by side that show the same data, with one legend for all.

use crate::canvas::{Area, Canvas, Heading, Palette};
use crate::chart::Chart;
use crate::labels::width;

/// Charts from left to right. Series of one name have one colour in all of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Panels {
    /// What the picture says.
    pub title: String,
    /// What it shows.
    pub subtitle: String,
    /// Whether these are drawn.
    pub heading: Heading,
    /// The charts; their titles are not drawn, and names of their series stand in the legend.
    pub charts: Vec<Chart>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 330.0;
const LEGEND: f64 = 24.0;
const FONT_PX: f64 = 12.0;
/// From a sample of a line to its name, and from there to the next sample.
const SAMPLE: f64 = 22.0;
const NAME_GAP: f64 = 24.0;

impl Panels {
    /// The picture.
    pub fn svg(&self) -> String {
        let legend = self.legend();
        let top = self.heading.height() + if legend.is_empty() { 0.0 } else { LEGEND };
        let mut canvas = Canvas::new(WIDTH, top + HEIGHT, &self.title, &self.subtitle);
        self.heading.draw(&self.title, &self.subtitle, &mut canvas);
        draw_legend(&legend, top - 4.0, &mut canvas);
        let each = WIDTH / self.charts.len().max(1) as f64;
        for (number, chart) in self.charts.iter().enumerate() {
            let mut chart = chart.clone();
            chart.series.iter_mut().for_each(|series| series.name.clear());
            let area = Area { left: each * number as f64, top, width: each, height: HEIGHT };
            chart.draw(area, &mut Palette::default(), &mut canvas);
        }
        canvas.finish()
    }

    /// The names of all series, each once, with their classes.
    fn legend(&self) -> Vec<(String, String)> {
        let mut legend: Vec<(String, String)> = Vec::new();
        for chart in &self.charts {
            let mut palette = Palette::default();
            for series in &chart.series {
                let class = palette.next(series.tone);
                if !series.name.is_empty() && !legend.iter().any(|(name, _)| *name == series.name) {
                    legend.push((series.name.clone(), class));
                }
            }
        }
        legend
    }
}

/// Samples of lines with their names, from left to right.
pub(crate) fn draw_legend(legend: &[(String, String)], y: f64, canvas: &mut Canvas) {
    let mut x = 8.0;
    for (name, class) in legend {
        canvas.line((x, y - 4.0), (x + SAMPLE - 6.0, y - 4.0), &format!("series {class}"));
        canvas.text(x + SAMPLE, y, "dim", name);
        x += SAMPLE + width(name, FONT_PX) * 1.06 + NAME_GAP;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canvas::Tone;
    use crate::chart::Series;

    #[test]
    fn a_name_stands_in_the_legend_once() {
        let series = |name: &str, tone| Series {
            name: name.to_owned(),
            tone,
            points: vec![(1.0, 1.0), (2.0, 3.0)],
            ..Series::default()
        };
        let one = Chart { series: vec![series("now", Tone::Colour)], ..Chart::default() };
        let other = Chart {
            series: vec![series("now", Tone::Colour), series("law", Tone::Reference)],
            ..Chart::default()
        };
        let panels = Panels { heading: Heading::Told, charts: vec![one, other], ..Panels::default() };
        let svg = panels.svg();
        assert_eq!((svg.matches(">now<").count(), svg.matches(">law<").count()), (1, 1), "{svg}");
        assert_eq!(svg.matches("series c0").count(), 3, "a line each and a sample");
    }
}
