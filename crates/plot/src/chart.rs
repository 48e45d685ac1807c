//! Charts with two axes: lines, steps, areas and points, each series labelled at its end.

use crate::axis::{Axis, AxisScale};
use crate::canvas::{Canvas, Heading, Palette, Rect, SeriesStyle};
use crate::labels::{separate_labels, width};

/// A chart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chart {
    /// Title.
    pub title: String,
    /// Subtitle.
    pub subtitle: String,
    /// Whether title and subtitle are drawn.
    pub heading: Heading,
    /// The x axis.
    pub x: Axis,
    /// The y axis.
    pub y: Axis,
    /// Series, the last on top.
    pub series: Vec<Series>,
}

/// A series of points.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// Label at the end of the line; empty for none.
    pub name: String,
    /// Shape.
    pub shape: Shape,
    /// Style.
    pub style: SeriesStyle,
    /// Points in the order in which they are joined.
    pub points: Vec<(f64, f64)>,
}

/// Shape of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// Joined by straight lines.
    #[default]
    Line,
    /// Each value holds until the next: counts and complementary cumulative distributions.
    Step,
    /// Steps with a filled area below: histograms.
    Area,
    /// Separate points.
    Scatter,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 394.0;
/// Space for the title of the y axis.
const TOP: f64 = 40.0;
const BOTTOM: f64 = 52.0;
const FONT_PX: f64 = 12.0;
/// Minimum distance of two labels.
const NAME_GAP: f64 = 16.0;
/// Distance from the end of the lines to their labels.
const LEAD: f64 = 20.0;

impl Chart {
    /// Renders the chart as SVG.
    pub fn svg(&self) -> String {
        let top = self.heading.height();
        let mut canvas = Canvas::new(WIDTH, top + HEIGHT, &self.title, &self.subtitle);
        self.heading.draw(&self.title, &self.subtitle, &mut canvas);
        let area = Rect { left: 0.0, top, width: WIDTH, height: HEIGHT };
        self.draw(area, &mut Palette::default(), &mut canvas);
        canvas.finish()
    }

    /// Draws everything except the heading, inside a rectangle.
    pub(crate) fn draw(&self, area: Rect, palette: &mut Palette, canvas: &mut Canvas) {
        let frame = PlotArea::new(self, area);
        frame.draw_titles(self, canvas);
        frame.draw_axes(self, canvas);
        let classes: Vec<String> = self.series.iter().map(|series| palette.next(series.style)).collect();
        for (series, class) in self.series.iter().zip(&classes) {
            frame.draw(series, class, canvas);
        }
        frame.draw_names(self, &classes, canvas);
    }
}

