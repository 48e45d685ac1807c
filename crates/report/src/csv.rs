//! Statistics as CSV.

use model::csv_field;
use store::{Statistic, StatisticValue};

/// The statistic with a header line (RFC 4180, with line feeds as line ends); text that a spreadsheet would take for a formula
/// is marked.
pub(crate) fn csv(statistic: &Statistic) -> String {
    let names = statistic.columns.iter().map(|name| csv_field(name));
    let rows = statistic.rows.iter().map(|row| row.iter().map(value).collect::<Vec<_>>().join(","));
    let lines = [names.collect::<Vec<_>>().join(",")].into_iter().chain(rows);
    lines.map(|line| line + "\n").collect()
}

fn value(value: &StatisticValue) -> String {
    match value {
        StatisticValue::Null => String::new(),
        StatisticValue::Integer(count) => count.to_string(),
        StatisticValue::Number(number) => number.to_string(),
        StatisticValue::Text(text) => csv_field(text).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_if_necessary() {
        let statistic = Statistic {
            columns: vec!["url".to_owned(), "rank".to_owned()],
            rows: vec![vec!["a,\"b\"".into(), 0.25.into()], vec![StatisticValue::Null, 3u64.into()]],
            ..Statistic::default()
        };
        assert_eq!(csv(&statistic), "url,rank\n\"a,\"\"b\"\"\",0.25\n,3\n");
    }
}
