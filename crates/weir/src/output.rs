//! Output of commands: results on stdout, as text or as JSON lines; everything else on stderr.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use serde::Serialize;

pub(crate) use crate::terminal_text::printable;
use crate::terminal_text::{EscapeStyle, escape, escape_between};

/// Writer of the results of a command.
pub(crate) struct Printer {
    out: BufWriter<StdoutLock<'static>>,
    json: bool,
    is_terminal: bool,
    colour: bool,
}

/// Meaning of a colour. Without a colour terminal, or with `NO_COLOR`, the text is plain.
#[derive(Clone, Copy)]
pub(crate) enum TextStyle {
    /// Allowed, accepted, found.
    Good,
    /// Disallowed, rejected, damaged.
    Bad,
    /// Field name or remark.
    Dim,
    /// Match of a search.
    Match,
}

/// Control sequences of the styles good, bad, dim and match, and of their end.
const STYLES: [&str; 5] = ["\x1b[32m", "\x1b[31m", "\x1b[2m", "\x1b[1;33m", "\x1b[0m"];

impl Printer {
    pub(crate) fn new(json: bool) -> Printer {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let colour = is_terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        Printer { out: BufWriter::with_capacity(64 * 1024, stdout.lock()), json, is_terminal, colour }
    }

    /// Whether `--json` is set.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Writes one result as a line of JSON.
    pub(crate) fn object(&mut self, result: &impl Serialize) -> anyhow::Result<()> {
        if self.is_terminal {
            let text = serde_json::to_string(result)?;
            return Ok(writeln!(self.out, "{}", escape(&text, EscapeStyle::Json))?);
        }
        // Converted back to the I/O error of the sink, so that a closed pipe is recognised (`exit.rs`).
        serde_json::to_writer(&mut self.out, result).map_err(io::Error::from)?;
        Ok(self.out.write_all(b"\n")?)
    }

    /// Writes one line of text. Of control sequences only the styles of [`Printer::style`] pass: what a page contains cannot reach
    /// the terminal, even if a command forgets to escape it.
    pub(crate) fn line(&mut self, text: &str) -> anyhow::Result<()> {
        let styles: &[&str] = if self.colour { &STYLES } else { &[] };
        Ok(writeln!(self.out, "{}", escape_between(styles, text))?)
    }

    /// Writes formatted lines, byte for byte unless stdout is a terminal.
    #[cfg(feature = "sql")]
    pub(crate) fn text(&mut self, lines: &str) -> anyhow::Result<()> {
        if self.is_terminal {
            return Ok(self.out.write_all(printable(lines).as_bytes())?);
        }
        Ok(self.out.write_all(lines.as_bytes())?)
    }

    /// Writes lines of JSON.
    #[cfg(feature = "sql")]
    pub(crate) fn json_text(&mut self, lines: &[u8]) -> anyhow::Result<()> {
        if self.is_terminal {
            let escaped = escape(&String::from_utf8_lossy(lines), EscapeStyle::Json).into_owned();
            return Ok(self.out.write_all(escaped.as_bytes())?);
        }
        Ok(self.out.write_all(lines)?)
    }

    /// Writes a warning to stderr.
    pub(crate) fn warn(&mut self, message: &str) -> anyhow::Result<()> {
        Ok(writeln!(io::stderr(), "weir: {}", printable(message))?)
    }

    /// Colours a word.
    pub(crate) fn style(&self, style: TextStyle, word: &str) -> String {
        let [good, bad, dim, matching, end] = STYLES;
        let start = match style {
            TextStyle::Good => good,
            TextStyle::Bad => bad,
            TextStyle::Dim => dim,
            TextStyle::Match => matching,
        };
        if self.colour { format!("{start}{word}{end}") } else { word.to_owned() }
    }

    /// Flushes the output: before a pause, and at the end.
    pub(crate) fn finish(&mut self) -> anyhow::Result<()> {
        Ok(self.out.flush()?)
    }
}
