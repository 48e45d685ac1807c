//! Directory tree of a simulated disk: the cached entries that processes see, and the durable ones.
//!
//! A change of an entry is pending until one of its directories is synced. A power cut applies none of the pending
//! changes, all, the first ones, or any of them. The two halves of a rename are applied together.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path};

use super::content::Content;
use super::random::Random;
use crate::disk::DirEntry;

/// Number of a file or directory.
pub(super) type NodeId = u64;

/// Root of the disk.
const ROOT: NodeId = 0;

/// Files and directories.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: BTreeMap<NodeId, Node>,
    next: NodeId,
    pending: Vec<Change>,
}

#[derive(Debug)]
pub(super) enum Node {
    File(FileNode),
    Dir(DirNode),
}

#[derive(Debug, Default)]
pub(super) struct FileNode {
    pub(super) content: Content,
    pub(super) is_locked: bool,
}

#[derive(Debug, Default)]
pub(super) struct DirNode {
    cached: BTreeMap<OsString, NodeId>,
    durable: BTreeMap<OsString, NodeId>,
}

/// Change of directory entries that is not durable.
#[derive(Debug)]
struct Change {
    added: Option<(NodeId, OsString, NodeId)>,
    removed: Option<(NodeId, OsString)>,
}

impl Change {
    fn is_in(&self, dir: NodeId) -> bool {
        self.added.as_ref().is_some_and(|(parent, ..)| *parent == dir)
            || self.removed.as_ref().is_some_and(|(parent, _)| *parent == dir)
    }
}

impl Tree {
    pub(super) fn new() -> Tree {
        let nodes = BTreeMap::from([(ROOT, Node::Dir(DirNode::default()))]);
        Tree { nodes, next: ROOT + 1, pending: Vec::new() }
    }

    /// Finds a file or directory.
    pub(super) fn find(&self, path: &Path) -> io::Result<NodeId> {
        let mut at = ROOT;
        for part in path.components() {
            let Component::Normal(name) = part else { return Err(error(io::ErrorKind::InvalidInput)) };
            at = *self.dir(at)?.cached.get(name).ok_or_else(|| error(io::ErrorKind::NotFound))?;
        }
        Ok(at)
    }

    pub(super) fn file(&self, id: NodeId) -> io::Result<&FileNode> {
        match self.nodes.get(&id) {
            Some(Node::File(file)) => Ok(file),
            Some(Node::Dir(_)) => Err(error(io::ErrorKind::IsADirectory)),
            None => Err(error(io::ErrorKind::NotFound)),
        }
    }

    pub(super) fn file_mut(&mut self, id: NodeId) -> io::Result<&mut FileNode> {
        match self.nodes.get_mut(&id) {
            Some(Node::File(file)) => Ok(file),
            Some(Node::Dir(_)) => Err(error(io::ErrorKind::IsADirectory)),
            None => Err(error(io::ErrorKind::NotFound)),
        }
    }

    fn dir(&self, id: NodeId) -> io::Result<&DirNode> {
        match self.nodes.get(&id) {
            Some(Node::Dir(dir)) => Ok(dir),
            Some(Node::File(_)) => Err(error(io::ErrorKind::NotADirectory)),
            None => Err(error(io::ErrorKind::NotFound)),
        }
    }

    fn is_dir(&self, id: NodeId) -> bool {
        self.dir(id).is_ok()
    }

    pub(super) fn entries(&self, id: NodeId) -> io::Result<Vec<DirEntry>> {
        let entry =
            |(name, id): (&OsString, &NodeId)| DirEntry { name: name.clone(), is_dir: self.is_dir(*id) };
        Ok(self.dir(id)?.cached.iter().map(entry).collect())
    }

    /// Creates an empty file.
    pub(super) fn create_file(&mut self, path: &Path) -> io::Result<NodeId> {
        self.add(path, Node::File(FileNode::default()))
    }

    /// Creates a directory and its missing parents.
    pub(super) fn create_dir_all(&mut self, path: &Path) -> io::Result<()> {
        match self.find(path) {
            Ok(id) if self.is_dir(id) => return Ok(()),
            Ok(_) => return Err(error(io::ErrorKind::AlreadyExists)),
            Err(_) => {}
        }
        self.create_dir_all(path.parent().unwrap_or(Path::new("")))?;
        self.add(path, Node::Dir(DirNode::default())).map(|_| ())
    }

    fn add(&mut self, path: &Path, node: Node) -> io::Result<NodeId> {
        let (parent, name) = self.parent(path)?;
        let id = self.next;
        self.next += 1;
        self.nodes.insert(id, node);
        self.change(Change { added: Some((parent, name.to_owned(), id)), removed: None });
        Ok(id)
    }

    pub(super) fn link(&mut self, original: &Path, link: &Path) -> io::Result<()> {
        let id = self.find(original)?;
        let (parent, name) = self.parent(link)?;
        if self.dir(parent)?.cached.contains_key(name) {
            return Err(error(io::ErrorKind::AlreadyExists));
        }
        self.change(Change { added: Some((parent, name.to_owned(), id)), removed: None });
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let id = self.find(from)?;
        let ((old_parent, old_name), (parent, name)) = (self.parent(from)?, self.parent(to)?);
        // POSIX: two links to one file stay as they are.
        if self.dir(parent)?.cached.get(name) == Some(&id) {
            return Ok(());
        }
        let removed = Some((old_parent, old_name.to_owned()));
        self.change(Change { added: Some((parent, name.to_owned(), id)), removed });
        Ok(())
    }

