//! Deliberate bugs that prove the checkers. Each bug sits at the boundary of the production code, where it has the
//! effect of a bug inside.

use bytes::Bytes;
use ottla_core::event::Event;
use ottla_core::work::WorkDone;
use ottla_protocol::Frame;

/// A deliberate bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Canary {
    /// A batch is dropped instead of being retried: its records get no delivery report.
    LostRetry,
    /// A produce request is sent twice.
    DoubledBatch,
    /// An idempotent producer drops the sequence numbers of a batch that it retries.
    LostNumbers,
    /// An error of a broker is reported as an acknowledgement.
    FalseAck,
    /// A message that was certainly not written is reported as possibly persisted.
    FalseDoubt,
    /// A message fails with another error than the broker's.
    FalseCode,
    /// A message has another timestamp than the application passed.
    WrongTime,
    /// The settings of a topic are ignored.
    LostSettings,
    /// `max.in.flight.requests.per.connection` is ignored.
    Flood,
    /// `queue.buffering.backpressure.threshold` is ignored.
    Heap,
    /// A flush does not end linger.
    LostFlush,
    /// Memory of the application is referenced after its delivery report.
    KeptPayload,
    /// A partitioner returns a wrong partition.
    Misplaced,
    /// A header is lost.
    LostHeader,
    /// The results of two jobs are exchanged, so that batches are sent in each other's place.
    SwappedJobs,
    /// A wake-up of the client's thread is lost.
    LostWakeup,
    /// A buffer is never freed.
    LeakedBuffer,
    /// A connection is never closed.
    LeakedConnection,
    /// A consumer skips a record.
    SkippedOffset,
    /// A consumer delivers a record twice.
    RepeatedOffset,
    /// An offset is committed that the application has not processed.
    CommitAhead,
    /// A commit lowers an offset.
    CommitBack,
    /// A consumer outside of groups commits an offset that was not delivered to it.
    StrayCommit,
    /// A partition is assigned to no member.
    Orphan,
    /// A partition is assigned to two members.
    TwoOwners,
    /// A member starts behind the committed offset.
    LateStart,
    /// A consumer does not detect that a log was truncated below its position (KIP-320).
    UnseenCut,
    /// A member that is closed does not leave its group.
    LostLeave,
    /// A member reports partitions as released before its application has released them.
    EarlyRelease,
    /// A cooperative member keeps consuming a partition that it reports as released.
    KeptPartition,
    /// A commit that was rejected for its epoch is retried with the same epoch.
    StaleRetry,
    /// An abort is sent as a commit.
    FalseCommit,
    /// Offsets are committed outside of the transaction that they belong to.
    OffsetsOutside,
    /// A processor keeps consuming a partition that its group has revoked.
    LostPartition,
    /// A partition does not get the marker of a transaction.
    LostMarker,
    /// The end of one transaction ends the next one.
    LateEnd,
    /// An event is served behind records that were fetched before it.
    LateEvent,
    /// A connection that needs TLS is used before the handshake is complete.
    EarlyFrame,
    /// Connections are not replaced after a renewal of certificates.
    KeptCertificates,
    /// A request is sent during a re-authentication.
    EarlyRequest,
    /// Sessions are not renewed before their end.
    KeptSession,
    /// A new password is ignored.
    LostLogin,
    /// An admin call has no result.
    LostResult,
    /// An admin call has two results.
    DoubledResult,
    /// An admin call ends after its deadline.
    LateTimeout,
    /// An admin call times out at once.
    HastyTimeout,
    /// A part of an admin call is reported as done that failed.
    FalseDone,
    /// A part of an admin call is reported as failed that was done.
    FalseFailure,
    /// A row is missing in the result of an admin call.
    LostRow,
    /// The rows in the result of an admin call have another order than those of the call.
    SwappedRows,
    /// An admin call returns an older state of the cluster.
    StaleValue,
    /// An admin call that is under way when its client ends has no result.
    LostEnd,
    /// A request of an admin call is sent twice.
    DoubledAdmin,
    /// Admin calls end at their deadline, although a broker would answer.
    StuckCall,
    /// A failed acknowledgement is reported as done.
    FalseAcknowledgement,
    /// The result of acknowledgements is not reported.
    LostAcknowledgement,
    /// Released records are acknowledged as accepted.
    AcceptedRelease,
    /// An acknowledgement is sent twice.
    DoubledAcknowledgement,
    /// Records are delivered after their share session was lost.
    StaleBatch,
    /// Records are delivered when most of their lock's duration has passed.
    LateBatch,
    /// A record is acknowledged that the application has not seen.
    UnseenRecord,
    /// A record has another delivery count than the leader's.
    FalseDeliveryCount,
    /// A record is acknowledged as missing in the log.
    FalseGap,
    /// A member stops fetching.
    StuckMember,
}

