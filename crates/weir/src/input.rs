//! Where a command's items come from: its arguments, or a list with one per line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use anyhow::Context;

use crate::failure::WrongUse;
use crate::printer::Printer;

/// The longest line taken from a list; what lies beyond is cut off, never kept in memory.
const LINE_LIMIT_BYTES: usize = 1 << 20;

/// Calls `each` with every argument, or with every line of standard input when there are none.
pub(crate) fn for_each_item(
    arguments: &[String],
    printer: &mut Printer,
    mut each: impl FnMut(&str, &mut Printer) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if arguments.is_empty() {
        return for_each_line_of("-", printer, each);
    }
    arguments.iter().try_for_each(|item| each(item, printer))
}

/// Calls `each` with every line of a file; `-` is standard input. Whoever has sent a line and waits for its answer
/// gets it before the next line is waited for.
///
/// Lines need not be UTF-8: a bad byte becomes U+FFFD, as it would in a browser.
pub(crate) fn for_each_line_of(
    list: &str,
    printer: &mut Printer,
    mut each: impl FnMut(&str, &mut Printer) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let source: Box<dyn Read> =
        if list == "-" { Box::new(io::stdin().lock()) } else { Box::new(open(list)?) };
    let mut lines = Lines { source: BufReader::with_capacity(64 * 1024, source), line: Vec::new() };
    loop {
        if !lines.has_line() {
            printer.finish()?;
        }
        let line = lines.next().with_context(|| format!("cannot read the lines of {list}"))?;
        let Some(line) = line else { return Ok(()) };
        each(&String::from_utf8_lossy(line), printer)?;
    }
}

/// The start of a file, up to a limit; `-` is standard input.
pub(crate) fn read_file(file: &str, limit_bytes: u64) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = if file == "-" {
        io::stdin().lock().take(limit_bytes).read_to_end(&mut bytes)
    } else {
        open(file)?.take(limit_bytes).read_to_end(&mut bytes)
    };
    read.with_context(|| format!("cannot read {file}"))?;
    Ok(bytes)
}

/// A name that leads to no file is wrong use, and so is that of a folder.
fn open(file: &str) -> Result<File, WrongUse> {
    let opened = File::open(file).and_then(|opened| Ok((opened.metadata()?.is_dir(), opened)));
    match opened {
        Ok((false, opened)) => Ok(opened),
        Ok((true, _)) => Err(WrongUse(format!("{file} is a folder, not a file"))),
        Err(error) => Err(WrongUse(format!("cannot open {file}: {error}"))),
    }
}

/// Lines of a source of unknown manners: without end-of-line bytes, and never longer than the limit.
struct Lines<S> {
    source: BufReader<S>,
    line: Vec<u8>,
}

impl<S: Read> Lines<S> {
    /// Whether the next line is there without waiting.
    fn has_line(&self) -> bool {
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
            let room = LINE_LIMIT_BYTES - self.line.len();
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
        let mut lines = Lines { source: BufReader::with_capacity(3, source), line: Vec::new() };
        std::iter::from_fn(|| lines.next().unwrap().map(<[u8]>::to_vec)).collect()
    }

    #[test]
    fn lines_end_at_line_feeds_and_at_the_end() {
        assert_eq!(lines(b"ab\r\n\ncdefg\nh"), [&b"ab"[..], b"", b"cdefg", b"h"]);
        assert_eq!(lines(b""), [[0u8; 0]; 0]);
    }

    #[test]
    fn a_line_without_end_takes_no_more_than_the_limit() {
        let found = lines(&[vec![b'a'; 2 * LINE_LIMIT_BYTES], b"\nb".to_vec()].concat());
        assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [LINE_LIMIT_BYTES, 1]);
    }
}
