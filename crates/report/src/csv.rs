//! A statistic as others read it: one line for each row, fields quoted where they have to be.

use store::{Statistic, Value};

/// The statistic, with its columns' names in the first line (RFC 4180, but with plain line ends).
pub(crate) fn csv(statistic: &Statistic) -> String {
    let names = statistic.columns.iter().map(|name| field(name));
    let rows = statistic.rows.iter().map(|row| row.iter().map(value).collect::<Vec<_>>().join(","));
    let lines = [names.collect::<Vec<_>>().join(",")].into_iter().chain(rows);
    lines.map(|line| line + "\n").collect()
}

fn value(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Integer(count) => count.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => field(text),
    }
}

fn field(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_have_to_be() {
        let statistic = Statistic {
            columns: vec!["url".to_owned(), "rank".to_owned()],
            rows: vec![vec!["a,\"b\"".into(), 0.25.into()], vec![Value::Null, 3u64.into()]],
            ..Statistic::default()
        };
        assert_eq!(csv(&statistic), "url,rank\n\"a,\"\"b\"\"\",0.25\n,3\n");
    }
}
