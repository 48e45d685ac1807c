//! Output of commands: results on stdout, as text or as JSON lines; everything else on stderr.

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use serde::Serialize;

/// Writer of the results of a command.
pub(crate) struct Printer {
    out: BufWriter<StdoutLock<'static>>,
    json: bool,
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

/// Escapes the control characters of text from outside, which could rewrite the screen of a terminal; line ends and tabs
/// stay.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let is_safe = |character: char| !character.is_control() || matches!(character, '\n' | '\t');
    if text.chars().all(is_safe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_safe(character) { out.push(character) } else { out.extend(character.escape_unicode()) }
    }
    Cow::Owned(out)
}

impl Printer {
    pub(crate) fn new(json: bool) -> Printer {
        let stdout = io::stdout();
        let colour = stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        Printer { out: BufWriter::with_capacity(64 * 1024, stdout.lock()), json, colour }
    }

    /// Whether `--json` is set.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Writes one result as a line of JSON.
    pub(crate) fn object(&mut self, result: &impl Serialize) -> anyhow::Result<()> {
        // Converted back to the I/O error of the sink, so that a closed pipe is recognised (`exit.rs`).
        serde_json::to_writer(&mut self.out, result).map_err(io::Error::from)?;
        Ok(self.out.write_all(b"\n")?)
    }

    /// Writes one line of text.
    pub(crate) fn line(&mut self, text: &str) -> anyhow::Result<()> {
        self.out.write_all(text.as_bytes())?;
        Ok(self.out.write_all(b"\n")?)
    }

    /// Writes formatted lines.
    #[cfg(feature = "sql")]
    pub(crate) fn text(&mut self, lines: &[u8]) -> anyhow::Result<()> {
        Ok(self.out.write_all(lines)?)
    }

    /// Writes a warning to stderr.
    pub(crate) fn warn(&mut self, message: &str) -> anyhow::Result<()> {
        Ok(writeln!(io::stderr(), "weir: {message}")?)
    }

    /// Colours a word.
    pub(crate) fn style(&self, style: TextStyle, word: &str) -> String {
        let code = match style {
            TextStyle::Good => "32",
            TextStyle::Bad => "31",
            TextStyle::Dim => "2",
            TextStyle::Match => "1;33",
        };
        if self.colour { format!("\x1b[{code}m{word}\x1b[0m") } else { word.to_owned() }
    }

    /// Flushes the output: before a pause, and at the end.
    pub(crate) fn finish(&mut self) -> anyhow::Result<()> {
        Ok(self.out.flush()?)
    }
}
