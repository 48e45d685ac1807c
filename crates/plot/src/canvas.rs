//! SVG output: elements with classes, one style sheet for all plots, and escaped text.

use std::fmt::Write;

/// Style of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SeriesStyle {
    /// The next colour of the palette.
    #[default]
    Colour,
    /// A highlight colour, the same in all plots, with a thicker line.
    Strong,
    /// Text colour, dashed: a reference for the others.
    Reference,
    /// The colour with the highest contrast to the first: the same series of a second input.
    Compared,
    /// Grey.
    Quiet,
}

/// Whether a plot shows its title and subtitle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Heading {
    /// Above the plot.
    #[default]
    Drawn,
    /// Only for screen readers: the page has a heading of its own.
    AccessibleOnly,
}

impl Heading {
    /// Height of the heading.
    pub(crate) fn height(self) -> f64 {
        match self {
            Heading::Drawn => 46.0,
            Heading::AccessibleOnly => 0.0,
        }
    }

    pub(crate) fn draw(self, title: &str, subtitle: &str, canvas: &mut Canvas) {
        if self == Heading::Drawn {
            canvas.text(8.0, 24.0, "title", title);
            canvas.text(8.0, 44.0, "dim", subtitle);
        }
    }
}

/// A part of the canvas.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rect {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// Number of colours; further series are dashed.
pub(crate) const COLOURS: usize = 7;

/// Class of the series of a second input.
pub(crate) const COMPARED: &str = "compared";

/// A plot that is being written.
pub(crate) struct Canvas {
    out: String,
}

/// Escapes text for XML and HTML. Characters that XML forbids become spaces.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push(' '),
            character if character.is_control() => out.push(' '),
            character => out.push(character),
        }
    }
    out
}

/// Converts a plot for print, and for renderers without custom properties: light colours, no background.
pub fn for_print(svg: &str) -> String {
    let is_kept = |line: &&str| !line.starts_with("@media") && !line.starts_with(".plot .ground");
    let style: Vec<String> = STYLE.lines().filter(is_kept).map(without_properties).collect();
    svg.replace(STYLE, &(style.join("\n") + "\n.plot .ground{fill:none}\n</style>\n"))
}

/// A rule of the style sheet without definitions and uses of custom properties.
fn without_properties(rule: &str) -> String {
    let Some((selector, body)) = rule.split_once('{') else {
        return rule.replace("</style>", "");
    };
    let body = body.trim_end_matches('}');
    let is_plain = |part: &&str| !part.starts_with("--") && !part.contains("var(--");
    let plain: Vec<&str> = body.split(';').filter(is_plain).collect();
    format!("{selector}{{{}}}", plain.join(";"))
}

/// A coordinate, rounded to a tenth of a pixel.
pub(crate) fn px(value: f64) -> String {
    let tenths = (value * 10.0).round().clamp(-1e9, 1e9) as i64;
    let (sign, tenths) = (if tenths < 0 { "-" } else { "" }, tenths.abs());
    match tenths % 10 {
        0 => format!("{sign}{}", tenths / 10),
        tenth => format!("{sign}{}.{tenth}", tenths / 10),
    }
}

impl Canvas {
    pub(crate) fn new(width: f64, height: f64, title: &str, description: &str) -> Canvas {
        let (width, height) = (px(width), px(height));
        let (name, description) = (escape(title), escape(description));
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\">\n<title>{name}</title>\n"
        );
        if !description.is_empty() {
            out += &format!("<desc>{description}</desc>\n");
        }
        out += STYLE;
        out += "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n";
        Canvas { out }
    }

    /// Appends a complete element.
    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.out.write_fmt(element);
        self.out.push('\n');
    }

    pub(crate) fn text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        let (x, y, text) = (px(x), px(y), escape(text));
        self.push(format_args!("<text x=\"{x}\" y=\"{y}\" class=\"{class}\">{text}</text>"));
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let (x1, y1, x2, y2) = (px(from.0), px(from.1), px(to.0), px(to.1));
        self.push(format_args!("<path d=\"M{x1} {y1}L{x2} {y2}\" class=\"{class}\"/>"));
    }

    /// Draws a line; points equal to the one before are omitted.
    pub(crate) fn polyline(&mut self, points: &[(f64, f64)], class: &str) {
        let mut path = String::with_capacity(points.len() * 8);
        let mut last = String::new();
        for (x, y) in points {
            let here = format!("{} {}", px(*x), px(*y));
            if here != last {
                path.push(if path.is_empty() { 'M' } else { 'L' });
                path.push_str(&here);
                last = here;
            }
        }
        if !path.is_empty() {
            self.push(format_args!("<path d=\"{path}\" class=\"{class}\"/>"));
        }
    }

    /// Draws a filled polygon.
    pub(crate) fn polygon(&mut self, corners: &[(f64, f64)], class: &str) {
        let corners: Vec<String> = corners.iter().map(|(x, y)| format!("{},{}", px(*x), px(*y))).collect();
        self.push(format_args!("<polygon points=\"{}\" class=\"{class}\"/>", corners.join(" ")));
    }

    pub(crate) fn dot(&mut self, x: f64, y: f64, radius: f64, class: &str) {
        let (x, y, radius) = (px(x), px(y), px(radius));
        self.push(format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" class=\"{class}\"/>"));
    }

    pub(crate) fn bar(&mut self, x: f64, y: f64, width: f64, height: f64, class: &str) {
        let (x, y, width, height) = (px(x), px(y), px(width.max(0.0)), px(height));
        self.push(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" class=\"{class}\"/>"
        ));
    }

    pub(crate) fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }
}

