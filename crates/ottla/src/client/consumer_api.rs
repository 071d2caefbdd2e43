//! The consumer's calls. Each hands a command to the client's thread and waits for its answer, which the consumer gives
//! at the latest at the call's deadline or when the client ends.

use std::sync::Arc;
use std::time::Duration;

use super::core::Command as CoreCommand;
use super::handle::Client;
use crate::consumer::{Command, CommitTarget, GroupInfo, OffsetsResult, RebalanceProtocol, SharedState};
use crate::error::{Error, ErrorCode};
use crate::event::{PartitionState, Queue};
use crate::reply::Reply;
use crate::types::{PartitionOffset, Topic, TopicPartition};

/// What becomes of a commit's result.
#[derive(Clone)]
pub enum CommitMode {
    /// The call waits for it.
    Sync,
    /// It is told by an [`Event::Commit`](crate::event::Event::Commit) when the application listens.
    Async,
    /// It goes to this queue, with the application's pointer.
    Queue {
        /// Where the result goes.
        queue: Arc<Queue>,
        /// The application's pointer.
        opaque: usize,
        /// The commit has a callback of its own, which is called in place of the configuration's.
        own_callback: bool,
    },
}

impl Client {
    fn consumer_state(&self) -> Result<&Arc<SharedState>, Error> {
        self.shared().check_process()?;
        let consumer = self.shared().consumer.as_ref();
        consumer.ok_or_else(|| Error::new(ErrorCode::L_INVALID_ARG, "the client is a producer, not a consumer"))
    }

    fn request<T>(&self, make: impl FnOnce(Arc<Reply<Result<T, Error>>>) -> Command) -> Result<T, Error> {
        self.consumer_state()?;
        self.request_any(make)
    }

    /// Like [`request`](Self::request), for what producers may ask as well.
    fn request_any<T>(&self, make: impl FnOnce(Arc<Reply<Result<T, Error>>>) -> Command) -> Result<T, Error> {
        let reply = Reply::new();
        self.shared().send(CoreCommand::Consumer(make(reply.clone())));
        reply
            .wait(None)
            .unwrap_or_else(|| Err(Error::new(ErrorCode::L_FAIL, "the call was not answered")))
    }

    /// The state of a partition, made when there is none. Its queue can be served apart from the consumer's.
    pub fn partition(&self, topic: &Arc<Topic>, partition: i32) -> Result<Arc<PartitionState>, Error> {
        Ok(self.consumer_state()?.partition(topic, partition))
    }

    /// The queue of a partition that was heard of.
    pub fn partition_queue(&self, topic: &str, partition: i32) -> Option<Arc<Queue>> {
        Some(self.consumer_state().ok()?.find(topic, partition)?.queue().clone())
    }

    /// Consumes one partition, apart from any assignment. Records go to `queue`, or stay in the partition's own.
    pub fn consume_start(
        &self,
        topic: &Arc<Topic>,
        partition: i32,
        offset: i64,
        queue: Option<Arc<Queue>>,
    ) -> Result<(), Error> {
        let topic = topic.clone();
        self.request(|reply| Command::Start {
            topic,
            partition,
            offset,
            queue,
            reply,
        })
    }

    /// Ends [`consume_start`](Self::consume_start); no record of the partition comes afterwards.
    pub fn consume_stop(&self, topic: &Arc<Topic>, partition: i32) -> Result<(), Error> {
        let topic = topic.clone();
        self.request(|reply| Command::Stop {
            topic,
            partition,
            reply,
        })
    }

    /// Continues at other offsets; each row gets its own result.
    pub fn seek(&self, partitions: Vec<PartitionOffset>) -> OffsetsResult {
        if partitions.is_empty() {
            return Err(Error::invalid_arg("no partitions to seek"));
        }
        self.request(|reply| Command::Seek { partitions, reply })
    }

    /// Nothing new is begun after a fatal error.
    fn check_not_fatal(&self) -> Result<(), Error> {
        self.fatal_error().map_or(Ok(()), |fatal| {
            let text = format!("nothing can be consumed after a fatal error: {}", fatal.message);
            Err(Error::new(ErrorCode::L_FATAL, text).into_fatal())
        })
    }

    /// Replaces the assignment; `None` empties it. After a fatal error only the latter is done: the former gives
    /// [`ErrorCode::L_FATAL`].
    pub fn assign(&self, partitions: Option<Vec<PartitionOffset>>) -> Result<(), Error> {
        if partitions.is_some() {
            self.check_not_fatal()?;
        }
        self.request(|reply| match partitions {
            Some(partitions) => Command::Assign { partitions, reply },
            None => Command::Unassign { reply },
        })
    }

    /// Adds to the assignment.
    pub fn incremental_assign(&self, partitions: Vec<PartitionOffset>) -> Result<(), Error> {
        self.request(|reply| Command::IncrementalAssign { partitions, reply })
    }

    /// Takes from the assignment.
    pub fn incremental_unassign(&self, partitions: Vec<TopicPartition>) -> Result<(), Error> {
        self.request(|reply| Command::IncrementalUnassign { partitions, reply })
    }

    /// The assignment.
    pub fn assignment(&self) -> OffsetsResult {
        self.request(|reply| Command::Assignment { reply })
    }

    /// Joins the group for these topics. Gives [`ErrorCode::L_FATAL`] after a fatal error.
    pub fn subscribe(&self, topics: Vec<String>) -> Result<(), Error> {
        self.check_not_fatal()?;
        self.request(|reply| Command::Subscribe { topics, reply })
    }

