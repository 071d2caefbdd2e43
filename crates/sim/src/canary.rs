//! Deliberate bugs, which prove that the alarm rings. Each sits between the production code and what it is joined to,
//! where it does what a bug inside would.

use bytes::Bytes;
use ottla::event::Event;
use ottla_protocol::Frame;

/// One bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Canary {
    /// A batch is forgotten instead of being tried again: its records never get a delivery report.
    LostRetry,
    /// A produce request is sent twice.
    DoubledBatch,
    /// An idempotent producer forgets the numbers of a batch that it sends again.
    LostNumbers,
    /// An error of a broker is taken for an acknowledgement.
    FalseAck,
    /// A message that was surely not written is said to be in doubt.
    FalseDoubt,
    /// A message fails with another error than the broker's.
    FalseCode,
    /// A message bears another time than the application named.
    WrongTime,
    /// A topic's own settings are not looked at.
    LostSettings,
    /// `max.in.flight.requests.per.connection` is not looked at.
    Flood,
    /// `queue.buffering.backpressure.threshold` is not looked at.
    Heap,
    /// A flush does not cut linger short.
    LostFlush,
    /// Memory that an application gave is kept after it was told of its message.
    KeptPayload,
    /// A partitioner errs.
    Misplaced,
    /// A header is lost.
    LostHeader,
    /// A wake-up of the client's thread is lost.
    LostWakeup,
    /// Something is never freed.
    LeakedBuffer,
    /// A connection is never closed.
    LeakedConnection,
    /// A consumer leaves a record out.
    SkippedOffset,
    /// A consumer hands a record out twice.
    RepeatedOffset,
    /// An offset is committed that nobody has processed.
    CommitAhead,
    /// A commit takes an offset back.
    CommitBack,
    /// A consumer outside of groups commits what it was not handed.
    StrayCommit,
    /// A partition is given to nobody.
    Orphan,
    /// A partition is given to two members.
    TwoOwners,
    /// A member begins behind the committed offset.
    LateStart,
    /// A consumer does not find out that a log was cut below where it stands (KIP-320).
    UnseenCut,
    /// A member that is closed does not leave its group.
    LostLeave,
    /// A member says that it gave partitions up before its application has.
    EarlyRelease,
    /// A cooperative member goes on with a partition of which it says that it gave it up.
    KeptPartition,
    /// A commit that was refused for its epoch is tried again with the same.
    StaleRetry,
    /// An abort is taken for a commit.
    FalseCommit,
    /// Offsets are committed outside of the transaction that they belong to.
    OffsetsOutside,
    /// A processor goes on with a partition that its group has taken away.
    LostPartition,
    /// A partition does not get the marker of a transaction.
    LostMarker,
    /// The end of one transaction reaches the next.
    LateEnd,
    /// An event is served behind records that were fetched before it.
    LateEvent,
}

