//! The application's handle of a share consumer (KIP-932).

use std::sync::Arc;
use std::time::Duration;

use super::handle::Client;
use crate::config::{ClientConfig, TopicConfig};
use crate::core::{ClientHooks, Command};
use crate::error::{Error, ErrorCode};
use crate::event::{Event, ShareBatch};
use crate::reply::Reply;
use crate::share::{
    self, AcknowledgeType, Application, CommitCall, CommitResults, PartitionAcknowledgements, SharedState,
};
use crate::sys::Instant;
use crate::types::ClientKind;

/// Time between two looks at whether a call that waits for brokers also waits for a token.
const TOKEN_LOOK: Duration = Duration::from_millis(50);

/// Receives the events that are not records: errors of the client, statistics, log lines, results of acknowledgements. An
/// error ends the call with it.
pub type ServeEvent<'a> = dyn FnMut(Event) -> Result<(), Error> + 'a;

/// Ends a waiting poll from another thread.
#[derive(Debug, Clone)]
pub struct ShareWakeup(Arc<SharedState>);

impl ShareWakeup {
    /// Ends the present or the next poll: it returns no records.
    pub fn wake(&self) {
        self.0.wake();
    }
}

/// A consumer of a share group: receives records that the group's members read together, and acknowledges each of them.
/// One thread at a time uses it.
///
/// ```text
/// subscribe()
///   poll()                 records of one broker, locked for this member (group.share.record.lock.duration.ms)
///   acknowledge() ...      in explicit mode: each record
///   poll(), commit_sync() or commit_async()      sends the acknowledgements
/// close()
/// ```
///
/// Records whose acknowledgement does not arrive in time are delivered again, to any member, up to the group's limit
/// (`group.share.delivery.count.limit`).
pub struct ShareConsumer {
    client: Client,
    shared: Arc<SharedState>,
    application: Application,
    closing: Option<Arc<Reply<Result<(), Error>>>>,
    is_closed: bool,
}

impl std::fmt::Debug for ShareConsumer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShareConsumer")
            .field("name", &self.client.name())
            .field("application", &self.application)
            .finish_non_exhaustive()
    }
}

impl ShareConsumer {
    /// Creates a share consumer and starts its thread.
    ///
    /// # Errors
    /// [`L_INVALID_ARG`](ErrorCode::L_INVALID_ARG) without `group.id`, and those of [`Client::new`].
    pub fn new(conf: ClientConfig, topic_defaults: TopicConfig, hooks: ClientHooks) -> Result<Self, Error> {
        if conf.group_id.is_empty() {
            return Err(Error::invalid_arg("a share consumer needs group.id"));
        }
        let client = Client::new(ClientKind::ShareConsumer, conf, topic_defaults, hooks)?;
        let shared = client.shared().share.clone();
        let shared = shared.ok_or_else(|| Error::new(ErrorCode::L_FAIL, "the client is no share consumer"))?;
        // Polls serve the client's other events, too.
        client
            .main_queue()
            .forward_by_default(Some(client.consumer_queue().clone()));
        Ok(ShareConsumer {
            application: Application::new(shared.clone(), &client.shared().conf),
            client,
            shared,
            closing: None,
            is_closed: false,
        })
    }

    /// The client: its queues, log, credentials.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the number of the share consumer, which its [results of acknowledgements](crate::event::AcknowledgementResult)
    /// have.
    pub fn number(&self) -> u64 {
        self.shared.number()
    }

    /// Returns a handle that ends waiting polls.
    pub fn wakeup(&self) -> ShareWakeup {
        ShareWakeup(self.shared.clone())
    }

    /// Starts or ends the delivery of [`Event::Acknowledged`].
    pub fn set_acknowledgement_events(&self, wanted: bool) {
        self.shared.set_acknowledgement_events(wanted);
    }

    /// Returns the duration of acquisition locks in milliseconds; `None` before the first response with records.
    pub fn lock_timeout_ms(&self) -> Option<u32> {
        self.shared.lock_timeout_ms()
    }

    /// Returns whether the application acknowledges each record.
    pub fn is_explicit(&self) -> bool {
        self.application.is_explicit()
    }

    fn check_open(&self) -> Result<(), Error> {
        self.client.shared().check_process()?;
        match self.is_closed || self.closing.is_some() {
            true => Err(Error::new(ErrorCode::L_STATE, "Share consumer is closed")),
            false => Ok(()),
        }
    }

    fn send(&self, command: share::Command) {
        self.client.shared().send(Command::Share(command));
    }

    fn deadline(&self, timeout: Option<Duration>) -> Instant {
        timeout.map_or(Instant::NEVER, |timeout| self.client.shared().clock.now() + timeout)
    }

    // ---------------------------------------------------------------- subscription

