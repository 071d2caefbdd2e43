//! The settings of fetching.

use std::time::Duration;

use super::pending_data::Limits;
use crate::config::ClientConfig;
use crate::config::units::{int32, millis};

/// The settings of fetching.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) wait_max_ms: u64,
    pub(super) min_bytes: i32,
    pub(super) max_bytes: u64,
    pub(super) partition_max_bytes: i32,
    pub(super) error_backoff: Duration,
    pub(super) queued_min: u64,
    pub(super) eof_events: bool,
    pub(super) read_committed: bool,
    pub(super) rack: String,
    pub(super) request_timeout: Duration,
    pub(super) receive_max: usize,
    pub(super) propagation: Duration,
    pub(super) preferred_for: Duration,
    pub(super) limits: Limits,
}

impl Settings {
    pub(super) fn new(conf: &ClientConfig) -> Self {
        let budget_max = millis(conf.queued_max_messages_kbytes).saturating_mul(1024).max(1);
        let receive_max = usize::try_from(conf.receive_message_max_bytes).unwrap_or(usize::MAX);
        let wait_max_ms = millis(conf.fetch_wait_max_ms);
        let propagation = millis(conf.topic_metadata_propagation_max_ms);
        Settings {
            wait_max_ms,
            min_bytes: int32(conf.fetch_min_bytes),
            max_bytes: millis(conf.fetch_max_bytes),
            partition_max_bytes: int32(conf.fetch_message_max_bytes),
            error_backoff: Duration::from_millis(millis(conf.fetch_error_backoff_ms)),
            queued_min: millis(conf.queued_min_messages).max(1),
            eof_events: conf.enable_partition_eof,
            read_committed: conf.isolation_level == "read_committed",
            rack: conf.client_rack.clone(),
            request_timeout: Duration::from_millis(millis(conf.socket_timeout_ms).saturating_add(wait_max_ms)),
            receive_max,
            propagation: Duration::from_millis(propagation),
            preferred_for: Duration::from_millis(millis(conf.metadata_max_age_ms)),
            limits: Limits {
                check_crcs: conf.check_crcs,
                // One batch may be larger than the budget; it is held alone then.
                decompressed_max: usize::try_from(budget_max).unwrap_or(usize::MAX).max(receive_max),
                budget_max,
            },
        }
    }
}