/// Layout of a chart.
struct PlotArea {
    area: Rect,
    x: AxisScale,
    y: AxisScale,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl PlotArea {
    fn new(chart: &Chart, area: Rect) -> PlotArea {
        let (top, bottom) = (area.top + TOP, area.top + area.height - BOTTOM);
        let points = || chart.series.iter().flat_map(|series| series.points.iter().copied());
        let y = AxisScale::new(&chart.y, points().map(|(_, y)| y), 5).between(bottom, top);
        let widest = |texts: &mut dyn Iterator<Item = &String>| {
            texts.map(|text| width(text, FONT_PX)).fold(0.0, f64::max)
        };
        let left = area.left + 19.0 + widest(&mut y.ticks.iter().map(|tick| &tick.label));
        let names = widest(&mut chart.series.iter().map(|series| &series.name));
        let room = if names > 0.0 { (names * 1.06 + LEAD + 14.0).min(area.width / 3.0) } else { 30.0 };
        let right = area.left + area.width - room;
        let x = AxisScale::new(&chart.x, points().map(|(x, _)| x), 6).between(left, right);
        PlotArea { area, x, y, left, right, top, bottom }
    }

    fn draw_titles(&self, chart: &Chart, canvas: &mut Canvas) {
        canvas.text(self.area.left + 8.0, self.top - 16.0, "dim", &chart.y.title);
        let below = self.area.top + self.area.height - 12.0;
        canvas.text((self.left + self.right) / 2.0, below, "dim middle", &chart.x.title);
    }

    fn draw_axes(&self, chart: &Chart, canvas: &mut Canvas) {
        for tick in &self.y.ticks {
            let Some(y) = self.y.position(tick.value) else { continue };
            canvas.line((self.left, y), (self.right, y), "rule");
            canvas.text(self.left - 8.0, y + 4.0, "dim end", &tick.label);
        }
        let mut free_from = f64::NEG_INFINITY;
        for tick in &self.x.ticks {
            let Some(x) = self.x.position(tick.value) else { continue };
            canvas.line((x, self.bottom), (x, self.bottom + 5.0), "base");
            let half = width(&tick.label, FONT_PX) / 2.0;
            if x - half >= free_from {
                canvas.text(x, self.bottom + 19.0, "dim middle", &tick.label);
                free_from = x + half + 6.0;
            }
        }
        canvas.line((self.left, self.bottom), (self.right, self.bottom), "base");
        if chart.series.iter().all(|series| series.points.is_empty()) {
            let middle = ((self.left + self.right) / 2.0, (self.top + self.bottom) / 2.0);
            canvas.text(middle.0, middle.1, "dim middle", "no data");
        }
    }

    fn draw(&self, series: &Series, class: &str, canvas: &mut Canvas) {
        if series.shape == Shape::Scatter {
            let inside = self.positions(series).into_iter().filter(|(x, y)| self.contains(*x, *y));
            let mut last = (f64::NAN, f64::NAN);
            for (x, y) in inside.map(|(x, y)| ((x * 2.0).round() / 2.0, (y * 2.0).round() / 2.0)) {
                if (x, y) != last {
                    canvas.dot(x, y, 2.5, &format!("dot {class}"));
                }
                last = (x, y);
            }
            return;
        }
        for part in self.clip(&self.positions(series)) {
            if let (Shape::Area, [(first, _), .., (last, _)]) = (series.shape, part.as_slice()) {
                let ground = [(*last, self.bottom), (*first, self.bottom)];
                let outline: Vec<(f64, f64)> = part.iter().copied().chain(ground).collect();
                canvas.polygon(&outline, &format!("under {class}"));
            }
            canvas.polyline(&part, &format!("series {class}"));
        }
    }

    /// Positions of the points that can be shown, with the corners of steps.
    fn positions(&self, series: &Series) -> Vec<(f64, f64)> {
        let mut positions: Vec<(f64, f64)> = Vec::with_capacity(series.points.len());
        for (x, y) in &series.points {
            let (Some(x), Some(y)) = (self.x.position(*x), self.y.position(*y)) else { continue };
            if let (Shape::Step | Shape::Area, Some((_, before))) = (series.shape, positions.last()) {
                let corner = (x, *before);
                positions.push(corner);
            }
            positions.push((x, y));
        }
        positions
    }

    fn contains(&self, x: f64, y: f64) -> bool {
        let near = 0.05;
        x >= self.left - near && x <= self.right + near && y >= self.top - near && y <= self.bottom + near
    }

    /// The parts of a line inside the axes.
    fn clip(&self, points: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
        let mut parts: Vec<Vec<(f64, f64)>> = Vec::new();
        if let [(x, y)] = points {
            return if self.contains(*x, *y) { vec![vec![(*x, *y), (*x + 0.1, *y)]] } else { Vec::new() };
        }
        for pair in points.windows(2) {
            let Some((from, to)) = self.clip_line(pair[0], pair[1]) else { continue };
            match parts.last_mut() {
                Some(part) if part.last() == Some(&from) => part.push(to),
                _ => parts.push(vec![from, to]),
            }
        }
        parts
    }

    /// The part of a straight line inside the axes (Liang-Barsky clipping).
    fn clip_line(&self, from: (f64, f64), to: (f64, f64)) -> Option<((f64, f64), (f64, f64))> {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let edges = [
            (-dx, from.0 - self.left),
            (dx, self.right - from.0),
            (-dy, from.1 - self.top),
            (dy, self.bottom - from.1),
        ];
        let (mut start, mut end) = (0.0f64, 1.0f64);
        for (along, room) in edges {
            if along == 0.0 && room < -0.05 {
                return None;
            } else if along < 0.0 {
                start = start.max((room + 1e-9) / along);
            } else if along > 0.0 {
                end = end.min((room + 1e-9) / along);
            }
        }
        let at = |share: f64| (from.0 + share * dx, from.1 + share * dy);
        let exact = |share: f64, whole: f64, point| if share == whole { point } else { at(share) };
        (start <= end).then(|| (exact(start, 0.0, from), exact(end, 1.0, to)))
    }

    /// Draws the labels at the ends of the lines, moved apart, with a thin leader line if they had to move.
    fn draw_names(&self, chart: &Chart, classes: &[String], canvas: &mut Canvas) {
        let mut ends = Vec::new();
        for (series, class) in chart.series.iter().zip(classes) {
            let parts = match series.shape {
                Shape::Scatter => {
                    vec![self.positions(series).into_iter().filter(|(x, y)| self.contains(*x, *y)).collect()]
                }
                Shape::Line | Shape::Step | Shape::Area => self.clip(&self.positions(series)),
            };
            if let (Some(end), false) = (parts.last().and_then(|part| part.last()), series.name.is_empty()) {
                ends.push((*end, series.name.as_str(), class.as_str()));
            }
        }
        let wanted: Vec<f64> = ends.iter().map(|((_, y), ..)| *y).collect();
        let positions = separate_labels(&wanted, NAME_GAP, self.top - 8.0, self.bottom - 10.0);
        for (((x, y), name, class), label_y) in ends.into_iter().zip(positions) {
            // A line that ends early is labelled there.
            let start = (x + LEAD).min(self.right + LEAD);
            let colour = class.replace("dashed", "");
            if (label_y - y).abs() > 1.5 {
                let path = [(x, y), (x + 4.0, y), (start - 4.0, label_y)];
                canvas.polyline(&path, &format!("lead {colour}"));
            }
            let name_class = if class == "quiet" { "dim".to_owned() } else { format!("name {colour}") };
            canvas.text(start, label_y + 4.0, &name_class, name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Scale;

    fn line(name: &str, points: &[(f64, f64)]) -> Series {
        Series { name: name.to_owned(), points: points.to_vec(), ..Series::default() }
    }

    fn frame(chart: &Chart) -> PlotArea {
        PlotArea::new(chart, Rect { left: 0.0, top: 0.0, width: WIDTH, height: HEIGHT })
    }

    #[test]
    fn the_same_data_give_the_same_plot_and_text_is_escaped() {
        let chart = Chart {
            title: "a < b & \"c\"\u{7}".to_owned(),
            series: vec![line("<script>", &[(0.0, 1.0), (1.0, 2.0)])],
            ..Chart::default()
        };
        let svg = chart.svg();
        assert_eq!(svg, chart.svg());
        assert!(svg.contains("a &lt; b &amp; &quot;c&quot; ") && !svg.contains("<script>"));
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn lines_are_clipped_at_the_axes() {
        let mut chart = Chart { series: vec![line("a", &[(0.0, 0.0), (2.0, 2.0)])], ..Chart::default() };
        chart.x.limits = Some((0.0, 1.0));
        chart.y.limits = Some((0.0, 2.0));
        let frame = frame(&chart);
        let parts = frame.clip(&frame.positions(&chart.series[0]));
        let end = parts[0][1];
        assert!(
            (end.0 - frame.right).abs() < 0.01 && (end.1 - (frame.top + frame.bottom) / 2.0).abs() < 0.01
        );
        assert_eq!(frame.clip_line((0.0, 0.0), (1.0, 1.0)), None, "outside");
    }

    #[test]
    fn a_step_holds_its_value_until_the_next() {
        let series = Series { shape: Shape::Step, ..line("a", &[(0.0, 1.0), (1.0, 0.0)]) };
        let chart = Chart { series: vec![series], ..Chart::default() };
        let frame = frame(&chart);
        let positions = frame.positions(&chart.series[0]);
        assert_eq!(positions.len(), 3);
        assert_eq!((positions[1].0, positions[1].1), (positions[2].0, positions[0].1));
    }

    #[test]
    fn points_that_cannot_be_shown_are_omitted() {
        let points = [(f64::NAN, 1.0), (0.0, 1.0), (10.0, f64::INFINITY), (10.0, 10.0), (100.0, -1.0)];
        let mut chart = Chart { series: vec![line("a", &points), line("b", &[])], ..Chart::default() };
        (chart.x.scale, chart.y.scale) = (Scale::Log, Scale::Log);
        let svg = chart.svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(Chart::default().svg().contains("no data"));
    }
}
