//! Where a command's items come from: its arguments, or stdin, one per line.

use std::io::{self, BufRead};

use anyhow::Context;

/// The longest line taken from stdin; what lies beyond is cut off, never kept in memory.
const LINE_LIMIT_BYTES: usize = 1 << 20;

/// Calls `each` with every argument, or with every line of stdin when there are none.
///
/// Lines need not be UTF-8: a bad byte becomes U+FFFD, as it would in a browser.
pub(crate) fn for_each_item(
    arguments: &[String],
    mut each: impl FnMut(&str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if !arguments.is_empty() {
        return arguments.iter().try_for_each(|item| each(item));
    }
    let mut lines = Lines { source: io::stdin().lock(), line: Vec::new() };
    while let Some(line) = lines.next().context("cannot read standard input")? {
        each(&String::from_utf8_lossy(line))?;
    }
    Ok(())
}

/// Lines of a source of unknown manners: without end-of-line bytes, and never longer than the limit.
struct Lines<S> {
    source: S,
    line: Vec<u8>,
}

impl<S: BufRead> Lines<S> {
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
