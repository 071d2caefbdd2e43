//! The topics of a world.

/// A topic of a world.
#[derive(Debug, Clone)]
pub(crate) struct TopicPlan {
    pub(crate) name: String,
    pub(crate) partitions: i32,
    pub(crate) replicas: i16,
    /// When it is made; 0 for before the world begins.
    pub(crate) made_at_us: u64,
}