impl Canary {
    /// All of them, with the names by which the command line knows them.
    pub const ALL: &'static [(&'static str, Canary)] = &[
        ("lost-retry", Canary::LostRetry),
        ("doubled-batch", Canary::DoubledBatch),
        ("lost-numbers", Canary::LostNumbers),
        ("false-ack", Canary::FalseAck),
        ("false-doubt", Canary::FalseDoubt),
        ("false-code", Canary::FalseCode),
        ("wrong-time", Canary::WrongTime),
        ("lost-settings", Canary::LostSettings),
        ("flood", Canary::Flood),
        ("heap", Canary::Heap),
        ("lost-flush", Canary::LostFlush),
        ("kept-payload", Canary::KeptPayload),
        ("misplaced-key", Canary::Misplaced),
        ("lost-header", Canary::LostHeader),
        ("lost-wakeup", Canary::LostWakeup),
        ("leaked-buffer", Canary::LeakedBuffer),
        ("leaked-connection", Canary::LeakedConnection),
        ("skipped-offset", Canary::SkippedOffset),
        ("repeated-offset", Canary::RepeatedOffset),
        ("commit-ahead", Canary::CommitAhead),
        ("commit-back", Canary::CommitBack),
        ("stray-commit", Canary::StrayCommit),
        ("orphaned-partition", Canary::Orphan),
        ("two-owners", Canary::TwoOwners),
        ("late-start", Canary::LateStart),
        ("unseen-cut", Canary::UnseenCut),
        ("lost-leave", Canary::LostLeave),
        ("early-release", Canary::EarlyRelease),
        ("kept-partition", Canary::KeptPartition),
        ("stale-retry", Canary::StaleRetry),
        ("false-commit", Canary::FalseCommit),
        ("offsets-outside", Canary::OffsetsOutside),
        ("lost-partition", Canary::LostPartition),
        ("lost-marker", Canary::LostMarker),
        ("late-end", Canary::LateEnd),
        ("late-event", Canary::LateEvent),
    ];

    /// The worlds in which it can do damage, where these are few: what their seeds leave when divided by how much.
    pub fn worlds(self) -> (u64, u64) {
        match self {
            Canary::FalseCommit
            | Canary::OffsetsOutside
            | Canary::LostPartition
            | Canary::LostMarker
            | Canary::LateEnd => (9, 16),
            // Logs are cut in two blocks of eight, and not every group has members of the consumer protocol.
            Canary::UnseenCut | Canary::EarlyRelease => (2, 4),
            _ => (0, 1),
        }
    }

    /// By its name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, canary)| *canary)
    }
}

/// The deliberate bug of a world: how often it may still strike, and the objects that it leaks or repeats.
pub(crate) struct CanaryState {
    canary: Option<Canary>,
    strikes_left: u32,
    /// Requests to be served a second time, by connection.
    duplicates: Vec<(u64, Bytes)>,
    leaked_events: Vec<Event>,
    leaked_frames: Vec<Frame>,
}

impl CanaryState {
    pub(crate) fn new(canary: Option<Canary>) -> Self {
        CanaryState {
            canary,
            strikes_left: 3,
            duplicates: Vec::new(),
            leaked_events: Vec::new(),
            leaked_frames: Vec::new(),
        }
    }

    /// Returns the bug that is switched on.
    pub(crate) fn active(&self) -> Option<Canary> {
        self.canary
    }

    /// Returns true when this bug is switched on.
    pub(crate) fn is(&self, canary: Canary) -> bool {
        self.canary == Some(canary)
    }

    /// Returns true when this bug is switched on and has strikes left.
    pub(crate) fn may_strike(&self, canary: Canary) -> bool {
        self.is(canary) && self.strikes_left > 0
    }

    /// Uses up one strike of this bug. Returns false when it is not switched on or has none left.
    pub(crate) fn strike(&mut self, canary: Canary) -> bool {
        let strikes = self.may_strike(canary);
        self.strikes_left -= u32::from(strikes);
        strikes
    }

    /// Keeps an event, and with it the memory that it refers to, for as long as the world lasts.
    pub(crate) fn leak_event(&mut self, event: Event) {
        self.leaked_events.push(event);
    }

    /// Keeps a frame, and with it the memory that it refers to, for as long as the world lasts.
    pub(crate) fn leak_frame(&mut self, frame: Frame) {
        self.leaked_frames.push(frame);
    }

    /// Marks a request, without its length prefix, to be served twice.
    pub(crate) fn duplicate(&mut self, connection: u64, request: Bytes) {
        self.duplicates.push((connection, request));
    }

    /// Removes the mark of a request. Returns false when it has none.
    pub(crate) fn take_duplicate(&mut self, connection: u64, request: &Bytes) -> bool {
        let at = self
            .duplicates
            .iter()
            .position(|(n, r)| *n == connection && r == request);
        if let Some(at) = at {
            self.duplicates.remove(at);
        }
        at.is_some()
    }
}
