//! Detects changed files by size, time of modification and inode.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::SystemTime;

/// Maximum number of entries of a directory that are checked.
const MAX_ENTRIES: usize = 4096;

/// The state of a file. It differs after the file was written or replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Stamp {
            size: metadata.len(),
            modified: metadata.modified().ok(),
            inode: inode(metadata),
        }
    }
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

/// The states of files and of the entries of directories; symbolic links are followed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Stamps(Vec<Option<Stamp>>);

impl Stamps {
    /// Returns the current states of these files and directories. A file that does not exist has none.
    pub(crate) fn of<'a>(paths: impl Iterator<Item = &'a str>) -> Self {
        let mut stamps = Vec::new();
        for path in paths {
            let metadata = fs::metadata(path).ok();
            let is_dir = metadata.as_ref().is_some_and(Metadata::is_dir);
            stamps.push(metadata.as_ref().map(Stamp::of));
            if is_dir {
                stamps.extend(entries(Path::new(path)));
            }
        }
        Stamps(stamps)
    }
}

/// Returns the states of a directory's entries in the order of their names.
fn entries(directory: &Path) -> Vec<Option<Stamp>> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.flatten().take(MAX_ENTRIES).map(|entry| entry.path()).collect();
    paths.sort_unstable();
    let stamps = paths.iter().map(|path| fs::metadata(path).ok());
    stamps.map(|metadata| metadata.as_ref().map(Stamp::of)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_replaced_and_added_files_have_another_stamp() {
        let directory = std::env::temp_dir().join(format!("ottla-stamps-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let (file, other) = (directory.join("a"), directory.join("b"));
        fs::write(&file, "one").unwrap();
        let paths = [file.to_str().unwrap(), directory.to_str().unwrap(), "/no/such/file"];
        let stamps = || Stamps::of(paths.into_iter());
        let before = stamps();
        assert_eq!(before, stamps());
        fs::write(&file, "longer").unwrap();
        let written = stamps();
        assert_ne!(before, written);
        fs::write(&other, "longer").unwrap();
        let added = stamps();
        assert_ne!(written, added);
        fs::rename(&other, &file).unwrap();
        assert_ne!(added, stamps());
        fs::remove_dir_all(&directory).unwrap();
    }
}
