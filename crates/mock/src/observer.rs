//! Somebody who is told of every request.

use std::fmt;
use std::sync::Arc;

/// Called with a line of text, under the cluster's lock.
type Listener = Arc<dyn Fn(String) + Send + Sync>;

/// Who is told, if anybody.
#[derive(Default)]
pub(crate) struct Observer(Option<Listener>);

impl Observer {
    pub(crate) fn new(listener: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

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
