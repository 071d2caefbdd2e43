//! [`ShareConsumer`].

use std::fmt;
use std::time::{Duration, Instant};

use ottla_core::client::{Client, ClientHooks, ShareConsumer as Consumer, ShareWakeup};
use ottla_core::config::Conf;
use ottla_core::error::{Error, ErrorCode};
use ottla_core::event::{AcknowledgementResult, Event};
use ottla_core::share::AcknowledgeType;
use ottla_core::types::{ClientKind, TopicPartition};

use super::records::{ShareRecord, ShareRecords};
use crate::admin::Results;

/// Receives the results of acknowledgements.
type OnAcknowledged = Box<dyn FnMut(AcknowledgementResult) + Send>;
/// Receives other events.
type OnEvent = Box<dyn FnMut(Event) -> Result<(), Error> + Send>;

/// The receivers of the events that arrive during a call.
#[derive(Default)]
struct Receivers {
    on_acknowledged: Option<OnAcknowledged>,
    on_event: Option<OnEvent>,
    keeps_results: bool,
    results: Vec<AcknowledgementResult>,
}

impl Receivers {
    fn serve(&mut self, event: Event) -> Result<(), Error> {
        match (event, &mut self.on_event) {
            (Event::Acknowledged(result), _) => self.acknowledged(result),
            (event, Some(on_event)) => return on_event(event),
            (_, None) => {}
        }
        Ok(())
    }

    fn acknowledged(&mut self, result: AcknowledgementResult) {
        if let Some(on_acknowledged) = &mut self.on_acknowledged {
            on_acknowledged(result);
        } else if self.keeps_results {
            self.results.push(result);
        }
    }
}

/// A member of a share group (KIP-932); see [the module](super).
///
/// ```text
/// subscribe()
///   poll()                   records of one broker, locked for this member
///   acknowledge() ...        in explicit mode: each record
///   poll(), commit_sync() or commit_async()      sends the acknowledgements
/// close()
/// ```
///
/// `Send`, not `Sync`: one thread at a time uses it. Dropping a consumer closes it, as [`close`](Self::close) does and for as
/// long, and discards the error.
pub struct ShareConsumer {
    consumer: Consumer,
    receivers: Receivers,
}

impl fmt::Debug for ShareConsumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.consumer.fmt(f)
    }
}

impl ShareConsumer {
    /// Creates a consumer with its I/O thread. It joins its group, `group.id`, when it [subscribes](Self::subscribe). It logs
    /// nothing.
    ///
    /// # Errors
    /// [`L_INVALID_ARG`](ErrorCode::L_INVALID_ARG) without `group.id`, for properties that share consumers do not have and for
    /// properties that contradict each other; the errors of [`Client::new`].
    pub fn new(conf: &Conf) -> Result<Self, Error> {
        Self::with_hooks(conf, ClientHooks::default())
    }

