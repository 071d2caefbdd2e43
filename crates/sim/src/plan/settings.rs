//! Settings of clients as tables of names and values.

use crate::rng::SeededRng;

/// Limits of timeouts, which keep settings from dominating the settling time.
pub(crate) const SOCKET_TIMEOUT_MAX_MS: u64 = 60_000;
/// As above, for `reconnect.backoff.max.ms`.
pub(crate) const RECONNECT_MAX_MS: u64 = 10_000;

pub(crate) type Settings = Vec<(String, String)>;

/// Returns the value of a setting; the last of several with the same name.
pub(crate) fn lookup<'a>(settings: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = settings.iter().rev().find(|(k, _)| k == name);
    found.map(|(_, v)| v.as_str())
}

/// Draws settings that producers and consumers have.
pub(super) fn draw_client_settings(c: &mut SeededRng, out: &mut Settings) {
    let mut set = |name: &str, value: u64| out.push((name.into(), value.to_string()));
    set("socket.timeout.ms", c.spread(3000, SOCKET_TIMEOUT_MAX_MS));
    set("socket.connection.setup.timeout.ms", c.spread(1000, 30_000));
    set("reconnect.backoff.max.ms", c.spread(100, RECONNECT_MAX_MS));
    set("reconnect.backoff.ms", c.spread(1, 100));
    set("topic.metadata.propagation.max.ms", c.spread(1000, 30_000));
    if c.hit(0.5) {
        set("retry.backoff.ms", c.spread(1, 500));
        set("retry.backoff.max.ms", c.spread(500, 2000));
    }
    if c.hit(0.3) {
        set("topic.metadata.refresh.interval.ms", c.spread(500, 100_000));
    }
    if c.hit(0.2) {
        set("connections.max.idle.ms", c.spread(500, 60_000));
    }
    if c.hit(0.2) {
        set("socket.max.fails", c.between(0, 3));
    }
    if c.hit(0.2) {
        set("metadata.recovery.rebootstrap.trigger.ms", c.spread(1_000, 100_000));
    }
}