/// Light and dark colours. The hues are those of Okabe and Ito, darkened or lightened so that text in them is readable;
/// each rule states the light colour first, for renderers without custom properties.
const STYLE: &str = "<style>
svg.plot{--ground:#fff;--ink:#1c2024;--dim:#5d6670;--rule:#e4e7eb;--quiet:#a9b0b8;--s:#c24e00;--c0:#0068a8;--c1:#00805c;--c2:#a8437f;--c3:#8a6a00;--c4:#5a4fc0;--c5:#0e8aa8;--c6:#7a4a2a;max-width:100%;height:auto;font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',Arial,'Libertinus Serif',sans-serif;font-size:12px}
@media (prefers-color-scheme:dark){svg.plot{--ground:#14171a;--ink:#e6e9ec;--dim:#9aa4ae;--rule:#2b3138;--quiet:#5c656e;--s:#ff9152;--c0:#5ab4ee;--c1:#35c99b;--c2:#ea94c6;--c3:#e3ba4a;--c4:#aba1ff;--c5:#6cd9ee;--c6:#d6a27d}}
.plot .ground{fill:#fff;fill:var(--ground)}
.plot text{fill:#1c2024;fill:var(--ink)}
.plot .title{font-size:16px;font-weight:600}
.plot .dim{fill:#5d6670;fill:var(--dim)}
.plot .middle{text-anchor:middle}
.plot .end{text-anchor:end}
.plot .rule{stroke:#e4e7eb;stroke:var(--rule);fill:none}
.plot .base{stroke:#5d6670;stroke:var(--dim);fill:none}
.plot .series{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}
.plot .strong{stroke-width:3}
.plot text.strong{font-weight:600}
.plot .dashed{stroke-dasharray:6 4}
.plot .lead{fill:none;stroke:currentColor;stroke-width:.8;opacity:.7}
.plot .dot{fill:currentColor;fill-opacity:.55}
.plot .fill{fill:currentColor}
.plot .under{fill:currentColor;fill-opacity:.16}
.plot text.name{fill:currentColor}
.plot text.inside{fill:#fff;fill:var(--ground)}
.plot .s{color:#c24e00;color:var(--s)}
.plot .c0{color:#0068a8;color:var(--c0)}
.plot .c1{color:#00805c;color:var(--c1)}
.plot .c2{color:#a8437f;color:var(--c2)}
.plot .c3{color:#8a6a00;color:var(--c3)}
.plot .c4{color:#5a4fc0;color:var(--c4)}
.plot .c5{color:#0e8aa8;color:var(--c5)}
.plot .c6{color:#7a4a2a;color:var(--c6)}
.plot .ink{color:#1c2024;color:var(--ink)}
.plot .compared{color:#c24e00;color:var(--s)}
.plot .quiet{color:#a9b0b8;color:var(--quiet)}
</style>
";

/// Assigns a colour to each series.
#[derive(Default)]
pub(crate) struct Palette {
    used: usize,
}

impl Palette {
    /// Classes of the next series.
    pub(crate) fn next(&mut self, style: SeriesStyle) -> String {
        match style {
            SeriesStyle::Colour => {
                let number = self.used;
                self.used += 1;
                let dashed = if number >= COLOURS { " dashed" } else { "" };
                format!("c{}{dashed}", number % COLOURS)
            }
            SeriesStyle::Strong => "s strong".to_owned(),
            SeriesStyle::Reference => "ink dashed".to_owned(),
            SeriesStyle::Compared => COMPARED.to_owned(),
            SeriesStyle::Quiet => "quiet".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_for_print_has_no_custom_properties_and_all_colours() {
        let svg = for_print(&Canvas::new(10.0, 10.0, "a", "").finish());
        assert!(!svg.contains("--") && !svg.contains("@media"), "{svg}");
        assert!(
            svg.contains(".plot .c0{color:#0068a8}") && svg.contains(".plot text{fill:#1c2024}"),
            "{svg}"
        );
        assert_eq!((svg.matches("<style>").count(), svg.matches("</style>").count()), (1, 1), "{svg}");
    }
}
