//! Dependencies: licences, bans, sources and duplicate versions by the rules of `deny.toml`, without a network.
//!
//! `cargo deny check` applies the same rules for all platforms, and compares the dependencies with the advisory database.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use toml::{Table, Value};

use crate::finding::Finding;

const RULES: &str = "deny.toml";
const LOCK_FILES: [&str; 2] = ["Cargo.lock", "fuzz/Cargo.lock"];

/// Checks the dependencies of the repository at `root`.
pub(crate) fn check(root: &Path) -> Vec<Finding> {
    let read = |path: &str| {
        let text = std::fs::read_to_string(root.join(path)).map_err(|error| error.to_string());
        let table = text.and_then(|text| text.parse::<Table>().map_err(|error| error.message().to_owned()));
        table.map_err(|cause| Finding::new(path, 1, format!("cannot read the file: {cause}"), "restore it"))
    };
    let (rules, packages) = match (read(RULES).map(|table| Rules::new(&table)), built_packages(root)) {
        (Ok(rules), Ok(packages)) => (rules, packages),
        (Err(finding), _) | (_, Err(finding)) => return vec![finding],
    };
    let mut findings = rules.check_packages(&packages);
    for path in LOCK_FILES {
        match read(path) {
            Ok(lock) => findings.extend(rules.check_lock(path, &lock)),
            Err(finding) => findings.push(finding),
        }
    }
    findings
}

/// A package that is built on this platform.
struct BuiltPackage {
    name: String,
    version: String,
    license: String,
}

/// Lists the packages of all features, as `cargo tree` prints them.
fn built_packages(root: &Path) -> Result<Vec<BuiltPackage>, Finding> {
    let arguments = "tree --offline --locked --workspace --all-features --edges normal,build,dev --prefix none --format {p}|{l}";
    let failed = |cause: String| {
        let what = format!("cannot list the dependencies: {cause}");
        Finding::new(LOCK_FILES[0], 1, what, "run `cargo fetch --locked`")
    };
    let output = Command::new("cargo").args(arguments.split(' ')).current_dir(root).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(built_package).collect())
}

/// Parses `name v1.2.3 (proc-macro)|MIT OR Apache-2.0 (*)`.
fn built_package(line: &str) -> Option<BuiltPackage> {
    let (package, license) = line.split_once('|')?;
    let (name, version) = package.split_once(" v")?;
    let version = version.split(' ').next()?;
    let license = license.strip_suffix(" (*)").unwrap_or(license);
    Some(BuiltPackage { name: name.to_owned(), version: version.to_owned(), license: license.to_owned() })
}

/// The rules of `deny.toml` that are checked here.
struct Rules {
    licenses: BTreeSet<String>,
    /// Further licences of single packages.
    exceptions: BTreeMap<String, BTreeSet<String>>,
    /// Forbidden packages; each with those that may depend on it nevertheless.
    bans: BTreeMap<String, BTreeSet<String>>,
    /// Packages that may have several versions.
    duplicates: BTreeSet<String>,
    registries: BTreeSet<String>,
}

impl Rules {
    fn new(table: &Table) -> Rules {
        let list = |section: &str, key: &str| {
            let list = table.get(section).and_then(|section| section.get(key)?.as_array());
            list.into_iter().flatten().collect::<Vec<&Value>>()
        };
        let named = |section, key, values: &str| {
            let rows = list(section, key).into_iter();
            let rows = rows.filter_map(|row| Some((row.get("crate")?.as_str()?.to_owned(), row.get(values))));
            rows.map(|(name, values)| (name, strings(values.and_then(Value::as_array).into_iter().flatten())))
                .collect::<BTreeMap<_, _>>()
        };
        Rules {
            licenses: strings(list("licenses", "allow")),
            exceptions: named("licenses", "exceptions", "allow"),
            bans: named("bans", "deny", "wrappers"),
            duplicates: named("bans", "skip", "").into_keys().collect(),
            registries: strings(list("sources", "allow-registry")),
        }
    }

    /// Checks licences and duplicates.
    fn check_packages(&self, packages: &[BuiltPackage]) -> Vec<Finding> {
        let mut findings = BTreeSet::new();
        let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for BuiltPackage { name, version, license } in packages {
            versions.entry(name).or_default().insert(version);
            let exception = self.exceptions.get(name);
            let is_allowed = |license: &str| {
                self.licenses.contains(license) || exception.is_some_and(|more| more.contains(license))
            };
            if !satisfies(license, &is_allowed) {
                let what = format!("`{name}` has the licence `{license}`, which is not allowed");
                findings.insert(Finding::new(RULES, 1, what, "use another crate, or justify it there"));
            }
        }
        for (name, versions) in versions {
            if versions.len() > 1 && !self.duplicates.contains(name) {
                let versions = versions.into_iter().collect::<Vec<_>>().join(", ");
                let what = format!("`{name}` is built in several versions: {versions}");
                findings.insert(Finding::new(
                    RULES,
                    1,
                    what,
                    "use one, or list it under [bans] skip with the reason",
                ));
            }
        }
        findings.into_iter().collect()
    }

