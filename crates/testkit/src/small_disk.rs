//! File system in memory with a limited size, for tests of a full disk.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A mounted `tmpfs`; unmounted when it is dropped.
#[derive(Debug)]
pub struct SmallDisk {
    dir: PathBuf,
}

impl SmallDisk {
    /// Mounts a file system of this size (`1m`) on a directory; `None` without the privilege to mount.
    pub fn mount(dir: &Path, size: &str) -> Option<SmallDisk> {
        mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"], dir)
            .then(|| SmallDisk { dir: dir.to_owned() })
    }

    /// Changes the size.
    ///
    /// # Panics
    /// If the file system cannot be mounted again.
    pub fn resize(&self, size: &str) {
        assert!(
            mount(&["-o", &format!("remount,size={size}")], &self.dir),
            "cannot resize {}",
            self.dir.display()
        );
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.dir).status();
    }
}

fn mount(arguments: &[&str], dir: &Path) -> bool {
    Command::new("mount").args(arguments).arg(dir).output().is_ok_and(|output| output.status.success())
}
