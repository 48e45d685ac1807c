//! How is the same asked of DuckDB? With a view for each table, over the files in `parquet/`.

use std::path::Path;

use crate::table::Table;

/// The command for a shell that asks a query of DuckDB.
pub fn duckdb_command(folder: &Path, tables: &[Table], query: &str) -> String {
    let views = tables.iter().filter(|table| !table.files.is_empty() && mentions(query, &table.name));
    let views = views.map(|Table { name, .. }| {
        let files = folder.join("parquet").join(name).join("*.parquet");
        format!("create view {name} as from '{}'; ", files.to_string_lossy().replace('\'', "''"))
    });
    let script = views.collect::<String>() + query.trim();
    format!("duckdb -c {}", quoted(&script))
}

/// Whether a word of the query is the table's name. A column of that name makes a view too many, which does no harm.
fn mentions(query: &str, name: &str) -> bool {
    let is_of_word = |character: char| character.is_alphanumeric() || character == '_';
    query.split(|character| !is_of_word(character)).any(|word| word.eq_ignore_ascii_case(name))
}

/// A word for the shell that means just this text.
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
    fn a_shell_reads_the_query_as_it_was() {
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
