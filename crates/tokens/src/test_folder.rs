//! Files of tests.

use std::fs;
use std::path::PathBuf;

/// A folder for the files of one test, which is removed at its end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Creates a folder. Its name must be that of no other test.
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ottla-tokens-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// Writes a file, and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Returns the folder's path.
    pub(crate) fn path(&self) -> String {
        self.0.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
