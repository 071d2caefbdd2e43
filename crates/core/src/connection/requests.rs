//! The requests in flight on a connection.

use std::collections::VecDeque;
use std::time::Duration;

use ottla_protocol::ApiKey;

use super::key::Tag;
use crate::sys::Instant;

/// A request in flight: until its response arrives or, without a response (`acks=0`), until the kernel has taken it whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct InFlight {
    pub(super) correlation_id: i32,
    pub(super) tag: Tag,
    pub(super) api: ApiKey,
    pub(super) version: i16,
    pub(super) sent_at: Instant,
    pub(super) deadline: Instant,
    /// Time at which the kernel had taken the whole request; equal to `sent_at` until then.
    pub(super) written_at: Instant,
    /// The frame's number on this connection, from 1.
    pub(super) frame: u64,
    pub(super) expects_reply: bool,
    /// Timed out and reported: a late response is dropped.
    pub(super) abandoned: bool,
    /// Bytes of the frame, its length prefix included.
    pub(super) size: usize,
}

/// The properties of a request that is being sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) tag: Tag,
    pub(super) api: ApiKey,
    pub(super) version: i16,
    pub(super) timeout: Duration,
    pub(super) expects_reply: bool,
    pub(super) size: usize,
}

/// The progress of a request's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    /// The kernel has taken none.
    Queued,
    /// The kernel has taken some.
    Partial,
    /// The kernel has taken all.
    Whole,
}

/// A response that matches no request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mismatch {
    /// The response to another request was expected, or none.
    Unexpected { expected: Option<i32> },
    /// The request is not wholly written yet.
    BeforeWritten,
}

/// The requests in flight on a connection in the order in which they were sent, and the counts of its frames: those sent,
/// and those of which the kernel has taken the first byte (begun) and all bytes (done).
///
/// Frames without an entry (SASL tokens without Kafka's framing) are counted, too, because the transport counts them.
#[derive(Debug)]
pub(super) struct RequestsInFlight {
    requests: VecDeque<InFlight>,
    next_correlation_id: i32,
    frames_sent: u64,
    frames_begun: u64,
    frames_done: u64,
    /// Requests that timed out on this connection.
    timeouts: u32,
}

impl Default for RequestsInFlight {
    fn default() -> Self {
        RequestsInFlight {
            requests: VecDeque::new(),
            next_correlation_id: 1,
            frames_sent: 0,
            frames_begun: 0,
            frames_done: 0,
            timeouts: 0,
        }
    }
}

impl RequestsInFlight {
    /// Returns the correlation id of the next request.
    pub(super) fn next_correlation_id(&self) -> i32 {
        self.next_correlation_id
    }

    /// Appends a request with the next correlation id.
    pub(super) fn push(&mut self, sent: Sent, now: Instant) -> InFlight {
        let correlation_id = self.next_correlation_id;
        self.next_correlation_id = correlation_id.checked_add(1).unwrap_or(1);
        self.push_frame();
        let request = InFlight {
            correlation_id,
            tag: sent.tag,
            api: sent.api,
            version: sent.version,
            sent_at: now,
            deadline: now + sent.timeout,
            written_at: now,
            frame: self.frames_sent,
            expects_reply: sent.expects_reply,
            abandoned: false,
            size: sent.size,
        };
        self.requests.push_back(request);
        request
    }

    /// Counts a frame that is no Kafka request.
    pub(super) fn push_frame(&mut self) {
        self.frames_sent += 1;
    }

    /// Stores the transport's counts of frames. Calls `on_whole` for each request that the kernel has taken whole since the
    /// last call. Returns the requests without a response, which end then, except those reported as timed out.
    pub(super) fn on_written(
        &mut self,
        (begun, done): (u64, u64),
        now: Instant,
        mut on_whole: impl FnMut(&InFlight),
    ) -> Written {
        self.frames_begun = begun;
        let before = std::mem::replace(&mut self.frames_done, done.min(self.frames_sent));
        let mut written = Written::default();
        let mut i = 0;
        while let Some(request) = self.requests.get_mut(i).filter(|r| r.frame <= done) {
            if request.frame > before {
                request.written_at = now;
                on_whole(request);
            }
            if request.expects_reply {
                i += 1;
                continue;
            }
            written.any_ended = true;
            written.sent.extend(Some(request.tag).filter(|_| !request.abandoned));
            self.requests.remove(i);
        }
        written
    }

    /// Removes and returns the request that a response answers. Responses arrive in the order of the requests; requests
    /// without a response are in the queue only until the kernel has taken them.
    pub(super) fn take_answered(&mut self, correlation_id: Option<i32>) -> Result<InFlight, Mismatch> {
        let position = self.requests.iter().position(|r| r.expects_reply);
        let expected = position.and_then(|i| self.requests.get(i)).copied();
        match (position, expected) {
            (Some(i), Some(request)) if Some(request.correlation_id) == correlation_id => {
                // The receiver of the response may free memory that the transport still has to write.
                if request.frame > self.frames_done {
                    return Err(Mismatch::BeforeWritten);
                }
                self.requests.remove(i);
                Ok(request)
            }
            _ => Err(Mismatch::Unexpected {
                expected: expected.map(|r| r.correlation_id),
            }),
        }
    }

