//! The topics of a world.

/// A topic of a world.
#[derive(Debug, Clone)]
pub(crate) struct TopicPlan {
    pub(crate) name: String,
    pub(crate) partitions: i32,
    pub(crate) replicas: i16,
    /// The time of its creation; 0 for before the start of the world.
    pub(crate) made_at_us: u64,
}