    /// Leaves the group.
    pub fn unsubscribe(&self) -> Result<(), Error> {
        self.request(|reply| Command::Unsubscribe { reply })
    }

    /// The subscription.
    pub fn subscription(&self) -> Result<Vec<String>, Error> {
        self.request(|reply| Command::Subscription { reply })
    }

    /// Stops fetching and handing out records of partitions that stay assigned.
    pub fn pause(&self, partitions: Vec<TopicPartition>) -> OffsetsResult {
        self.request(|reply| Command::Pause { partitions, reply })
    }

    /// Ends [`pause`](Self::pause).
    pub fn resume(&self, partitions: Vec<TopicPartition>) -> OffsetsResult {
        self.request(|reply| Command::Resume { partitions, reply })
    }

    /// Fills in the next offset that the application will see, [`INVALID`](crate::types::offset::INVALID) where nothing was consumed yet.
    pub fn position(&self, partitions: &mut [PartitionOffset]) -> Result<(), Error> {
        self.consumer_state()?.positions(partitions);
        Ok(())
    }

    /// Asks the coordinator for committed offsets. `None` waits for ever.
    pub fn committed(&self, partitions: Vec<TopicPartition>, timeout: Option<Duration>) -> OffsetsResult {
        let deadline = self.deadline(timeout);
        self.request(|reply| Command::Committed {
            partitions,
            deadline,
            reply,
        })
    }

    /// Commits offsets, or with `None` the stored ones of the assignment. Gives the rows with their results in
    /// [`CommitMode::Sync`], nothing otherwise. With `commit_callback` of the [hooks](super::ClientHooks) the result also
    /// goes to the consumer's queue, whatever the mode, unless the commit has a callback of its own.
    pub fn commit(&self, offsets: Option<Vec<PartitionOffset>>, mode: CommitMode) -> OffsetsResult {
        self.consumer_state()?;
        let reports = self.shared().hooks.commit_callback;
        let also_event = |target, reports: bool| match reports {
            true => CommitTarget::AndEvent(Box::new(target)),
            false => target,
        };
        let target = match mode {
            CommitMode::Sync => {
                return self.request(|reply| Command::Commit {
                    offsets,
                    target: also_event(CommitTarget::Reply(reply), reports),
                });
            }
            CommitMode::Async => CommitTarget::Event,
            CommitMode::Queue {
                queue,
                opaque,
                own_callback,
            } => also_event(CommitTarget::Queue(queue, opaque), reports && !own_callback),
        };
        self.shared()
            .send(CoreCommand::Consumer(Command::Commit { offsets, target }));
        Ok(Vec::new())
    }

    /// See [`SharedState::store_offset`].
    pub fn store_offset(&self, row: &PartitionOffset) -> Result<(), Error> {
        self.consumer_state()?.store_offset(row)
    }

    /// See [`SharedState::store_offsets`].
    pub fn store_offsets(&self, partitions: &mut [PartitionOffset]) -> Result<(), Error> {
        self.consumer_state()?.store_offsets(partitions)
    }

    /// Low and high watermark as last seen by fetching; [`INVALID`](crate::types::offset::INVALID) when never seen.
    pub fn watermarks_cached(&self, topic: &str, partition: i32) -> Result<(i64, i64), Error> {
        let state = self.consumer_state()?.find(topic, partition);
        state.map(|s| s.watermarks()).ok_or_else(|| {
            Error::new(
                ErrorCode::L_UNKNOWN_PARTITION,
                format!("{topic} [{partition}] is not consumed by this client"),
            )
        })
    }

    /// Asks the leader for the low and the high watermark. `None` waits for ever.
    pub fn query_watermarks(&self, tp: TopicPartition, timeout: Option<Duration>) -> Result<(i64, i64), Error> {
        let deadline = self.deadline(timeout);
        self.request_any(|reply| Command::QueryWatermarks { tp, deadline, reply })
    }

    /// Asks leaders for the first offsets at or after the timestamps in the rows' `offset`. `None` waits for ever.
    pub fn offsets_for_times(&self, partitions: Vec<PartitionOffset>, timeout: Option<Duration>) -> OffsetsResult {
        if partitions.is_empty() {
            return Err(Error::invalid_arg("no partitions to look up offsets for"));
        }
        let deadline = self.deadline(timeout);
        self.request_any(|reply| Command::OffsetsForTimes {
            partitions,
            deadline,
            reply,
        })
    }

    /// Begins to leave the group: offsets are committed and revocations go to the consumer's queue when the application
    /// asked for them, so it must be served until the answer is there.
    pub fn close_consumer(&self) -> Result<Arc<Reply<Result<(), Error>>>, Error> {
        self.consumer_state()?;
        let reply = Reply::new();
        self.shared()
            .send(CoreCommand::Consumer(Command::Close { reply: reply.clone() }));
        Ok(reply)
    }

    /// See [`SharedState::is_assignment_lost`].
    pub fn is_assignment_lost(&self) -> bool {
        self.consumer_state().is_ok_and(|r| r.is_assignment_lost())
    }

    /// How the client's group hands partitions over.
    pub fn rebalance_protocol(&self) -> Result<RebalanceProtocol, Error> {
        Ok(self.consumer_state()?.group().protocol)
    }

    /// Who this client is in its group.
    pub fn group(&self) -> Result<GroupInfo, Error> {
        Ok(self.consumer_state()?.group())
    }

    /// The member id that the coordinator gave, empty before.
    pub fn member_id(&self) -> Result<String, Error> {
        Ok(self.consumer_state()?.group().member_id)
    }
}
