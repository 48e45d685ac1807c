//! Input of commands: arguments, lists with one item per line, files.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use anyhow::Context;

use crate::exit::UsageError;
use crate::output::Printer;

/// Maximum length of a line of a list; the rest of the line is discarded.
const MAX_LINE_BYTES: usize = 1 << 20;

/// Calls `f` with every argument, or with every line of standard input without arguments.
pub(crate) fn for_each_item(
    arguments: &[String],
    printer: &mut Printer,
    mut f: impl FnMut(&str, &mut Printer) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if arguments.is_empty() {
        return for_each_line_of("-", printer, f);
    }
    arguments.iter().try_for_each(|item| f(item, printer))
}

/// Calls `f` with every line of a file; `-` is standard input. The output is flushed before the next line is awaited, so
/// that a program can write a line and read its result.
///
/// Lines need not be UTF-8: an invalid byte becomes U+FFFD, as in a browser.
pub(crate) fn for_each_line_of(
    list: &str,
    printer: &mut Printer,
    mut f: impl FnMut(&str, &mut Printer) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let source: Box<dyn Read> =
        if list == "-" { Box::new(io::stdin().lock()) } else { Box::new(open(list)?) };
    let mut lines = LineReader { source: BufReader::with_capacity(64 * 1024, source), line: Vec::new() };
    loop {
        if !lines.has_buffered_line() {
            printer.finish()?;
        }
        let line = lines.next().with_context(|| format!("cannot read lines of {list}"))?;
        let Some(line) = line else { return Ok(()) };
        f(&String::from_utf8_lossy(line), printer)?;
    }
}

/// Reads the first `max_bytes` of a file; `-` is standard input.
pub(crate) fn read_file(file: &str, max_bytes: u64) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = if file == "-" {
        io::stdin().lock().take(max_bytes).read_to_end(&mut bytes)
    } else {
        open(file)?.take(max_bytes).read_to_end(&mut bytes)
    };
    read.with_context(|| format!("cannot read {file}"))?;
    Ok(bytes)
}

/// Opens a file. A missing file and a directory are usage errors.
fn open(file: &str) -> Result<File, UsageError> {
    let opened = File::open(file).and_then(|opened| Ok((opened.metadata()?.is_dir(), opened)));
    match opened {
        Ok((false, opened)) => Ok(opened),
        Ok((true, _)) => Err(UsageError(format!("{file} is a directory, not a file"))),
        Err(error) => Err(UsageError(format!("cannot open {file}: {error}"))),
    }
}

/// Reader of lines of bounded length, without their line ends.
struct LineReader<S> {
    source: BufReader<S>,
    line: Vec<u8>,
}

impl<S: Read> LineReader<S> {
    /// Whether the next line can be read without blocking.
    fn has_buffered_line(&self) -> bool {
        self.source.buffer().contains(&b'\n')
    }

    fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        loop {
            let chunk = self.source.fill_buf()?;
            if chunk.is_empty() {
                return Ok(if self.line.is_empty() { None } else { Some(&self.line) });
            }
            let end = chunk.iter().position(|&byte| byte == b'\n');
            let taken = end.unwrap_or(chunk.len());
            let room = MAX_LINE_BYTES - self.line.len();
            self.line.extend_from_slice(&chunk[..taken.min(room)]);
            self.source.consume(end.map_or(taken, |end| end + 1));
            if end.is_some() {
                if self.line.last() == Some(&b'\r') {
                    self.line.pop();
                }
                return Ok(Some(&self.line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(source: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = LineReader { source: BufReader::with_capacity(3, source), line: Vec::new() };
        std::iter::from_fn(|| lines.next().unwrap().map(<[u8]>::to_vec)).collect()
    }

    #[test]
    fn lines_end_at_line_feeds_and_at_the_end() {
        assert_eq!(lines(b"ab\r\n\ncdefg\nh"), [&b"ab"[..], b"", b"cdefg", b"h"]);
        assert_eq!(lines(b""), [[0u8; 0]; 0]);
    }

    #[test]
    fn a_long_line_is_truncated_at_the_maximum_length() {
        let found = lines(&[vec![b'a'; 2 * MAX_LINE_BYTES], b"\nb".to_vec()].concat());
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [MAX_LINE_BYTES, 1]);
    }
}
