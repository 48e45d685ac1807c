//! Output directories of reports and simulations, which a later run may write again.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::exit::UsageError;

/// Checks that a directory is absent, empty, or has the output of an earlier run: an HTML page `page` with the name of
/// its `generator`. Files of a user could have the same names as those that are written.
pub(crate) fn check(dir: &Path, page: &str, generator: &str) -> Result<(), UsageError> {
    let usage_error = |message: String| Err(UsageError(message));
    match fs::read_dir(dir).map(|mut entries| entries.next().is_none()) {
        Ok(true) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return usage_error(format!("--out: {} is not a directory", dir.display()));
        }
        Err(error) => return usage_error(format!("--out: cannot read {}: {error}", dir.display())),
        Ok(false) => {}
    }
    let mark = format!("<meta name=\"generator\" content=\"{generator}\">");
    let path = dir.join(page);
    // A pipe would block.
    let is_file = fs::metadata(&path).is_ok_and(|metadata| metadata.is_file());
    if is_file && fs::read(&path).is_ok_and(|text| String::from_utf8_lossy(&text).contains(&mark)) {
        return Ok(());
    }
    usage_error(format!(
        "--out: {} has other files than those of `{generator}`; use an empty or new directory",
        dir.display()
    ))
}
