//! How is a query written so that people can read it? Each clause on a line of its own, those of inner queries further in.

const CLAUSES: [&str; 8] =
    [" from ", " where ", " group by ", " having ", " order by ", " limit ", " union all ", " join "];
/// Lines that are no longer than this stay as they are.
const SHORT: usize = 80;

/// Breaks a query of one line. Clauses count where a query stands, not in `extract(epoch from day)` or `over (order by n)`.
pub(super) fn in_lines(query: &str) -> String {
    if query.len() <= SHORT {
        return query.to_owned();
    }
    let mut lines = String::with_capacity(query.len() + query.len() / 8);
    // For each parenthesis that is open: whether it holds a query.
    let mut open: Vec<bool> = Vec::new();
    let mut skipped = 0;
    for (place, character) in query.char_indices() {
        match character {
            '(' => open.push(query[place + 1..].starts_with("select ")),
            ')' => drop(open.pop()),
            _ => {}
        }
        let clause = CLAUSES.iter().find(|clause| query[place..].starts_with(**clause));
        match clause {
            Some(clause) if open.last() != Some(&false) => {
                lines.push('\n');
                lines.extend(open.iter().filter(|holds| **holds).map(|_| "  "));
                // What unites two queries stands on a line of its own.
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
    fn clauses_stand_on_their_own_lines_and_inner_ones_further_in() {
        let query = "select k, max(extract(epoch from day)) as d from (select a as k, day from pages where a > 0) as b \
                     group by 1 union all select 'none', 0 from sites";
        let wanted = "select k, max(extract(epoch from day)) as d\nfrom (select a as k, day\n  from pages\n  where a > 0) as b\n\
                      group by 1\nunion all\nselect 'none', 0\nfrom sites";
        assert_eq!(in_lines(query), wanted);
        assert_eq!(in_lines("select 1 from pages"), "select 1 from pages");
    }
}
