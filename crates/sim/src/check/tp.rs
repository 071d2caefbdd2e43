//! Partitions of topics.

/// The name of a topic, and a partition.
pub(crate) type Tp = (String, i32);
