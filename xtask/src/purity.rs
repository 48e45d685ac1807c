//! Pure crates: each needs a `clippy.toml` that bans clocks, files and sockets. Clippy enforces the bans; this check enforces
//! that they exist.

use toml::{Table, Value};

use crate::finding::Finding;
use crate::tree::Tree;

const PURE: &[&str] = &["model", "parse", "frontier"];

const BANNED_METHODS: &[&str] = &[
    "std::time::Instant::now",
    "std::time::SystemTime::now",
    "std::fs::File::open",
    "std::fs::read",
    "std::fs::read_to_string",
    "std::thread::sleep",
];
const BANNED_TYPES: &[&str] = &["std::net::TcpStream", "std::net::TcpListener", "std::net::UdpSocket"];

/// Finds pure crates whose `clippy.toml` does not ban a clock, a file or a socket.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let present = PURE.iter().filter(|name| tree.has(&format!("crates/{name}/Cargo.toml")));
    present.flat_map(|name| check_crate(name, tree)).collect()
}

fn check_crate(name: &str, tree: &Tree) -> Vec<Finding> {
    let path = format!("crates/{name}/clippy.toml");
    let Some(settings) = tree.text(&path).and_then(|text| text.parse::<Table>().ok()) else {
        let what = format!("the pure crate `{name}` has no readable clippy.toml");
        return vec![Finding::new(&path, 1, what, "copy the one of crates/model")];
    };
    let lists = [("disallowed-methods", BANNED_METHODS), ("disallowed-types", BANNED_TYPES)];
    let missing = lists.iter().flat_map(|&(list, banned)| {
        let bans = settings.get(list).and_then(Value::as_array);
        let is_banned = move |path: &&&str| bans.into_iter().flatten().any(|ban| bans_path(ban, path));
        banned.iter().filter(move |path| !is_banned(path)).map(move |path| (list, path))
    });
    missing
        .map(|(list, banned)| {
            let what = format!("the pure crate `{name}` does not ban `{banned}`");
            Finding::new(&path, 1, what, format!("add it to `{list}` with the reason"))
        })
        .collect()
}

/// Reports whether a ban, a bare path or a table with one, covers `path`.
fn bans_path(ban: &Value, path: &str) -> bool {
    ban.as_str().or_else(|| ban.get("path")?.as_str()) == Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: (&str, &str) = ("crates/parse/Cargo.toml", "");

    fn settings(methods: &[&str]) -> String {
        let methods: String =
            methods.iter().map(|path| format!("{{ path = \"{path}\", reason = \"pure\" }},")).collect();
        format!("disallowed-methods = [{methods}]\ndisallowed-types = {BANNED_TYPES:?}\n")
    }

    #[test]
    fn a_pure_crate_with_all_bans_is_accepted() {
        let tree = Tree::of(&[MANIFEST, ("crates/parse/clippy.toml", &settings(BANNED_METHODS))]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn a_missing_ban_is_found() {
        let tree = Tree::of(&[MANIFEST, ("crates/parse/clippy.toml", &settings(&BANNED_METHODS[1..]))]);
        let findings = check(&tree);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].what.contains("Instant::now"), "{}", findings[0]);
    }

    #[test]
    fn a_pure_crate_without_settings_is_found() {
        assert_eq!(check(&Tree::of(&[MANIFEST])).len(), 1);
    }

    #[test]
    fn crates_with_io_need_no_bans() {
        assert_eq!(check(&Tree::of(&[("crates/store/Cargo.toml", "")])), []);
    }
}
