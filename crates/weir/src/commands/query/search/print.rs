//! Text output of `weir search`.

use search::{EmptyingCondition, FacetCount, Hit, MatchMode, ScorePart, SearchResult, Snippet};

use crate::human::{self, plural};
use crate::output::{Printer, TextStyle, printable};

/// Date in UTC, such as `2024-02-15`.
fn day(unix_ms: i64) -> String {
    crate::human::timestamp(unix_ms).split(' ').next().unwrap_or_default().to_owned()
}

/// Prints the results.
pub(crate) fn print(
    result: &SearchResult,
    offset: usize,
    seconds: f64,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    match result.total {
        0 => printer.line("no results")?,
        total => {
            let time = printer.style(TextStyle::Dim, &format!("in {:.1} ms", seconds * 1_000.0));
            let is_relaxed = result.mode == MatchMode::Any && !result.emptied_by.is_empty();
            let scope = if is_relaxed { " with any of the words; none has all of them," } else { "" };
            printer.line(&format!("{}{scope} {time}", plural(total, "result")))?;
        }
    }
    for EmptyingCondition { condition, is_absent, hits_without } in &result.emptied_by {
        let condition = printer.style(TextStyle::Match, &printable(condition));
        printer.line(&match is_absent {
            true => format!("no page matches {condition}"),
            false => format!("without {condition}: {}", plural(*hits_without, "result")),
        })?;
    }
    if let Some(suggestion) = &result.suggestion {
        let suggestion = printer.style(TextStyle::Match, &printable(suggestion));
        printer.line(&format!("did you mean: {suggestion}"))?;
    }
    for cut in &result.limits_hit {
        printer.line(&printer.style(TextStyle::Dim, &cut.to_string()))?;
    }
    for (rank, hit) in (offset + 1..).zip(&result.hits) {
        printer.line("")?;
        print_hit(rank, hit, printer)?;
    }
    print_facets(result, printer)
}

fn print_hit(rank: usize, hit: &Hit, printer: &mut Printer) -> anyhow::Result<()> {
    let title = marked(&hit.title, printer);
    let title = if title.is_empty() { printer.style(TextStyle::Dim, "(no title)") } else { title };
    printer.line(&format!("{rank:>3}. {title}"))?;
    printer.line(&format!("     {}", printer.style(TextStyle::Good, &printable(&hit.url))))?;
    let snippet = marked(&hit.snippet, printer);
    if !snippet.is_empty() {
        printer.line(&format!("     {snippet}"))?;
    }
    let mut facts = vec![format!("score {:.2}", hit.score)];
    facts.extend(hit.date_ms.map(day));
    facts.extend(hit.language.as_deref().map(|code| printable(code).into_owned()));
    facts.push(human::bytes(hit.body_bytes));
    facts.extend(hit.inlinks.map(|links| plural(links.into(), "inlink")));
    if hit.near_duplicates > 0 {
        facts.push(plural(hit.near_duplicates.into(), "near duplicate"));
    }
    printer.line(&format!("     {}", printer.style(TextStyle::Dim, &facts.join(", "))))?;
    for ScorePart { description, score } in &hit.explanation {
        printer.line(&format!("     {score:>8.3}  {}", printable(description)))?;
    }
    Ok(())
}

/// Snippet with highlighted matches.
fn marked(snippet: &Snippet, printer: &Printer) -> String {
    let mut text = if snippet.is_truncated_before { "… ".to_owned() } else { String::new() };
    for piece in &snippet.fragments {
        let plain = printable(&piece.text).replace(['\n', '\t'], " ");
        text += &if piece.is_match { printer.style(TextStyle::Match, &plain) } else { plain };
    }
    if snippet.is_truncated_after {
        text.push_str(" …");
    }
    text
}

fn print_facets(result: &SearchResult, printer: &mut Printer) -> anyhow::Result<()> {
    let facets = &result.facets;
    let named = [
        ("sites", &facets.sites),
        ("languages", &facets.languages),
        ("years", &facets.years),
        ("types", &facets.mime_types),
    ];
    let mut gap = Some("");
    for (name, counts) in named.into_iter().filter(|(_, counts)| !counts.is_empty()) {
        if let Some(gap) = gap.take() {
            printer.line(gap)?;
            if facets.hits_counted < result.total {
                let remark = format!(
                    "lower bounds, counted on the first {} results",
                    human::number(facets.hits_counted)
                );
                printer.line(&printer.style(TextStyle::Dim, &remark))?;
            }
        }
        let each = |facet: &FacetCount| format!("{} {}", printable(&facet.value), human::number(facet.pages));
        let counts: Vec<String> = counts.iter().map(each).collect();
        let name = printer.style(TextStyle::Dim, &format!("{name:10}"));
        printer.line(&format!("{name} {}", counts.join(", ")))?;
    }
    Ok(())
}
