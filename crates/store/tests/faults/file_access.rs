//! File access of the store: all of it must go through one module, or simulated faults would not reach it.

use std::fs;
use std::path::{Path, PathBuf};

/// Files that use the operating system: the module itself, symbolic links, which a simulated disk does not have, and the
/// log of the steps of a test.
const EXCEPTIONS: [&str; 3] = ["disk/mod.rs", "outside_links.rs", "failpoint.rs"];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn all_file_access_goes_through_the_disk_module() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 50, "{} files", files.len());
    let mut wrong = Vec::new();
    for path in files.iter().filter(|path| !EXCEPTIONS.iter().any(|name| path.ends_with(name))) {
        let text = fs::read_to_string(path).unwrap();
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (line, code) in
            product.lines().map(str::trim).enumerate().filter(|(_, code)| !code.starts_with("//"))
        {
            let code = code.replace("std::os::unix::fs::FileExt", "").replace("std::fs::TryLockError", "");
            let forbidden = ["std::fs", " fs::", "(fs::", "OpenOptions", "path.exists()", ".metadata()?"];
            if forbidden.iter().any(|word| code.contains(word)) {
                wrong.push(format!("{}:{}: {code}", path.display(), line + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "use `crate::disk` instead:\n{}", wrong.join("\n"));
}
