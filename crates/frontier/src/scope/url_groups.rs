//! Groups of the pages of a site by the form of their URLs, from narrow to wide.
//!
//! Pages of one program have URLs of one form: `/maze/4f2a`, `/maze/91cc`; `/list?page=7`, `/list?page=8`. A trap stays within its
//! form, or, if its paths grow or its parameters multiply, within its path or its first directory. Four groups are therefore
//! distinguished, each by a hash:
//!
//! | group | contains the URLs with equal |
//! |---|---|
//! | form | directories (segments with digits count as equal), extension, and names of parameters |
//! | path | directories and extension, with any parameters; only for URLs with parameters |
//! | section | first directory |
//! | site | all |

/// Number of groups of a URL.
pub const URL_GROUPS: usize = 4;
/// Index of the group of all pages of a site.
pub const SITE_GROUP: usize = URL_GROUPS - 1;

/// Hashes of the groups of a URL, from narrow to wide; 0 for a group that it does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UrlGroups {
    hashes: [u64; URL_GROUPS],
    is_numbered: bool,
}

/// Set of groups, as bits in the order of [`UrlGroups`].
pub type GroupSet = u8;

impl UrlGroups {
    /// Groups of a canonical URL.
    pub fn of_url(url: &str) -> UrlGroups {
        let bytes = url.as_bytes();
        let slashes = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let path = slashes.map(|(at, _)| at + 1).nth(2).map_or(&[][..], |start| &bytes[start..]);
        UrlGroups::of_path(path)
    }

    /// Groups of a path and query without the leading slash. One pass over the bytes, since it runs for every link.
    fn of_path(bytes: &[u8]) -> UrlGroups {
        let mut directories = Directories { hash: SEED, section: 0, ends_variable: false };
        let (mut segment, mut last, mut query) = (Segment::EMPTY, Segment::EMPTY, None);
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'?' => {
                    query = Some(&bytes[at + 1..]);
                    break;
                }
                b'/' if segment.is_empty => {}
                b'/' => {
                    directories.push(last);
                    (last, segment) = (segment, Segment::EMPTY);
                }
                byte => segment.push(*byte),
            }
        }
        let is_directory = segment.is_empty && !last.is_empty;
        let name = if is_directory { last } else { segment };
        if !is_directory {
            directories.push(last);
        }
        let path = mix(mix(directories.hash, name.extension_hash()), u64::from(is_directory)).max(2);
        let section = directories.section;
        match query {
            None => {
                UrlGroups { hashes: [path, 0, section, 1], is_numbered: name.is_number && !name.is_empty }
            }
            Some(query) => {
                let (names, is_numbered) = read_parameters(query);
                let form = mix(path, names).max(2);
                UrlGroups { hashes: [form, mix(path, QUERY).max(2), section, 1], is_numbered }
            }
        }
    }

    /// Whether the page has a number or date in place of a name, like the pages of a list or a calendar.
    pub fn is_numbered(self) -> bool {
        self.is_numbered
    }

    /// Hash of a group; `None` if the URL does not have it.
    pub fn get(self, group: usize) -> Option<u64> {
        Some(self.hashes[group]).filter(|hash| *hash != 0)
    }

    /// Groups that contain this URL and not the other one.
    pub fn without(self, other: UrlGroups) -> GroupSet {
        let bits = (0..URL_GROUPS)
            .filter(|group| self.hashes[*group] != 0 && self.hashes[*group] != other.hashes[*group]);
        bits.fold(0, |bits, group| bits | 1 << group)
    }
}

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const VARIABLE: u64 = 0x2545_f491_4f6c_dd1d;
const SECTION: u64 = 0xd6e8_feb8_6659_fd93;
const QUERY: u64 = 0xa076_1d64_78bd_642f;
/// A longer ending is a part of a name.
const MAX_EXTENSION_BYTES: usize = 5;

fn mix(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(SEED).rotate_left(29)
}

/// Hash of the directories of a path.
struct Directories {
    hash: u64,
    section: u64,
    ends_variable: bool,
}

impl Directories {
    /// Appends a directory. Consecutive ones with digits count once.
    fn push(&mut self, segment: Segment) {
        if segment.is_empty {
            return;
        }
        if self.section == 0 {
            self.section = mix(SECTION, segment.hash).max(2);
        }
        if !segment.is_variable {
            self.hash = mix(self.hash, segment.hash);
        } else if !self.ends_variable {
            self.hash = mix(self.hash, VARIABLE);
        }
        self.ends_variable = segment.is_variable;
    }
}

