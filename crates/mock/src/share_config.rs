//! The settings of share groups (KIP-932).

/// The settings of share groups. Names and defaults are those of Kafka's brokers; the settings of one group, which
/// IncrementalAlterConfigs changes, take precedence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareGroupConfig {
    /// `group.share.session.timeout.ms`.
    pub session_timeout_ms: i32,
    /// `group.share.heartbeat.interval.ms`.
    pub heartbeat_interval_ms: i32,
    /// `group.share.max.size`: the maximum number of members of a group.
    pub max_size: usize,
    /// `group.share.record.lock.duration.ms`: the time after which a record that was not acknowledged is available again.
    pub record_lock_duration_ms: i32,
    /// `group.share.delivery.count.limit`: the number of deliveries after which a record is archived.
    pub delivery_count_limit: i32,
    /// `group.share.partition.max.record.locks`: the maximum number of records in flight of a share partition.
    pub partition_max_record_locks: i32,
    /// `group.share.max.share.sessions`: the maximum number of share sessions of a broker.
    pub max_share_sessions: usize,
    /// `share.isolation.level`: only committed records are delivered.
    pub read_committed: bool,
    /// `share.auto.offset.reset`: the first offset of a group that reads a partition for the first time.
    pub offset_reset: ShareOffsetReset,
    /// `share.renew.acknowledge.enable`: members may renew acquisition locks (KIP-1222).
    pub renew_acknowledge: bool,
    /// The time in microseconds from the heartbeat that first subscribes the group to a partition until the partition can
    /// be assigned, because the coordinator initializes the state of the share partition. As in Kafka, that heartbeat
    /// is answered without the partition even with 0. With `None` the partition is assigned at once.
    pub state_initialization_us: Option<u64>,
}

/// The first offset of a share group (`share.auto.offset.reset`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShareOffsetReset {
    /// The end of the log.
    #[default]
    Latest,
    /// The start of the log.
    Earliest,
    /// The first record whose timestamp is at most this number of milliseconds ago (`by_duration:`).
    ByDuration(i64),
}

impl Default for ShareGroupConfig {
    fn default() -> Self {
        Self {
            session_timeout_ms: 45_000,
            heartbeat_interval_ms: 5000,
            max_size: 200,
            record_lock_duration_ms: 30_000,
            delivery_count_limit: 5,
            partition_max_record_locks: 2000,
            max_share_sessions: 2000,
            read_committed: false,
            offset_reset: ShareOffsetReset::default(),
            renew_acknowledge: true,
            state_initialization_us: Some(0),
        }
    }
}