    /// Creates a consumer that has hooks: for the log, certificates from memory, tokens.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_hooks(conf: &Conf, hooks: ClientHooks) -> Result<Self, Error> {
        let (settings, topic_settings) = conf.finalize(ClientKind::ShareConsumer)?;
        Ok(ShareConsumer {
            consumer: Consumer::new(settings, topic_settings, hooks)?,
            receivers: Receivers::default(),
        })
    }

    /// Returns the client, for admin calls, metadata and credentials.
    pub fn client(&self) -> &Client {
        self.consumer.client()
    }

    /// Passes events that are neither records nor results to `on_event`, of the kinds that the [`ClientHooks`] select: errors of
    /// the client as a whole (`error_event`), statistics (`stats_event`), throttling, log lines, requests for tokens. It is
    /// called by the thread that polls. An error that it returns ends that call with this error.
    ///
    /// Without a receiver these events are dropped. The client recovers by itself from the errors among them, which without
    /// `error_event` are in its log; a fatal error is returned by [`poll`](Self::poll).
    pub fn on_event(&mut self, on_event: impl FnMut(Event) -> Result<(), Error> + Send + 'static) {
        self.receivers.on_event = Some(Box::new(on_event));
    }

    /// Returns a handle that ends a waiting [`poll`](Self::poll) from another thread.
    pub fn wakeup(&self) -> ShareWakeup {
        self.consumer.wakeup()
    }

    // ---------------------------------------------------------------- subscription

    /// Joins the group for these topics, or replaces the topics. Names are literal: `^` has no meaning. Without a topic it
    /// leaves the group. Returns before the consumer has joined. A topic that does not exist is consumed when it is created.
    ///
    /// # Errors
    /// [`L_INVALID_ARG`](ErrorCode::L_INVALID_ARG) for an empty name and for a name that is listed twice; the client's fatal
    /// error.
    pub fn subscribe(&mut self, topics: impl IntoIterator<Item = impl Into<String>>) -> Result<(), Error> {
        let topics: Vec<String> = topics.into_iter().map(Into::into).collect();
        self.consumer.subscribe(&topics)
    }

    /// Leaves the group.
    ///
    /// # Errors
    /// [`L_STATE`](ErrorCode::L_STATE) in a forked child.
    pub fn unsubscribe(&mut self) -> Result<(), Error> {
        self.consumer.unsubscribe()
    }

    /// Returns the subscribed topics.
    ///
    /// # Errors
    /// [`L_STATE`](ErrorCode::L_STATE) in a forked child.
    pub fn subscription(&self) -> Result<Vec<String>, Error> {
        self.consumer.subscription()
    }

    // ---------------------------------------------------------------- records

    /// Waits for records of a broker, at most for `timeout`, with `None` for ever; empty when the time is up or after a
    /// [`wakeup`](Self::wakeup). It first sends the acknowledgements of the last poll; in implicit mode it accepts the records
    /// that it returned.
    ///
    /// The pauses between polls must not exceed `max.poll.interval.ms` (300 s): the consumer leaves its group then, one
    /// poll fails with [`L_MAX_POLL_EXCEEDED`](ErrorCode::L_MAX_POLL_EXCEEDED), and the next one joins again.
    ///
    /// # Errors
    /// [`L_STATE`](ErrorCode::L_STATE) without a subscription, in a forked child, and in explicit mode while records of the
    /// last poll are not acknowledged. Errors of the group and of topics: `GROUP_AUTHORIZATION_FAILED`,
    /// `TOPIC_AUTHORIZATION_FAILED`, `UNSUPPORTED_VERSION` for brokers without share groups and others; those with
    /// [`Error::fatal`] end the consumer, after the others polls continue.
    pub fn poll(&mut self, timeout: impl Into<Option<Duration>>) -> Result<ShareRecords, Error> {
        let Self { consumer, receivers } = self;
        let batch = consumer.poll(timeout.into(), &mut |event| receivers.serve(event))?;
        Ok(batch.map_or_else(ShareRecords::default, |batch| {
            let left = batch.lock_until().since(consumer.client().shared().clock.now());
            ShareRecords::new(batch, Instant::now().checked_add(left))
        }))
    }

    /// Acknowledges a record of the last poll, or changes its acknowledgement. The next poll or commit sends it. Only in
    /// explicit mode.
    ///
    /// [`Renew`](AcknowledgeType::Renew) extends the record's lock (KIP-1222, Kafka 4.2): the record is acknowledged again
    /// later, with any type, after polls as well.
    ///
    /// # Errors
    /// [`L_STATE`](ErrorCode::L_STATE) in implicit mode, and for a record that is not one of the last poll, or whose
    /// acknowledgement was sent.
    pub fn acknowledge(&mut self, record: &ShareRecord<'_>, ty: AcknowledgeType) -> Result<(), Error> {
        self.acknowledge_offset(record.topic(), record.partition(), record.offset(), ty)
    }

    /// Acknowledges a record by its offset; see [`acknowledge`](Self::acknowledge).
    ///
    /// # Errors
    /// As [`acknowledge`](Self::acknowledge).
    pub fn acknowledge_offset(
        &mut self,
        topic: &str,
        partition: i32,
        offset: i64,
        ty: AcknowledgeType,
    ) -> Result<(), Error> {
        self.consumer.acknowledge(topic, partition, offset, ty)
    }

    /// Returns the number of records of the last poll without an acknowledgement.
    pub fn unacknowledged(&self) -> usize {
        self.consumer.unacknowledged()
    }

    /// Returns the duration of record locks, as the broker states it (Kafka 4.2); `None` before the first records.
    pub fn lock_timeout(&self) -> Option<Duration> {
        let timeout_ms = self.consumer.lock_timeout_ms()?;
        Some(Duration::from_millis(timeout_ms.into()))
    }

    // ---------------------------------------------------------------- commits and their results

    /// Sends the acknowledgements and waits for the result of each partition, at most for `timeout`, with `None` until the
    /// brokers answer or their requests time out. Without results there was nothing to send. In implicit mode it accepts the
    /// records of the last poll.
    ///
    /// # Errors
    /// [`L_STATE`](ErrorCode::L_STATE) in a forked child. Of a partition, whose records may be delivered again:
    /// `INVALID_RECORD_STATE` when a lock has run out, `NOT_LEADER_OR_FOLLOWER` when the partition has another leader,
    /// `SHARE_SESSION_NOT_FOUND` and `INVALID_SHARE_SESSION_EPOCH` when the broker has closed the session,
    /// `REQUEST_TIMED_OUT` without a response and at the end of `timeout`, `L_TRANSPORT` after a lost connection, and
    /// others. Nothing is repeated.
    pub fn commit_sync(&mut self, timeout: impl Into<Option<Duration>>) -> Result<Results<TopicPartition, ()>, Error> {
        let Self { consumer, receivers } = self;
        let results = consumer.commit_sync(timeout.into(), &mut |event| receivers.serve(event))?;
        let result = |(tp, code)| match code {
            ErrorCode::NO_ERROR => (tp, Ok(())),
            code => (tp, Err(Error::from(code))),
        };
        Ok(results.into_iter().map(result).collect())
    }

    /// Sends the acknowledgements without waiting for their results. In implicit mode it accepts the records of the last poll.
    ///
    /// # Errors
    /// [`L_STATE`](ErrorCode::L_STATE) in a forked child.
    pub fn commit_async(&mut self) -> Result<(), Error> {
        let Self { consumer, receivers } = self;
        consumer.commit_async(&mut |event| receivers.serve(event))
    }

    /// Passes the results of all acknowledgements to `on_acknowledged`, whether a poll, a commit or the close has sent them: one
    /// for each partition of a response. It is called by the thread that polls, commits or closes.
    pub fn on_acknowledged(&mut self, on_acknowledged: impl FnMut(AcknowledgementResult) + Send + 'static) {
        self.receivers.on_acknowledged = Some(Box::new(on_acknowledged));
        self.consumer.set_acknowledgement_events(true);
    }

    /// Keeps the results of all acknowledgements from now on for [`poll_results`](Self::poll_results), unless
    /// [`on_acknowledged`](Self::on_acknowledged) has a callback for them. The application must take them: their number has no
    /// limit.
    pub fn keep_results(&mut self) {
        self.receivers.keeps_results = true;
        self.consumer.set_acknowledgement_events(true);
    }

    /// Returns the results that have arrived since the last call, in order, without waiting. Empty without
    /// [`keep_results`](Self::keep_results).
    pub fn poll_results(&mut self) -> Vec<AcknowledgementResult> {
        self.take_arrived();
        std::mem::take(&mut self.receivers.results)
    }

    /// Takes results from the queue that no call has served.
    fn take_arrived(&mut self) {
        let queue = self.consumer.client().consumer_queue();
        for event in queue.extract(|event| matches!(event, Event::Acknowledged(_))) {
            if let Event::Acknowledged(result) = event {
                self.receivers.acknowledged(result);
            }
        }
    }

    // ---------------------------------------------------------------- the end

    /// Closes the consumer: sends the acknowledgements, closes its sessions and leaves the group, within about
    /// `socket.timeout.ms`. Records without an acknowledgement become available to other members at once; in implicit mode
    /// that includes the records of the last poll, unless they were committed.
    ///
    /// # Errors
    /// [`L_TIMED_OUT`](ErrorCode::L_TIMED_OUT) when brokers did not answer: acknowledgements may be lost, and locks run out.
    /// The consumer is closed all the same.
    pub fn close(mut self) -> Result<(), Error> {
        self.close_once()
    }

    fn close_once(&mut self) -> Result<(), Error> {
        let Self { consumer, receivers } = self;
        consumer.close(&mut |event| receivers.serve(event))
    }
}

impl Drop for ShareConsumer {
    fn drop(&mut self) {
        if !self.consumer.is_closed() {
            // The error has no receiver: applications that need it call close().
            let _ = self.close_once();
        }
    }
}
