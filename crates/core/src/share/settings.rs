//! The settings of share consumers.

use std::time::Duration;

use ottla_protocol::api::share_fetch::ShareFetchRequest;

use super::batch_builder::Limits;
use crate::config::ClientConfig;

/// The settings of a share consumer.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) group_id: String,
    pub(super) wait_max_ms: u32,
    pub(super) min_bytes: i32,
    pub(super) max_bytes: u64,
    pub(super) max_records: i32,
    /// `share.acquire.mode=record_limit` (KIP-1206).
    pub(super) is_record_limit: bool,
    /// The maximum size of the uncompressed records of one response.
    pub(super) budget_bytes: u64,
    pub(super) limits: Limits,
    pub(super) close_timeout: Duration,
}

impl Settings {
    pub(super) fn new(conf: &ClientConfig) -> Self {
        let int32 = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
        let budget_bytes = u64::from(conf.queued_max_messages_kbytes).saturating_mul(1024).max(1);
        let receive_max = usize::try_from(conf.receive_message_max_bytes).unwrap_or(usize::MAX);
        Settings {
            group_id: conf.group_id.clone(),
            wait_max_ms: conf.fetch_wait_max_ms,
            min_bytes: int32(conf.fetch_min_bytes),
            max_bytes: u64::from(conf.fetch_max_bytes).min(budget_bytes),
            max_records: int32(conf.max_poll_records),
            is_record_limit: conf.share_acquire_mode == "record_limit",
            budget_bytes,
            limits: Limits {
                check_crcs: conf.check_crcs,
                decompressed_max: usize::try_from(budget_bytes).unwrap_or(usize::MAX).min(receive_max),
            },
            close_timeout: Duration::from_millis(conf.socket_timeout_ms.into()),
        }
    }

    /// Returns the acquire mode of a request of `version`.
    pub(super) fn acquire_mode(&self, version: i16) -> i8 {
        i8::from(self.is_record_limit && version >= ShareFetchRequest::ACQUIRE_MODE_SINCE)
    }
}
