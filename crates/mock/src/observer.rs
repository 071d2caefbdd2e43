//! Somebody who is told of every request.

use std::fmt;
use std::sync::Arc;

use crate::cluster::Cluster;

/// Called with a line of text, under the cluster's lock.
type Listener = Arc<dyn Fn(String) + Send + Sync>;

/// Who is told, if anybody.
#[derive(Default)]
pub(crate) struct Observer(Option<Listener>);

impl Observer {
    /// Makes the text only where somebody is told.
    pub(crate) fn emit(&self, text: impl FnOnce() -> String) {
        if let Some(listener) = &self.0 {
            listener(text());
        }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observer").field(&self.0.is_some()).finish()
    }
}

impl Cluster {
    /// Tells `listener` of every request from now on, and of what was done with it, in a line of text for people. It is
    /// called while the cluster serves, so it must be quick and must not call back.
    pub fn observe(&mut self, listener: impl Fn(String) + Send + Sync + 'static) {
        self.observer = Observer(Some(Arc::new(listener)));
    }
}
