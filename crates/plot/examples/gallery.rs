//! Writes one plot of each kind to a directory: `cargo run -p plot --example gallery -- DIR`.

use std::path::PathBuf;

use plot::{Axis, Bar, Bars, Chart, Format, Scale, Series, SeriesStyle, Shape};

fn main() -> std::io::Result<()> {
    let dir = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    std::fs::create_dir_all(&dir)?;
    let pictures = [("lines", lines()), ("ccdf", ccdf()), ("bars", bars())];
    pictures.iter().try_for_each(|(name, svg)| std::fs::write(dir.join(format!("{name}.svg")), svg))
}

fn axis(title: &str) -> Axis {
    Axis { title: title.to_owned(), ..Axis::default() }
}

fn lines() -> String {
    let line = |number: i32| {
        let power = 0.3 + 0.07 * f64::from(number);
        let points = (0..=100).map(|x| (f64::from(x) / 100.0, (f64::from(x) / 100.0).powf(power)));
        let style =
            [SeriesStyle::Reference, SeriesStyle::Strong].get(number as usize).copied().unwrap_or_default();
        Series { name: format!("strategy {number}"), style, points: points.collect(), ..Series::default() }
    };
    let percent = |title| Axis { format: Format::Percent, ..axis(title) };
    Chart {
        title: "Curves that end close together".to_owned(),
        subtitle: "with separated labels".to_owned(),
        x: Axis { limits: Some((0.0, 0.5)), ..percent("pages downloaded") },
        y: Axis { limits: Some((0.0, 1.0)), ..percent("share of all PageRank") },
        series: (0..9).map(line).collect(),
        ..Chart::default()
    }
    .svg()
}

fn ccdf() -> String {
    let points = |power: f64| (0..60).map(|n| 1.3f64.powi(n)).map(|x| (x, x.powf(-power))).collect();
    let tail = |name: &str, power, shape| Series {
        name: name.to_owned(),
        shape,
        points: points(power),
        ..Series::default()
    };
    Chart {
        title: "Two power laws".to_owned(),
        subtitle: "share of pages with a higher in-degree".to_owned(),
        x: Axis { scale: Scale::Log, ..axis("in-degree") },
        y: Axis { scale: Scale::Log, limits: Some((1e-6, 1.0)), ..axis("share of pages") },
        series: vec![tail("exponent 2", 1.0, Shape::Step), tail("exponent 2.4", 1.4, Shape::Scatter)],
        ..Chart::default()
    }
    .svg()
}

fn bars() -> String {
    let bar = |(name, value, style): (&str, f64, SeriesStyle)| Bar {
        name: name.to_owned(),
        value,
        style,
        ..Bar::default()
    };
    let values = [
        ("omniscient", 1.0, SeriesStyle::Reference),
        ("wire", 0.962, SeriesStyle::Strong),
        ("breadth-first", 0.91, SeriesStyle::Colour),
        ("random", 0.72, SeriesStyle::Quiet),
    ];
    Bars {
        title: "Area under the curve".to_owned(),
        subtitle: "relative to the omniscient order".to_owned(),
        axis: Axis { format: Format::Percent, limits: Some((0.0, 1.0)), ..Axis::default() },
        digits: 1,
        bars: values.map(bar).to_vec(),
        ..Bars::default()
    }
    .svg()
}
