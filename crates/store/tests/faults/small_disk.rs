//! A file system in memory that can be made as small as wanted; gone with its value.

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// `None` where this process may not mount.
    pub(crate) fn mount(folder: &Path, size: &str) -> Option<SmallDisk> {
        mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"], folder)
            .then(|| SmallDisk { folder: folder.to_owned() })
    }

    pub(crate) fn resize(&self, size: &str) {
        assert!(mount(&["-o", &format!("remount,size={size}")], &self.folder));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.folder).status();
    }
}

fn mount(arguments: &[&str], folder: &Path) -> bool {
    Command::new("mount").args(arguments).arg(folder).output().is_ok_and(|output| output.status.success())
}
