//! How are the pages found shown to people?

use std::path::Path;

use search::{Answer, FacetCount, Hit, Share, Snippet};

use crate::printer::{Meaning, Printer, printable};
use crate::words::{count, counted, size};

/// `2024-02-15`, in UTC.
fn day(unix_ms: i64) -> String {
    crate::words::time(unix_ms).split(' ').next().unwrap_or_default().to_owned()
}

/// The answer for people.
pub(super) fn print(
    answer: &Answer,
    from: usize,
    seconds: f64,
    dir: &Path,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    match answer.total {
        0 => printer.line(&format!("no page of {} fits", dir.display()))?,
        total => {
            let time = printer.paint(Meaning::Aside, &format!("in {:.1} ms", seconds * 1_000.0));
            let fit = if total == 1 { "fits" } else { "fit" };
            printer.line(&format!("{} {fit}, {time}", counted(total, "page")))?;
        }
    }
    if let Some(suggestion) = &answer.suggestion {
        let suggestion = printer.paint(Meaning::Match, &printable(suggestion));
        printer.line(&format!("did you mean: {suggestion}"))?;
    }
    for cut in &answer.cuts {
        printer.line(&printer.paint(Meaning::Aside, &cut.to_string()))?;
    }
    for (rank, hit) in (from + 1..).zip(&answer.hits) {
        printer.line("")?;
        print_hit(rank, hit, printer)?;
    }
    print_facets(answer, printer)
}

fn print_hit(rank: usize, hit: &Hit, printer: &mut Printer) -> anyhow::Result<()> {
    let title = marked(&hit.title, printer);
    let title = if title.is_empty() { printer.paint(Meaning::Aside, "without a title") } else { title };
    printer.line(&format!("{rank:>3}. {title}"))?;
    printer.line(&format!("     {}", printer.paint(Meaning::Good, &printable(&hit.url))))?;
    let snippet = marked(&hit.snippet, printer);
    if !snippet.is_empty() {
        printer.line(&format!("     {snippet}"))?;
    }
    let mut facts = vec![format!("score {:.2}", hit.score)];
    facts.extend(hit.date_ms.map(day));
    facts.extend(hit.language.as_deref().map(|code| printable(code).into_owned()));
    facts.push(size(hit.size_bytes));
    facts.extend(hit.in_links.map(|links| counted(links.into(), "in-link")));
    if hit.folded > 0 {
        facts.push(format!("{} nearly the same", counted(hit.folded.into(), "more page")));
    }
    printer.line(&format!("     {}", printer.paint(Meaning::Aside, &facts.join(", "))))?;
    for Share { what, score } in &hit.explanation {
        printer.line(&format!("     {score:>8.3}  {}", printable(what)))?;
    }
    Ok(())
}

/// With the words that were asked for painted.
fn marked(snippet: &Snippet, printer: &Printer) -> String {
    let mut text = if snippet.starts_within { "… ".to_owned() } else { String::new() };
    for piece in &snippet.pieces {
        let plain = printable(&piece.text).replace(['\n', '\t'], " ");
        text += &if piece.is_match { printer.paint(Meaning::Match, &plain) } else { plain };
    }
    if snippet.ends_within {
        text.push_str(" …");
    }
    text
}

fn print_facets(answer: &Answer, printer: &mut Printer) -> anyhow::Result<()> {
    let facets = &answer.facets;
    let named = [
        ("sites", &facets.sites),
        ("languages", &facets.languages),
        ("years", &facets.years),
        ("types", &facets.types),
    ];
    let mut gap = Some("");
    for (name, counts) in named.into_iter().filter(|(_, counts)| !counts.is_empty()) {
        if let Some(gap) = gap.take() {
            printer.line(gap)?;
            if facets.counted < answer.total {
                let remark =
                    format!("counted of {} of them, so that these are the least", count(facets.counted));
                printer.line(&printer.paint(Meaning::Aside, &remark))?;
            }
        }
        let each = |facet: &FacetCount| format!("{} {}", printable(&facet.value), count(facet.pages));
        let counts: Vec<String> = counts.iter().map(each).collect();
        let name = printer.paint(Meaning::Aside, &format!("{name:10}"));
        printer.line(&format!("{name} {}", counts.join(", ")))?;
    }
    Ok(())
}