/// Segment of a path. Hashes are stored, so they must never change without a new format version.
#[derive(Clone, Copy)]
struct Segment {
    hash: u64,
    is_empty: bool,
    /// Whether it has digits or escaped bytes, as ids and titles have.
    is_variable: bool,
    /// Whether it has only digits and separators, before an extension.
    is_number: bool,
    /// Hash and length of the part after the last dot; the length is 0 without one.
    extension: u64,
    extension_bytes: usize,
}

impl Segment {
    const EMPTY: Segment = Segment {
        hash: SEED,
        is_empty: true,
        is_variable: false,
        is_number: true,
        extension: SEED,
        extension_bytes: 0,
    };

    fn push(&mut self, byte: u8) {
        self.is_empty = false;
        self.is_variable |= byte.is_ascii_digit() || byte == b'%';
        self.hash = push_byte(self.hash, byte);
        self.is_number &= is_number_byte(byte) || self.extension_bytes > 0 || byte == b'.';
        if byte == b'.' {
            (self.extension, self.extension_bytes) = (SEED, 1);
        } else if self.extension_bytes > 0 {
            (self.extension, self.extension_bytes) =
                (push_byte(self.extension, byte), self.extension_bytes + 1);
        }
    }

    fn extension_hash(&self) -> u64 {
        if (2..=MAX_EXTENSION_BYTES + 1).contains(&self.extension_bytes) { self.extension } else { 0 }
    }
}

fn is_number_byte(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'_')
}

/// Hash of the names of parameters, in any order, and whether all values are numbers or dates.
fn read_parameters(query: &[u8]) -> (u64, bool) {
    let (mut sum, mut name, mut is_name, mut is_numbered) = (1u64, SEED, true, true);
    for byte in query {
        match byte {
            b'&' => {
                sum = sum.wrapping_add(mix(SEED, name));
                (name, is_name) = (SEED, true);
            }
            b'=' => is_name = false,
            byte if is_name => name = push_byte(name, *byte),
            byte => is_numbered &= is_number_byte(*byte),
        }
    }
    (sum.wrapping_add(mix(SEED, name)), is_numbered)
}

/// FNV-1a.
fn push_byte(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Narrowest group that both URLs share.
    fn shared(one: &str, other: &str) -> usize {
        let [one, other] = [one, other].map(|path| UrlGroups::of_url(&format!("http://a.example{path}")));
        (0..URL_GROUPS)
            .find(|group| one.get(*group).is_some() && one.get(*group) == other.get(*group))
            .unwrap()
    }

    #[test]
    fn pages_of_one_program_share_their_form() {
        for (one, other) in [
            ("/maze/4f2a", "/maze/91cc"),
            ("/calendar/2026/01", "/calendar/1999/12"),
            ("/list?page=7", "/list?page=8"),
            ("/shop?color=red&size=m", "/shop?size=l&color=blue"),
            ("/news/rivers-12.html", "/news/weirs-7.html"),
            ("/s/4711abcd/a.html", "/s/98fe/b.html"),
            ("/", "/about"),
        ] {
            assert_eq!(shared(one, other), 0, "{one} {other}");
        }
    }

    #[test]
    fn other_parameters_directories_and_extensions_share_wider_groups_only() {
        for (one, other, group) in [
            ("/shop?color=red", "/shop?color=red&size=m", 1),
            ("/shop", "/shop?color=red", SITE_GROUP),
            ("/archive/a/", "/archive/a/b/", 2),
            ("/news/a.html", "/news/a.php", 2),
            ("/news/a.html", "/sport/a.html", SITE_GROUP),
            ("/a", "/b/", SITE_GROUP),
        ] {
            assert_eq!(shared(one, other), group, "{one} {other}");
        }
    }

    #[test]
    fn pages_of_lists_and_calendars_are_numbered() {
        let is_numbered = |path: &str| UrlGroups::of_url(&format!("http://a.example{path}")).is_numbered();
        for path in [
            "/calendar/2026/01",
            "/2026-01-31",
            "/list?page=7",
            "/list?page=7&from=2026-01",
            "/7.html",
            "/news/12/",
        ] {
            assert!(is_numbered(path), "{path}");
        }
        for path in ["/", "/news/rivers-12.html", "/maze/4f2a", "/list?page=7&sort=price", "/a7"] {
            assert!(!is_numbered(path), "{path}");
        }
    }

    #[test]
    fn the_groups_that_only_one_url_has_are_found() {
        let [one, other] = ["http://a.example/x/1?a=1", "http://a.example/y/1"].map(UrlGroups::of_url);
        assert_eq!((one.without(other), other.without(one), one.without(one)), (0b0111, 0b0101, 0));
    }
}
