//! Formatting of SQL queries: each clause on its own line, inner queries indented.

const CLAUSES: [&str; 8] =
    [" from ", " where ", " group by ", " having ", " order by ", " limit ", " union all ", " join "];
/// Queries up to this length stay on one line.
const MAX_LINE_CHARS: usize = 80;

/// Breaks a one-line query into lines. Clauses are recognised at the level of a query, not in `extract(epoch from day)`
/// or `over (order by n)`.
pub(super) fn format_sql(query: &str) -> String {
    if query.len() <= MAX_LINE_CHARS {
        return query.to_owned();
    }
    let mut lines = String::with_capacity(query.len() + query.len() / 8);
    // For each open parenthesis, whether it contains a query.
    let mut open: Vec<bool> = Vec::new();
    let mut skipped = 0;
    for (index, character) in query.char_indices() {
        match character {
            '(' => open.push(query[index + 1..].starts_with("select ")),
            ')' => drop(open.pop()),
            _ => {}
        }
        let clause = CLAUSES.iter().find(|clause| query[index..].starts_with(**clause));
        match clause {
            Some(clause) if open.last() != Some(&false) => {
                lines.push('\n');
                lines.extend(open.iter().filter(|holds| **holds).map(|_| "  "));
                // `union all` gets its own line.
                if *clause == " union all " {
                    lines.push_str("union all\n");
                    skipped = clause.len();
                } else {
                    skipped = 1;
                }
            }
            _ => {}
        }
        if skipped > 0 {
            skipped -= 1;
        } else {
            lines.push(character);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_on_their_own_lines_and_inner_queries_are_indented() {
        let query = "select k, max(extract(epoch from day)) as d from (select a as k, day from pages where a > 0) as b \
                     group by 1 union all select 'none', 0 from sites";
        let expected = "select k, max(extract(epoch from day)) as d\nfrom (select a as k, day\n  from pages\n  where a > 0) as b\n\
                      group by 1\nunion all\nselect 'none', 0\nfrom sites";
        assert_eq!(format_sql(query), expected);
        assert_eq!(format_sql("select 1 from pages"), "select 1 from pages");
    }
}