    /// Joins the group for these topics, or replaces the topics. Names are literal. An empty list is
    /// [`unsubscribe`](Self::unsubscribe).
    ///
    /// # Errors
    /// [`L_INVALID_ARG`](ErrorCode::L_INVALID_ARG) for empty or duplicate names, [`L_STATE`](ErrorCode::L_STATE) after a close,
    /// the client's fatal error.
    pub fn subscribe(&mut self, topics: &[String]) -> Result<(), Error> {
        self.check_open()?;
        self.check_fatal()?;
        for (index, name) in topics.iter().enumerate() {
            if name.is_empty() {
                return Err(Error::invalid_arg("a topic name is empty"));
            }
            if topics.iter().take(index).any(|other| other == name) {
                return Err(Error::invalid_arg(format!("the topic {name} is listed twice")));
            }
        }
        if topics.is_empty() {
            return self.unsubscribe();
        }
        let reply = Reply::new();
        self.send(share::Command::Subscribe {
            topics: topics.to_vec(),
            reply: reply.clone(),
        });
        answer(&reply)?;
        self.application.set_subscribed(true);
        Ok(())
    }

    /// Leaves the group. Records of the last poll can still be acknowledged and committed.
    ///
    /// # Errors
    /// [`L_STATE`](ErrorCode::L_STATE) after a close.
    pub fn unsubscribe(&mut self) -> Result<(), Error> {
        self.check_open()?;
        self.application.set_subscribed(false);
        let reply = Reply::new();
        self.send(share::Command::Unsubscribe { reply: reply.clone() });
        answer(&reply)
    }

    /// Returns the subscription.
    ///
    /// # Errors
    /// [`L_STATE`](ErrorCode::L_STATE) after a close.
    pub fn subscription(&self) -> Result<Vec<String>, Error> {
        self.check_open()?;
        let reply = Reply::new();
        self.send(share::Command::Subscription { reply: reply.clone() });
        answer(&reply)
    }

    // ---------------------------------------------------------------- records

    fn check_fatal(&self) -> Result<(), Error> {
        match self.client.fatal_error() {
            Some(fatal) => Err(fatal.into_fatal()),
            None => Ok(()),
        }
    }

    /// Waits for records; returns the batch of one broker, or `None` when the time is up or after a
    /// [`wakeup`](Self::wakeup). Sends the acknowledgements of the last batch; in implicit mode it accepts records without
    /// one.
    ///
    /// # Errors
    /// [`L_STATE`](ErrorCode::L_STATE) without a subscription, after a close, and in explicit mode while records of the last
    /// poll are not acknowledged; errors of the group and of topics; the client's fatal error; errors of `serve`.
    pub fn poll(
        &mut self,
        timeout: Option<Duration>,
        serve: &mut ServeEvent<'_>,
    ) -> Result<Option<Box<ShareBatch>>, Error> {
        self.check_open()?;
        self.serve_results(serve)?;
        self.check_fatal()?;
        let poll = self.application.begin_poll(self.client.shared().clock.now())?;
        let ready = self.next_batch(Instant::ORIGIN, serve);
        let Ok(None) = ready else {
            self.send(poll.without_waiting());
            return self.deliver(ready);
        };
        let waits = timeout != Some(Duration::ZERO) && !self.shared.take_wakeup();
        let deadline = self.deadline(timeout);
        if self.application.must_send(&poll, waits) {
            self.send(poll.until(deadline));
        }
        let batch = match waits {
            true => self.next_batch(deadline, serve),
            false => Ok(None),
        };
        if let Ok(None) = batch {
            // The wake-up that has ended this wait does not end the next one, too.
            self.shared.take_wakeup();
        }
        self.deliver(batch)
    }

    /// Serves events until a batch arrives, `deadline` passes or a wake-up.
    fn next_batch(&self, deadline: Instant, serve: &mut ServeEvent<'_>) -> Result<Option<Box<ShareBatch>>, Error> {
        let queue = self.client.consumer_queue();
        loop {
            let left = match deadline {
                Instant::NEVER => None,
                Instant::ORIGIN => Some(Duration::ZERO),
                deadline => Some(deadline.since(self.client.shared().clock.now())),
            };
            match queue.pop(left) {
                None => return Ok(None),
                Some(Event::Acquired(batch)) => return Ok(Some(batch)),
                Some(Event::Partition(notice)) => return Err(notice.error),
                Some(event) => serve(event)?,
            }
        }
    }

    fn deliver(&mut self, batch: Result<Option<Box<ShareBatch>>, Error>) -> Result<Option<Box<ShareBatch>>, Error> {
        let Some(mut batch) = batch? else { return Ok(None) };
        if self.application.on_batch(&mut batch, self.client.shared().clock.now()) {
            self.client.shared().waker.wake();
        }
        Ok(Some(batch))
    }

    // ---------------------------------------------------------------- acknowledgements

    /// Acknowledges a record of the last poll, or changes its acknowledgement; the next poll or commit sends it.
    ///
    /// # Errors
    /// [`L_STATE`](ErrorCode::L_STATE) in implicit mode, for a record that is not of the last poll or is committed, and after a
    /// close.
    pub fn acknowledge(&mut self, topic: &str, partition: i32, offset: i64, ty: AcknowledgeType) -> Result<(), Error> {
        self.check_open()?;
        self.application.acknowledge(topic, partition, offset, ty)
    }

    /// Returns the number of records of the last poll without an acknowledgement.
    pub fn unacknowledged(&self) -> usize {
        self.application.unacknowledged()
    }