impl Canary {
    /// All bugs with their names on the command line.
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
        ("swapped-jobs", Canary::SwappedJobs),
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
        ("early-frame", Canary::EarlyFrame),
        ("kept-certificates", Canary::KeptCertificates),
        ("early-request", Canary::EarlyRequest),
        ("kept-session", Canary::KeptSession),
        ("lost-login", Canary::LostLogin),
        ("lost-result", Canary::LostResult),
        ("doubled-result", Canary::DoubledResult),
        ("late-timeout", Canary::LateTimeout),
        ("hasty-timeout", Canary::HastyTimeout),
        ("false-done", Canary::FalseDone),
        ("false-failure", Canary::FalseFailure),
        ("lost-row", Canary::LostRow),
        ("swapped-rows", Canary::SwappedRows),
        ("stale-value", Canary::StaleValue),
        ("lost-end", Canary::LostEnd),
        ("doubled-admin-request", Canary::DoubledAdmin),
        ("stuck-call", Canary::StuckCall),
        ("false-acknowledgement", Canary::FalseAcknowledgement),
        ("lost-acknowledgement", Canary::LostAcknowledgement),
        ("accepted-release", Canary::AcceptedRelease),
        ("doubled-acknowledgement", Canary::DoubledAcknowledgement),
        ("stale-share-batch", Canary::StaleBatch),
        ("late-share-batch", Canary::LateBatch),
        ("unseen-record", Canary::UnseenRecord),
        ("false-delivery-count", Canary::FalseDeliveryCount),
        ("false-gap", Canary::FalseGap),
        ("stuck-share-member", Canary::StuckMember),
    ];

    /// Returns the worlds in which the bug has an effect, where these are few: the remainder of their seeds, and the
    /// divisor.
    pub fn worlds(self) -> (u64, u64) {
        match self {
            Canary::FalseCommit
            | Canary::OffsetsOutside
            | Canary::LostPartition
            | Canary::LostMarker
            | Canary::LateEnd => (9, 16),
            // Logs are truncated in two blocks of eight, and only some groups have members of the consumer protocol.
            Canary::UnseenCut | Canary::EarlyRelease => (2, 4),
            // In one of the blocks with TLS.
            Canary::EarlyFrame | Canary::KeptCertificates => (128, 1600),
            // In one of the blocks with jobs.
            Canary::SwappedJobs => (704, 3008),
            // In one of the blocks with SASL.
            Canary::EarlyRequest | Canary::KeptSession | Canary::LostLogin => (384, 2752),
            // In one of the blocks with admin calls.
            Canary::LostResult
            | Canary::DoubledResult
            | Canary::LateTimeout
            | Canary::HastyTimeout
            | Canary::FalseDone
            | Canary::FalseFailure
            | Canary::LostRow
            | Canary::SwappedRows
            | Canary::StaleValue
            | Canary::LostEnd
            | Canary::DoubledAdmin
            | Canary::StuckCall => (320, 3392),
            // In one of the blocks with share groups.
            Canary::FalseAcknowledgement
            | Canary::LostAcknowledgement
            | Canary::AcceptedRelease
            | Canary::DoubledAcknowledgement
            | Canary::StaleBatch
            | Canary::LateBatch
            | Canary::UnseenRecord
            | Canary::FalseDeliveryCount
            | Canary::FalseGap
            | Canary::StuckMember => (576, 3776),
            _ => (0, 1),
        }
    }

    /// Returns the bug of a name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, canary)| *canary)
    }
}

/// The deliberate bug of a world: its remaining strikes, and the objects that it leaks or repeats.
pub(crate) struct CanaryState {
    canary: Option<Canary>,
    strikes_left: u32,
    /// Requests to be served a second time, by connection.
    duplicates: Vec<(u64, Bytes)>,
    leaked_events: Vec<Event>,
    leaked_frames: Vec<Frame>,
    /// The result of a client's job that is exchanged with that of its next one.
    waiting_job: Option<(usize, WorkDone)>,
}

impl CanaryState {
    pub(crate) fn new(canary: Option<Canary>) -> Self {
        CanaryState {
            canary,
            strikes_left: 3,
            duplicates: Vec::new(),
            leaked_events: Vec::new(),
            leaked_frames: Vec::new(),
            waiting_job: None,
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

    /// Returns the results that a client receives in place of this one: this one, none, or this one and an earlier one that
    /// are exchanged.
    pub(crate) fn exchange(&mut self, client: usize, mut done: WorkDone) -> Vec<WorkDone> {
        if let Some((_, mut earlier)) = self.waiting_job.take_if(|(owner, _)| *owner == client) {
            done.swap_outputs(&mut earlier);
            return vec![earlier, done];
        }
        if self.waiting_job.is_none() && self.strike(Canary::SwappedJobs) {
            self.waiting_job = Some((client, done));
            return Vec::new();
        }
        vec![done]
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
