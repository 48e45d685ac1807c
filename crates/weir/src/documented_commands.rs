//! Test that every `weir` command line in README.md, docs/ and the examples of `--help` is accepted by the argument parser.

use std::fs;
use std::path::Path;

use clap::{CommandFactory, Parser};

use crate::Cli;

/// A command line and the document that contains it.
struct Example {
    source: String,
    line: String,
}

#[test]
fn every_documented_command_line_is_accepted() {
    let examples: Vec<Example> = documents().chain(help_texts()).collect();
    assert!(examples.len() > 100, "only {} command lines were found", examples.len());
    let failures: Vec<String> =
        examples.iter().filter(|example| is_built_in(&example.line)).filter_map(rejection).collect();
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
}

fn rejection(example: &Example) -> Option<String> {
    let words = split_words(&example.line);
    let error = Cli::try_parse_from(&words).err()?;
    // `--help` and `--version` end parsing as an "error" that is printed to standard output.
    error.use_stderr().then(|| {
        let cause = error.to_string().lines().next().unwrap_or_default().to_owned();
        format!("{}: `{}`: {cause}", example.source, example.line)
    })
}

/// Options of features that this build lacks are unknown to its parser.
fn is_built_in(line: &str) -> bool {
    (cfg!(feature = "cluster") || !["--broker", "--store"].iter().any(|option| line.contains(option)))
        && (cfg!(feature = "flight") || !line.contains("--flight-listen"))
}

fn documents() -> impl Iterator<Item = Example> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let paths = docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.chain([root.join("README.md")]).flat_map(|path| {
        let source = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap().replace("\\\n", " ");
        let lines: Vec<String> = code_lines(&text).filter_map(command_line).collect();
        lines.into_iter().map(move |line| Example { source: source.clone(), line })
    })
}

/// The lines of fenced and indented code blocks.
fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fence && (fenced || line.starts_with("    "))
    })
}

fn help_texts() -> impl Iterator<Item = Example> {
    let cli = Cli::command();
    let root = [("weir".to_owned(), cli.get_after_help().map(ToString::to_string))];
    let commands: Vec<(String, Option<String>)> = cli
        .get_subcommands()
        .map(|command| {
            let help = command.get_after_long_help().or(command.get_after_help());
            (format!("weir {} --help", command.get_name()), help.map(ToString::to_string))
        })
        .collect();
    root.into_iter().chain(commands).flat_map(|(source, help)| {
        let text = help.unwrap_or_default().replace("\\\n", " ");
        let lines: Vec<String> = text.lines().filter_map(command_line).collect();
        lines.into_iter().map(move |line| Example { source: source.clone(), line })
    })
}

/// The first `weir` command of a line, without prompt, explanation, pipeline and redirection.
fn command_line(line: &str) -> Option<String> {
    let line = line.trim_start();
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let start = if line.starts_with("weir ") { 0 } else { line.find("| weir ")? + 2 };
    let mut quote = None;
    let mut end = line.len();
    for (index, c) in line.char_indices().skip_while(|(index, _)| *index < start) {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '\'' || c == '"' => quote = Some(c),
            None if "|<>&#;".contains(c) || line[index..].starts_with("   ") => {
                end = index;
                break;
            }
            None => {}
        }
    }
    let command = line[start..end].trim();
    // A general form such as `weir COMMAND ...` is not an example.
    (!command.contains("...") && !command.contains("COMMAND")).then(|| command.to_owned())
}

/// Splits a command line into words as a shell does, with quotes but without escapes.
fn split_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for c in line.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.push(c),
            None if c == '\'' || c == '"' => quote = Some(c),
            None if c.is_whitespace() => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            }
            None => word.push(c),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}
