//! The tools of others, from the Python Package Index.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A Python with the tools of others, made at first use; none, with a message, where that is impossible.
pub(crate) fn venv() -> Option<PathBuf> {
    let requirements = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/requirements.txt"));
    let default = || Path::new(env!("CARGO_TARGET_TMPDIR")).join("venv");
    let venv = std::env::var_os("WEIR_VENV").map_or_else(default, PathBuf::from);
    std::fs::create_dir_all(&venv).unwrap();
    // Tests run side by side; one makes it, the others wait.
    let lock = std::fs::File::create(venv.join("lock")).unwrap();
    lock.lock().unwrap();
    let complete = venv.join(concat!("complete-", env!("CARGO_PKG_NAME")));
    if std::fs::read_to_string(&complete).is_ok_and(|made_of| made_of == requirements) {
        return Some(venv.join("bin"));
    }
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/requirements.txt");
    let pip = venv.join("bin/pip");
    let install = ["install", "--quiet", "--disable-pip-version-check", "--requirement"];
    for (what, command) in [
        ("python3 -m venv", Command::new("python3").args(["-m", "venv"]).arg(&venv)),
        ("pip install", Command::new(pip).args(install).arg(list)),
    ] {
        match command.output() {
            Ok(output) if output.status.success() => {}
            outcome => {
                eprintln!("skipped: the tools of others cannot be had, `{what}` failed: {outcome:?}");
                return None;
            }
        }
    }
    std::fs::write(complete, requirements).unwrap();
    Some(venv.join("bin"))
}

/// What a command says; a failure is a failure of the test.
pub(crate) fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let [out, errors] = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(status.success(), "{command:?} ended with {status}:\n{out}\n{errors}");
    out
}