    fn commit_in_background(&self, acknowledgements: Vec<PartitionAcknowledgements>) {
        if !acknowledgements.is_empty() {
            self.send(share::Command::Commit {
                acknowledgements,
                call: None,
            });
        }
    }

    /// Serves the results of acknowledgements that have arrived.
    ///
    /// # Errors
    /// Those of `serve`, which ends the call.
    pub fn serve_results(&self, serve: &mut ServeEvent<'_>) -> Result<(), Error> {
        let results = self
            .client
            .consumer_queue()
            .extract(|event| matches!(event, Event::Acknowledged(_)));
        results.into_iter().try_for_each(serve)
    }

    /// Waits for a reply that may need brokers. Serves requests for tokens of OAUTHBEARER meanwhile, since no connection
    /// authenticates without a token. Also returns the first error of `serve`.
    fn answer_with_tokens<T>(
        &self,
        reply: &Reply<Result<T, Error>>,
        serve: &mut ServeEvent<'_>,
    ) -> (Result<T, Error>, Result<(), Error>) {
        let mut served = Ok(());
        loop {
            if let Some(result) = reply.wait(Some(TOKEN_LOOK)) {
                return (result, served);
            }
            let queue = self.client.consumer_queue();
            for event in queue.extract(|event| matches!(event, Event::TokenRefresh(_))) {
                served = served.and(serve(event));
            }
        }
    }

    /// Sends the acknowledgements without waiting. In implicit mode it accepts the records of the last poll. Passes results
    /// that have arrived to `serve`.
    ///
    /// # Errors
    /// [`L_STATE`](ErrorCode::L_STATE) after a close; errors of `serve`.
    pub fn commit_async(&mut self, serve: &mut ServeEvent<'_>) -> Result<(), Error> {
        self.check_open()?;
        let acknowledgements = self.application.take_acknowledgements();
        self.commit_in_background(acknowledgements);
        self.serve_results(serve)
    }

    /// Sends the acknowledgements and waits for the result of each partition; empty if there was nothing to send. In implicit
    /// mode it accepts the records of the last poll. Partitions without a result at the deadline have
    /// [`REQUEST_TIMED_OUT`](ErrorCode::REQUEST_TIMED_OUT). Requests for tokens are passed to `serve` meanwhile.
    ///
    /// # Errors
    /// [`L_STATE`](ErrorCode::L_STATE) after a close, [`L_DESTROY`](ErrorCode::L_DESTROY) when the client is destroyed
    /// meanwhile; errors of `serve`.
    pub fn commit_sync(
        &mut self,
        timeout: Option<Duration>,
        serve: &mut ServeEvent<'_>,
    ) -> Result<CommitResults, Error> {
        self.check_open()?;
        let acknowledgements = self.application.take_acknowledgements();
        if acknowledgements.is_empty() {
            self.serve_results(serve)?;
            return Ok(Vec::new());
        }
        let reply = Reply::new();
        self.send(share::Command::Commit {
            acknowledgements,
            call: Some(CommitCall {
                deadline: self.deadline(timeout),
                reply: reply.clone(),
            }),
        });
        let (results, served) = self.answer_with_tokens(&reply, serve);
        self.serve_results(serve)?;
        served.and(results)
    }

    // ---------------------------------------------------------------- the end

    /// Begins to close the consumer: sends the acknowledgements, closes the share sessions, leaves the group. In implicit mode
    /// records of the last poll that no poll or commit has accepted become available to other members.
    ///
    /// # Errors
    /// [`L_STATE`](ErrorCode::L_STATE) when it is closed or being closed.
    pub fn begin_close(&mut self) -> Result<(), Error> {
        self.check_open()?;
        let acknowledgements = self.application.take_last_acknowledgements();
        let reply = Reply::new();
        self.send(share::Command::Close {
            acknowledgements,
            reply: reply.clone(),
        });
        self.closing = Some(reply);
        Ok(())
    }

    /// Closes the consumer, within about `socket.timeout.ms`; see [`begin_close`](Self::begin_close).
    ///
    /// # Errors
    /// [`L_STATE`](ErrorCode::L_STATE) when it is closed or being closed, [`L_TIMED_OUT`](ErrorCode::L_TIMED_OUT) when brokers
    /// did not answer, errors of `serve`; the consumer is closed in the latter cases.
    pub fn close(&mut self, serve: &mut ServeEvent<'_>) -> Result<(), Error> {
        self.begin_close()?;
        let (result, served) = match self.closing.take() {
            Some(reply) => self.answer_with_tokens(&reply, serve),
            None => (Ok(()), Ok(())),
        };
        self.is_closed = true;
        self.serve_results(serve)?;
        served.and(result)
    }

    /// Returns whether the consumer is closed.
    pub fn is_closed(&self) -> bool {
        self.is_closed || self.shared.is_closed()
    }
}

/// Waits for the reply of the core, which answers every command.
fn answer<T>(reply: &Reply<Result<T, Error>>) -> Result<T, Error> {
    reply
        .wait(None)
        .unwrap_or_else(|| Err(Error::new(ErrorCode::L_DESTROY, "the client is being destroyed")))
}
