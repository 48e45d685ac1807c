//! Python tools of other projects, installed from the Python Package Index into a virtual environment.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::skip::skip;

/// Returns the `bin` directory of a virtual environment with the packages of `tests/python/requirements.txt` of a crate.
///
/// `crate_dir` is the crate's `CARGO_MANIFEST_DIR`. The environment is created at first use, in `WEIR_VENV` or in the
/// target directory, and shared by all tests. `None` if it cannot be created and tests may be skipped.
///
/// # Panics
/// If it cannot be created and tests may not be skipped; see [`skip`].
pub fn venv(crate_dir: &str) -> Option<PathBuf> {
    let crate_dir = Path::new(crate_dir);
    let list = crate_dir.join("tests/python/requirements.txt");
    let requirements = std::fs::read_to_string(&list).unwrap();
    let venv = std::env::var_os("WEIR_VENV").map_or_else(default_dir, PathBuf::from);
    std::fs::create_dir_all(&venv).unwrap();
    // Tests run in parallel processes; one creates the environment, the others wait for the lock.
    let lock = std::fs::File::create(venv.join("lock")).unwrap();
    lock.lock().unwrap();
    let name = crate_dir.file_name().unwrap_or_default().to_string_lossy();
    let complete = venv.join(format!("complete-{name}"));
    if std::fs::read_to_string(&complete).is_ok_and(|installed| installed == requirements) {
        return Some(venv.join("bin"));
    }
    let pip = venv.join("bin/pip");
    let install = ["install", "--quiet", "--disable-pip-version-check", "--requirement"];
    for (step, command) in [
        ("python3 -m venv", Command::new("python3").args(["-m", "venv"]).arg(&venv)),
        ("pip install", Command::new(pip).args(install).arg(&list)),
    ] {
        match command.output() {
            Ok(output) if output.status.success() => {}
            outcome => {
                skip(&format!("cannot install {}: `{step}` failed: {outcome:?}", list.display()));
                return None;
            }
        }
    }
    std::fs::write(complete, requirements).unwrap();
    Some(venv.join("bin"))
}

/// The `tmp` directory that cargo also gives to integration tests.
fn default_dir() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"));
    target.join("tmp/venv")
}

/// Runs a command and returns its standard output.
///
/// # Panics
/// If the command fails.
pub fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let [out, errors] = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(status.success(), "{command:?} ended with {status}:\n{out}\n{errors}");
    out
}
