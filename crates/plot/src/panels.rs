//! Several charts of the same data side by side, with one legend.

use crate::canvas::{Canvas, Heading, Palette, Rect};
use crate::chart::Chart;
use crate::labels::width;

/// Charts from left to right. Series with the same name have the same colour.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Panels {
    /// Title.
    pub title: String,
    /// Subtitle.
    pub subtitle: String,
    /// Whether title and subtitle are drawn.
    pub heading: Heading,
    /// The charts; their titles are not drawn, and the names of their series are in the legend.
    pub charts: Vec<Chart>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 330.0;
const LEGEND: f64 = 24.0;
const FONT_PX: f64 = 12.0;
/// Distance from a sample line to its label, and from there to the next sample.
const SAMPLE: f64 = 22.0;
const NAME_GAP: f64 = 24.0;

impl Panels {
    /// Renders the panels as SVG.
    pub fn svg(&self) -> String {
        let legend = self.legend();
        let top = self.heading.height() + if legend.is_empty() { 0.0 } else { LEGEND };
        let mut canvas = Canvas::new(WIDTH, top + HEIGHT, &self.title, &self.subtitle);
        self.heading.draw(&self.title, &self.subtitle, &mut canvas);
        draw_legend(&legend, top - 4.0, &mut canvas);
        let panel_width = WIDTH / self.charts.len().max(1) as f64;
        for (index, chart) in self.charts.iter().enumerate() {
            let mut chart = chart.clone();
            chart.series.iter_mut().for_each(|series| series.name.clear());
            let area = Rect { left: panel_width * index as f64, top, width: panel_width, height: HEIGHT };
            chart.draw(area, &mut Palette::default(), &mut canvas);
        }
        canvas.finish()
    }

    /// Names of all series, panel_width once, with their classes.
    fn legend(&self) -> Vec<(String, String)> {
        let mut legend: Vec<(String, String)> = Vec::new();
        for chart in &self.charts {
            let mut palette = Palette::default();
            for series in &chart.series {
                let class = palette.next(series.style);
                if !series.name.is_empty() && !legend.iter().any(|(name, _)| *name == series.name) {
                    legend.push((series.name.clone(), class));
                }
            }
        }
        legend
    }
}

/// Draws sample lines with their labels, from left to right.
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
    use crate::canvas::SeriesStyle;
    use crate::chart::Series;

    #[test]
    fn each_name_is_in_the_legend_once() {
        let series = |name: &str, tone| Series {
            name: name.to_owned(),
            style: tone,
            points: vec![(1.0, 1.0), (2.0, 3.0)],
            ..Series::default()
        };
        let one = Chart { series: vec![series("now", SeriesStyle::Colour)], ..Chart::default() };
        let other = Chart {
            series: vec![series("now", SeriesStyle::Colour), series("law", SeriesStyle::Reference)],
            ..Chart::default()
        };
        let panels =
            Panels { heading: Heading::AccessibleOnly, charts: vec![one, other], ..Panels::default() };
        let svg = panels.svg();
        assert_eq!((svg.matches(">now<").count(), svg.matches(">law<").count()), (1, 1), "{svg}");
        assert_eq!(svg.matches("series c0").count(), 3, "one line per chart and a sample");
    }
}