    /// Checks bans and sources of all packages of a lock file.
    fn check_lock(&self, path: &str, lock: &Table) -> Vec<Finding> {
        let packages = lock.get("package").and_then(Value::as_array).into_iter().flatten();
        let mut findings = Vec::new();
        for package in packages {
            let text = |key: &str| package.get(key).and_then(Value::as_str);
            let name = text("name").unwrap_or_default();
            // A package of this repository has no source.
            let registry = text("source").map(|source| source.strip_prefix("registry+").unwrap_or(source));
            if let Some(registry) = registry.filter(|registry| !self.registries.contains(*registry)) {
                let what = format!("`{name}` comes from {registry}");
                findings.push(Finding::new(path, 1, what, "use a release of crates.io"));
            }
            let dependencies = package.get("dependencies").and_then(Value::as_array).into_iter().flatten();
            for dependency in dependencies.filter_map(Value::as_str) {
                let dependency = dependency.split(' ').next().unwrap_or_default();
                let Some(wrappers) = self.bans.get(dependency) else { continue };
                if !wrappers.contains(name) {
                    let what = format!("`{name}` depends on `{dependency}`, which {RULES} forbids");
                    findings.push(Finding::new(path, 1, what, "see the reason there"));
                }
            }
        }
        findings
    }
}

fn strings<'v>(values: impl IntoIterator<Item = &'v Value>) -> BTreeSet<String> {
    values.into_iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Whether the allowed licences satisfy an SPDX expression; `/` is an older form of `OR`.
fn satisfies(expression: &str, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = LicenseParser { words: &words, is_allowed };
    let result = parser.any();
    result && parser.words.is_empty()
}

struct LicenseParser<'w> {
    words: &'w [&'w str],
    is_allowed: &'w dyn Fn(&str) -> bool,
}

impl LicenseParser<'_> {
    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.first() == Some(&word);
        self.words = &self.words[usize::from(is_next)..];
        is_next
    }

    fn any(&mut self) -> bool {
        let mut result = self.all();
        while self.take("OR") {
            result |= self.all();
        }
        result
    }

    fn all(&mut self) -> bool {
        let mut result = self.one();
        while self.take("AND") {
            result &= self.one();
        }
        result
    }

    fn one(&mut self) -> bool {
        if self.take("(") {
            let result = self.any();
            return self.take(")") && result;
        }
        let Some((license, rest)) = self.words.split_first() else { return false };
        self.words = rest;
        if self.take("WITH") {
            let Some((exception, rest)) = self.words.split_first() else { return false };
            self.words = rest;
            return (self.is_allowed)(&format!("{license} WITH {exception}"));
        }
        (self.is_allowed)(license)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[licenses]\nallow = [\"MIT\", \"ISC\"]\nexceptions = [{ crate = \"m\", allow = [\"MPL-2.0\"] }]\n\
                        [bans]\ndeny = [{ crate = \"tls\" }, { crate = \"http\", wrappers = [\"s3\"] }]\nskip = [{ crate = \"rand\" }]\n\
                        [sources]\nallow-registry = [\"https://crates.example\"]\n";

    fn rules() -> Rules {
        Rules::new(&TEXT.parse().unwrap())
    }

    fn packages(lines: &[&str]) -> Vec<BuiltPackage> {
        lines.iter().map(|line| built_package(line).unwrap()).collect()
    }

    #[test]
    fn the_dependencies_of_the_repository_follow_the_rules() {
        let findings: Vec<String> = check(crate::repository()).iter().map(ToString::to_string).collect();
        assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
    }

    #[test]
    fn a_licence_must_be_allowed_for_all_or_for_the_package() {
        let lines =
            ["a v1.0.0|MIT", "m v1.0.0 (proc-macro)|MPL-2.0 (*)", "b v1.0.0|MPL-2.0", "b v1.0.0|MPL-2.0 (*)"];
        let findings = rules().check_packages(&packages(&lines));
        assert_eq!(findings.len(), 1);
        assert!(findings[0].what.contains("`b` has the licence `MPL-2.0`"), "{}", findings[0]);
    }

    #[test]
    fn licence_expressions_are_evaluated() {
        let is_allowed = |license: &str| matches!(license, "MIT" | "ISC" | "Apache-2.0 WITH LLVM-exception");
        for good in [
            "MIT",
            "GPL-3.0 OR MIT",
            "GPL-3.0/MIT",
            "(MIT OR GPL-3.0) AND ISC",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(satisfies(good, &is_allowed), "{good}");
        }
        for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "MIT ISC", "(MIT OR GPL-3.0) AND GPL-2.0"]
        {
            assert!(!satisfies(bad, &is_allowed), "{bad}");
        }
    }

    #[test]
    fn an_unlisted_duplicate_is_found() {
        let lines =
            ["rand v0.8.0|MIT", "rand v0.9.0|MIT", "toml v0.8.0|MIT", "toml v1.0.0|MIT", "one v1.0.0|MIT"];
        let findings = rules().check_packages(&packages(&lines));
        assert_eq!(findings.len(), 1);
        assert!(
            findings[0].what.contains("`toml` is built in several versions: 0.8.0, 1.0.0"),
            "{}",
            findings[0]
        );
    }

    #[test]
    fn banned_packages_and_foreign_sources_are_found() {
        let lock = "[[package]]\nname = \"ours\"\ndependencies = [\"tls 1.0\", \"http\"]\n\
                    [[package]]\nname = \"s3\"\nsource = \"registry+https://crates.example\"\ndependencies = [\"http\"]\n\
                    [[package]]\nname = \"forked\"\nsource = \"git+https://git.example/forked\"\n";
        let findings = rules().check_lock("Cargo.lock", &lock.parse().unwrap());
        let what: Vec<&str> = findings.iter().map(|finding| finding.what.as_str()).collect();
        assert_eq!(
            what,
            [
                "`ours` depends on `tls`, which deny.toml forbids",
                "`ours` depends on `http`, which deny.toml forbids",
                "`forked` comes from git+https://git.example/forked"
            ]
        );
    }
}