    pub(super) fn remove_file(&mut self, path: &Path) -> io::Result<()> {
        let id = self.find(path)?;
        self.file(id)?;
        let (parent, name) = self.parent(path)?;
        self.change(Change { added: None, removed: Some((parent, name.to_owned())) });
        Ok(())
    }

    /// Makes the entries of a directory durable.
    pub(super) fn sync_dir(&mut self, dir: NodeId) -> io::Result<()> {
        self.dir(dir)?;
        let (durable, pending) =
            std::mem::take(&mut self.pending).into_iter().partition(|change| change.is_in(dir));
        self.pending = pending;
        durable.into_iter().for_each(|change| self.make_durable(change));
        Ok(())
    }

    /// Loses pending changes and unsynced content.
    pub(super) fn cut_power(&mut self, random: &mut Random) {
        let pending = std::mem::take(&mut self.pending);
        let kept = match random.below(4) {
            0 => 0,
            1 => pending.len(),
            _ => random.below(pending.len() + 1),
        };
        let any = random.one_in(2);
        for (index, change) in pending.into_iter().enumerate() {
            if if any { random.one_in(2) } else { index < kept } {
                self.make_durable(change);
            }
        }
        let mut reachable = BTreeSet::from([ROOT]);
        let mut unread = vec![ROOT];
        while let Some(dir) = unread.pop() {
            if let Some(Node::Dir(dir)) = self.nodes.get_mut(&dir) {
                dir.cached.clone_from(&dir.durable);
                unread.extend(dir.durable.values().filter(|id| reachable.insert(**id)));
            }
        }
        self.nodes.retain(|id, _| reachable.contains(id));
        for node in self.nodes.values_mut() {
            if let Node::File(file) = node {
                file.content.cut_power(random);
                file.is_locked = false;
            }
        }
    }

    /// Directory and name of a path.
    fn parent<'p>(&self, path: &'p Path) -> io::Result<(NodeId, &'p OsStr)> {
        let name = path.file_name().ok_or_else(|| error(io::ErrorKind::InvalidInput))?;
        let parent = self.find(path.parent().unwrap_or(Path::new("")))?;
        self.dir(parent)?;
        Ok((parent, name))
    }

    /// Changes the cached entries.
    fn change(&mut self, change: Change) {
        apply(&mut self.nodes, &change, |dir| &mut dir.cached);
        self.pending.push(change);
    }

    fn make_durable(&mut self, change: Change) {
        apply(&mut self.nodes, &change, |dir| &mut dir.durable);
        // An entry that was removed durably must not come back by an older change.
        if let Some((dir, name)) = change.removed {
            for pending in &mut self.pending {
                pending.added.take_if(|(parent, added, _)| *parent == dir && *added == name);
            }
        }
    }
}

type Entries = BTreeMap<OsString, NodeId>;

fn apply(
    nodes: &mut BTreeMap<NodeId, Node>,
    change: &Change,
    entries: impl Fn(&mut DirNode) -> &mut Entries,
) {
    if let Some((parent, name)) = &change.removed
        && let Some(Node::Dir(dir)) = nodes.get_mut(parent)
    {
        entries(dir).remove(name);
    }
    if let Some((parent, name, id)) = &change.added
        && let Some(Node::Dir(dir)) = nodes.get_mut(parent)
    {
        entries(dir).insert(name.clone(), *id);
    }
}

pub(super) fn error(kind: io::ErrorKind) -> io::Error {
    io::Error::new(kind, format!("simulated: {kind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> &Path {
        Path::new(name)
    }

    #[test]
    fn a_rename_that_is_not_synced_may_be_undone_and_a_synced_one_is_not() {
        let mut outcomes = BTreeSet::new();
        for seed in 0..100 {
            for synced in [false, true] {
                let mut tree = Tree::new();
                let old = tree.create_file(path("old")).unwrap();
                tree.sync_dir(ROOT).unwrap();
                let new = tree.create_file(path("new")).unwrap();
                tree.rename(path("new"), path("old")).unwrap();
                if synced {
                    tree.sync_dir(ROOT).unwrap();
                }
                tree.cut_power(&mut Random::new(seed));
                let found = tree.find(path("old")).unwrap();
                assert!(found == new || !synced && found == old);
                outcomes.insert((synced, found));
            }
        }
        assert_eq!(outcomes.len(), 3, "both outcomes without a sync, one with it");
    }

    #[test]
    fn a_directory_whose_parent_is_not_synced_may_be_missing_with_all_its_files() {
        let lost = (0..100).filter(|seed| {
            let mut tree = Tree::new();
            tree.create_dir_all(path("a/b")).unwrap();
            let file = tree.create_file(path("a/b/file")).unwrap();
            tree.file_mut(file).unwrap().content.write(0, b"content");
            tree.file_mut(file).unwrap().content.sync();
            let dir = tree.find(path("a/b")).unwrap();
            tree.sync_dir(dir).unwrap();
            tree.cut_power(&mut Random::new(*seed));
            tree.find(path("a/b/file")).is_err()
        });
        assert!((1..100).contains(&lost.count()));
    }
}
