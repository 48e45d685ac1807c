//! The equivalent DuckDB command: a view per table over the files in `parquet/`.

use std::path::Path;

use crate::table::Table;

/// Shell command that runs a query in DuckDB.
pub fn duckdb_command(collection: &Path, tables: &[Table], query: &str) -> String {
    let views = tables.iter().filter(|table| !table.files.is_empty() && mentions(query, &table.name));
    let views = views.map(|Table { name, .. }| {
        let files = collection.join("parquet").join(name).join("*.parquet");
        format!("create view {name} as from '{}'; ", files.to_string_lossy().replace('\'', "''"))
    });
    let script = views.collect::<String>() + query.trim();
    format!("duckdb -c {}", quoted(&script))
}

/// Reports whether a word of the query is the name of the table. A column of that name creates an unused view, which is
/// harmless.
fn mentions(query: &str, name: &str) -> bool {
    let is_word_character = |character: char| character.is_alphanumeric() || character == '_';
    query.split(|character| !is_word_character(character)).any(|word| word.eq_ignore_ascii_case(name))
}

/// A shell word with exactly this text.
fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .flat_map(|character| {
            let escape = matches!(character, '"' | '\\' | '$' | '`').then_some('\\');
            escape.into_iter().chain([character])
        })
        .collect();
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_shell_passes_the_query_unchanged() {
        for query in ["select 1", "it's", "a \"b\" `c` $d $(e) \\ \\\\ %s", "two\nlines", "é*?~ #"] {
            let shell =
                Command::new("sh").arg("-c").arg(format!("printf %s {}", quoted(query))).output().unwrap();
            assert_eq!(String::from_utf8(shell.stdout).unwrap(), query);
        }
    }

    #[test]
    fn a_table_is_mentioned_by_a_whole_word() {
        assert!(mentions("select * from Pages;", "pages") && mentions("from(links)", "links"));
        assert!(!mentions("select pages_known from sites", "pages"));
    }
}
