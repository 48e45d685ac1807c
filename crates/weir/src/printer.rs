//! Who sees what: answers go to stdout, as text for people or as one JSON object per line; all else to stderr.

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use serde::Serialize;

/// The one writer of a command's answers.
pub(crate) struct Printer {
    out: BufWriter<StdoutLock<'static>>,
    json: bool,
    colour: bool,
}

/// What a colour means here; a terminal without colours, or `NO_COLOR`, shows the bare words.
#[derive(Clone, Copy)]
pub(crate) enum Meaning {
    /// Allowed, accepted, found.
    Good,
    /// Forbidden, rejected, broken.
    Bad,
    /// A name of a field or a remark beside the answer.
    Aside,
    /// What was looked for.
    Match,
}

/// Text from outside as a terminal may show it: line ends stay, other control characters, which could rewrite the
/// screen, are written as escapes.
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

    /// Whether the user wants JSON.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Writes one answer as one line of JSON.
    pub(crate) fn object(&mut self, answer: &impl Serialize) -> anyhow::Result<()> {
        // An error of the sink below comes out as that error, so that a closed pipe is still known for one.
        serde_json::to_writer(&mut self.out, answer).map_err(io::Error::from)?;
        Ok(self.out.write_all(b"\n")?)
    }

    /// Writes one line of text.
    pub(crate) fn line(&mut self, text: &str) -> anyhow::Result<()> {
        self.out.write_all(text.as_bytes())?;
        Ok(self.out.write_all(b"\n")?)
    }

    /// Writes lines that are ready.
    #[cfg(feature = "sql")]
    pub(crate) fn text(&mut self, lines: &[u8]) -> anyhow::Result<()> {
        Ok(self.out.write_all(lines)?)
    }

    /// Tells on stderr about one item that failed while the others go on.
    pub(crate) fn complain(&mut self, sentence: &str) -> anyhow::Result<()> {
        Ok(writeln!(io::stderr(), "weir: {sentence}")?)
    }

    /// Paints a word by what it means.
    pub(crate) fn paint(&self, meaning: Meaning, word: &str) -> String {
        let code = match meaning {
            Meaning::Good => "32",
            Meaning::Bad => "31",
            Meaning::Aside => "2",
            Meaning::Match => "1;33",
        };
        if self.colour { format!("\x1b[{code}m{word}\x1b[0m") } else { word.to_owned() }
    }

    /// Lets the reader see everything written so far: before a pause, and at the end.
    pub(crate) fn finish(&mut self) -> anyhow::Result<()> {
        Ok(self.out.flush()?)
    }
}
