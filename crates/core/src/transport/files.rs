//! Offset files. Disks can be slow, so a thread that lives while there are files to read or write does it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::system::{Access, SystemHooks};
use super::worker::Worker;
use crate::consumer::{FileAction, FileEvent, OffsetFile};
use crate::sys::Waker;

/// Bytes read of a file: no offset has more digits, so a longer file holds none.
const READ_MAX: u64 = 64;

/// Time for which the end of a client waits for pending writes.
const FINISH_MAX: Duration = Duration::from_secs(10);

/// Reads and writes offset files in the order of the calls, without blocking the caller.
pub struct Files {
    worker: Worker<FileAction, FileEvent>,
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Files").finish_non_exhaustive()
    }
}

impl Files {
    /// Returns a reader and writer that calls `waker` when an action is done, and opens files by `system`.
    pub fn new(waker: Arc<dyn Waker>, system: SystemHooks) -> Self {
        Files {
            worker: Worker::new("ottla-files", waker, move |action| carry_out(&system, action)),
        }
    }

    /// Carries out an action; [`take_events`](Self::take_events) returns its result.
    pub fn perform(&self, action: FileAction) {
        self.worker.submit(action, |action, e| FileEvent {
            id: action.id(),
            result: Err(format!("no thread for it: {e}")),
        });
    }

    /// Removes and returns the results.
    pub fn take_events(&self) -> Vec<FileEvent> {
        self.worker.take_results()
    }

    /// Waits until everything is written, ten seconds at most.
    pub fn finish(&self) {
        self.worker.finish(FINISH_MAX);
    }
}

fn carry_out(system: &SystemHooks, action: FileAction) -> FileEvent {
    let id = action.id();
    let result = match action {
        FileAction::Read { file, .. } => read(system, &locate(&file)),
        FileAction::Write {
            file, content, sync, ..
        } => write(system, &locate(&file), content.as_bytes(), sync).map(|()| None),
    };
    FileEvent {
        id,
        result: result.map_err(|e| e.to_string()),
    }
}

/// Returns the path of a partition's file. `offset.store.path` is a file, or a folder with a file for each partition.
fn locate(file: &OffsetFile) -> PathBuf {
    let path = Path::new(&file.path);
    match path.is_dir() {
        true => path.join(&file.name),
        false => path.to_owned(),
    }
}

/// Returns the first [`READ_MAX`] bytes; `None` when there is no file.
fn read(system: &SystemHooks, path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match system.open(path, Access::Read) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut content = Vec::new();
    file.take(READ_MAX).read_to_end(&mut content)?;
    Ok(Some(content))
}

/// Replaces a file by a new one in one step: whenever the process ends, either of them is there and whole.
fn write(system: &SystemHooks, path: &Path, content: &[u8], sync: bool) -> io::Result<()> {
    // A symbolic link stays, and its target is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut fresh = path.clone().into_os_string();
    fresh.push(".new");
    let mut file = system.open(Path::new(&fresh), Access::Write)?;
    file.write_all(content)?;
    if sync {
        file.sync_all()?;
    }
    drop(file);
    fs::rename(&fresh, &path)?;
    if sync {
        // The rename is durable when the folder is.
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder for one test, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("ottla-files-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir(&path).unwrap();
            Folder(path)
        }

        fn file(&self, inside: &str) -> OffsetFile {
            OffsetFile {
                path: self.0.join(inside).to_string_lossy().into_owned(),
                name: "t-0.offset".into(),
            }
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn system() -> SystemHooks {
        SystemHooks::default()
    }

    struct NoWaker;
    impl Waker for NoWaker {
        fn wake(&self) {}
    }

    #[test]
    fn written_offsets_are_read_back_from_folders_and_files() {
        let folder = Folder::new("both");
        let files = Files::new(Arc::new(NoWaker), SystemHooks::default());
        let content = Some(b"1234567\n".to_vec());
        for (inside, sync) in [("", true), ("own", false)] {
            let file = folder.file(inside);
            files.perform(FileAction::Read {
                id: 1,
                file: file.clone(),
            });
            for (id, content) in [(2, "7\n"), (3, "1234567\n")] {
                files.perform(FileAction::Write {
                    id,
                    file: file.clone(),
                    content: content.to_owned(),
                    sync,
                });
            }
            files.perform(FileAction::Read { id: 4, file });
            files.finish();
            let results = files.take_events().into_iter().map(|e| (e.id, e.result.unwrap()));
            let expected = [(1, None), (2, None), (3, None), (4, content.clone())];
            assert_eq!(results.collect::<Vec<_>>(), expected);
        }
        let names = fs::read_dir(&folder.0).unwrap().map(|e| e.unwrap().file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        assert_eq!(names, ["own", "t-0.offset"]);
    }

    #[test]
    fn a_failed_write_is_reported_and_leaves_the_old_file() {
        let folder = Folder::new("failure");
        let path = folder.0.join("kept");
        write(&system(), &path, b"5\n", false).unwrap();
        // A folder has the name of the new file.
        fs::create_dir(folder.0.join("kept.new")).unwrap();
        assert!(write(&system(), &path, b"6\n", true).is_err());
        assert_eq!(read(&system(), &path).unwrap(), Some(b"5\n".to_vec()));
        assert!(write(&system(), &folder.0.join("nowhere/file"), b"6\n", false).is_err());
    }

    #[test]
    fn a_symbolic_link_still_points_to_its_file_after_a_write() {
        let folder = Folder::new("link");
        let (path, link) = (folder.0.join("file"), folder.0.join("link"));
        write(&system(), &path, b"5\n", false).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write(&system(), &link, b"6\n", false).unwrap();
        assert_eq!(read(&system(), &path).unwrap(), Some(b"6\n".to_vec()));
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