    /// Marks the requests whose deadline has passed as abandoned, and returns them.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<InFlight> {
        let late = self.requests.iter_mut().filter(|r| !r.abandoned && r.deadline <= now);
        let late: Vec<InFlight> = late
            .map(|r| {
                r.abandoned = true;
                *r
            })
            .collect();
        self.timeouts = self
            .timeouts
            .saturating_add(u32::try_from(late.len()).unwrap_or(u32::MAX));
        late
    }

    /// Removes all requests and returns those that have not timed out.
    pub(super) fn drain(&mut self) -> Vec<InFlight> {
        self.requests.drain(..).filter(|r| !r.abandoned).collect()
    }

    /// Returns how much of a request the kernel has taken.
    pub(super) fn progress(&self, request: &InFlight) -> Progress {
        match request.frame {
            frame if frame <= self.frames_done => Progress::Whole,
            frame if frame <= self.frames_begun => Progress::Partial,
            _ => Progress::Queued,
        }
    }

    /// Returns true while the kernel has not taken all of the request with that tag: the transport may still read memory
    /// that it refers to.
    pub(super) fn is_unwritten(&self, tag: Tag) -> bool {
        self.requests.iter().any(|r| r.tag == tag && r.frame > self.frames_done)
    }

    /// Returns the number of frames that were sent.
    #[cfg(test)]
    pub(super) fn frames_sent(&self) -> u64 {
        self.frames_sent
    }

    /// Returns the number of frames that the kernel has not wholly taken.
    pub(super) fn unwritten(&self) -> u64 {
        self.frames_sent - self.frames_done
    }

    /// Returns the number of requests that timed out on this connection.
    pub(super) fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Returns the number of requests, those that timed out included.
    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Returns the requests that have not timed out, oldest first.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &InFlight> {
        self.requests.iter().filter(|r| !r.abandoned)
    }

    /// Returns the oldest request, also one that timed out.
    pub(super) fn first(&self) -> Option<&InFlight> {
        self.requests.front()
    }

    /// Returns true when `max` requests wait for their responses. One that timed out is not counted: the connection may stay
    /// open (`socket.max.fails`), and a response that never arrives must not block it.
    pub(super) fn is_full(&self, max: usize) -> bool {
        self.requests.len() >= max && self.waiting().count() >= max
    }

    /// Returns true when there is no request, or all have timed out.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting().next().is_none()
    }

    /// Returns the earliest deadline of the requests that have not timed out.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.waiting().map(|r| r.deadline).min()
    }
}

/// The requests that ended because the kernel has taken them.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// A request was removed, reported or not.
    pub(super) any_ended: bool,
    /// Tags of requests whose outcome is [`Outcome::Sent`](super::Outcome::Sent).
    pub(super) sent: Vec<Tag>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Owner;

    fn sent(id: u64, expects_reply: bool) -> Sent {
        let owner = Owner::Cluster;
        Sent {
            tag: Tag { owner, id },
            api: ApiKey::METADATA,
            version: 0,
            timeout: Duration::from_secs(1),
            expects_reply,
            size: 10,
        }
    }

    #[test]
    fn a_response_is_matched_with_the_first_request_that_expects_one() {
        let (mut requests, now) = (RequestsInFlight::default(), Instant::ORIGIN);
        requests.push(sent(1, false), now);
        requests.push(sent(2, true), now);
        requests.push(sent(3, true), now);
        let unexpected = |expected| Err(Mismatch::Unexpected { expected });
        let taken = |requests: &mut RequestsInFlight, id| requests.take_answered(id).map(|r| r.tag.id);
        assert_eq!(taken(&mut requests, Some(3)), unexpected(Some(2)));
        assert_eq!(taken(&mut requests, None), unexpected(Some(2)));
        assert_eq!(taken(&mut requests, Some(2)), Err(Mismatch::BeforeWritten));
        let mut whole = Vec::new();
        let written = requests.on_written((3, 2), now, |r| whole.push(r.tag.id));
        assert_eq!((whole, written.sent.len(), written.any_ended), (vec![1, 2], 1, true));
        assert_eq!(taken(&mut requests, Some(2)), Ok(2));
        assert_eq!(taken(&mut requests, Some(3)), Err(Mismatch::BeforeWritten));
        requests.on_written((3, 3), now, |_| ());
        assert_eq!(taken(&mut requests, Some(3)), Ok(3));
        assert_eq!(taken(&mut requests, Some(4)), unexpected(None));
    }

    #[test]
    fn an_abandoned_request_without_a_response_ends_without_an_outcome() {
        let (mut requests, now) = (RequestsInFlight::default(), Instant::ORIGIN);
        requests.push(sent(1, false), now);
        assert_eq!(requests.expire(now.plus_ms(1000)).len(), 1);
        assert!(requests.is_idle() && requests.len() == 1);
        let written = requests.on_written((1, 1), now, |_| ());
        assert!(written.any_ended && written.sent.is_empty());
        assert_eq!(requests.len(), 0);
    }
}
