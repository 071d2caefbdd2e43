//! Members of one group in one process.
//!
//! A coordinator tells members of a rebalance only when they ask, and heartbeats are seconds apart. An application that
//! runs many consumers in one process would wait for the next heartbeat each time that one of them comes or leaves. So
//! who joins or leaves tells the others, and they ask at once. A group of the same name in another cluster is asked for
//! nothing, which does no harm.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use crate::sys::Waker;
use crate::sys::sync::{AtomicBool, Mutex, process_wide};

process_wide! {
    /// By `group.id`. A leaf among locks.
    static GROUPS: Mutex<BTreeMap<String, Vec<Weak<Post>>>> = Mutex::new(BTreeMap::new());
}

struct Post {
    news: AtomicBool,
    waker: Arc<dyn Waker>,
}

/// A client's place among those of its group. Thread-safe.
pub(super) struct Neighbour {
    group_id: String,
    post: Arc<Post>,
}

impl Neighbour {
    /// Hears from now on of other clients with this `group.id`; `waker` is called when there is something to hear.
    pub(super) fn new(group_id: &str, waker: Arc<dyn Waker>) -> Self {
        let post = Arc::new(Post {
            news: AtomicBool::new(false),
            waker,
        });
        let own = Arc::downgrade(&post);
        GROUPS.lock().entry(group_id.to_owned()).or_default().push(own);
        Neighbour {
            group_id: group_id.to_owned(),
            post,
        }
    }

    /// This client's membership has changed.
    pub(super) fn tell_others(&self) {
        let others: Vec<Arc<Post>> = match GROUPS.lock().get(&self.group_id) {
            Some(posts) => posts.iter().filter_map(Weak::upgrade).collect(),
            None => Vec::new(),
        };
        for other in others.iter().filter(|other| !Arc::ptr_eq(other, &self.post)) {
            other.news.store(true, Ordering::Release);
            other.waker.wake();
        }
    }

    /// Whether another's membership has changed since the last call.
    pub(super) fn take_news(&self) -> bool {
        self.post.news.load(Ordering::Relaxed) && self.post.news.swap(false, Ordering::AcqRel)
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let mut groups = GROUPS.lock();
        let Some(posts) = groups.get_mut(&self.group_id) else {
            return;
        };
        posts.retain(|post| !std::ptr::eq(post.as_ptr(), Arc::as_ptr(&self.post)));
        if posts.is_empty() {
            groups.remove(&self.group_id);
        }
    }
}

#[cfg(all(test, not(ottla_loom)))]
mod tests {
    use super::*;

    #[derive(Default)]
    struct WakeFlag(AtomicBool);

    impl Waker for WakeFlag {
        fn wake(&self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn others_of_the_group_hear_and_nobody_else() {
        let wakers: Vec<Arc<WakeFlag>> = (0..3).map(|_| Arc::default()).collect();
        let one = Neighbour::new("heard", wakers[0].clone());
        let other = Neighbour::new("heard", wakers[1].clone());
        let stranger = Neighbour::new("unheard", wakers[2].clone());
        one.tell_others();
        assert_eq!(
            [&one, &other, &stranger].map(Neighbour::take_news),
            [false, true, false]
        );
        assert!(!other.take_news(), "once");
        assert_eq!(
            wakers.iter().map(|b| b.0.load(Ordering::Relaxed)).collect::<Vec<_>>(),
            [false, true, false]
        );
    }

    #[test]
    fn nothing_is_left_of_those_who_are_gone() {
        let one = Neighbour::new("gone", Arc::new(WakeFlag::default()));
        drop(Neighbour::new("gone", Arc::new(WakeFlag::default())));
        assert_eq!(GROUPS.lock().get("gone").map(Vec::len), Some(1));
        drop(one);
        assert!(!GROUPS.lock().contains_key("gone"));
    }
}
