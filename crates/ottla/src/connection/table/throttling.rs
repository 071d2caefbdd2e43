//! Pauses that brokers ask for because a quota is used up (KIP-13, KIP-219).

use std::time::Duration;

use ottla_protocol::ApiKey;

use super::{BrokerKey, ConnectionEvent, ConnectionTable};
use crate::sys::Instant;

/// The first version of each API whose response comes at once, so that the client has to keep the pause that it asks for.
/// Earlier ones come when the pause is over.
fn first_prompt_version(api: ApiKey) -> i16 {
    match api {
        ApiKey::PRODUCE => 6,
        ApiKey::FETCH => 8,
        ApiKey::LIST_OFFSETS => 3,
        _ => 0,
    }
}

impl ConnectionTable {
    /// Takes in the `throttle_time_ms` of a response, 0 included: keeps the pause where the broker has not kept it
    /// already, and tells of it.
    pub fn on_throttle_time(&mut self, key: BrokerKey, (api, version): (ApiKey, i16), throttle_ms: i32, now: Instant) {
        let throttle_ms = throttle_ms.max(0);
        if let Some(connection) = self.connections.get_mut(&key) {
            connection.connection_stats.on_throttle_time(throttle_ms);
        }
        let before = std::mem::replace(&mut self.throttled, throttle_ms > 0);
        if throttle_ms > 0 && version >= first_prompt_version(api) {
            let pause = Duration::from_millis(u64::from(throttle_ms.unsigned_abs()));
            self.throttle(key, pause, now);
        }
        if throttle_ms > 0 || before {
            self.events.push_back(ConnectionEvent::Throttled { key, throttle_ms });
        }
    }

    /// Sends nothing on a connection for a while.
    pub(crate) fn throttle(&mut self, key: BrokerKey, pause: Duration, now: Instant) {
        if let Some(connection) = self.connections.get_mut(&key) {
            let until = now + pause;
            if until > connection.throttled_until {
                self.throttles.remove(&(connection.throttled_until, key));
                connection.throttled_until = until;
                self.throttles.insert((until, key));
            }
        }
    }
}
