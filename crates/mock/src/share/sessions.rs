//! Share sessions: the partitions that a member of a share group fetches from a broker, remembered by the broker.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;

use crate::ids::{BrokerId, ConnectionKey};
use crate::share_key::PartitionId;

/// The session epochs of a request that opens a session, and of one that closes it.
pub(crate) const INITIAL_EPOCH: i32 = 0;
pub(crate) const FINAL_EPOCH: i32 = -1;

#[derive(Debug)]
struct ShareSession {
    /// The epoch of the next request.
    epoch: i32,
    /// The connection that opened it, with which it ends.
    connection: ConnectionKey,
    /// In the order of their addition; a partition that returned records moves to the end.
    partitions: Vec<SessionPartition>,
}

#[derive(Debug)]
struct SessionPartition {
    id: PartitionId,
    /// The topic existed when the partition was added.
    was_known: bool,
    /// The next response contains the partition in any case: it is new, or had an error.
    must_answer: bool,
}

type SessionKey = (BrokerId, String, String);

/// The share sessions of all brokers, by broker, group and member.
#[derive(Debug, Default)]
pub(crate) struct ShareSessions {
    by_key: BTreeMap<SessionKey, ShareSession>,
}

fn next_epoch(epoch: i32) -> i32 {
    match epoch {
        ..0 => FINAL_EPOCH,
        i32::MAX => 1,
        _ => epoch + 1,
    }
}

fn key(broker: BrokerId, group: &str, member: &str) -> SessionKey {
    (broker, group.to_owned(), member.to_owned())
}

impl ShareSessions {
    /// Opens a session in place of an earlier one of the member. `partitions` has true for those of existing topics.
    ///
    /// # Errors
    /// SHARE_SESSION_LIMIT_REACHED when the broker has `limit` sessions.
    pub(crate) fn open(
        &mut self,
        connection: ConnectionKey,
        group: &str,
        member: &str,
        partitions: &[(PartitionId, bool)],
        limit: usize,
    ) -> Result<(), ErrorCode> {
        let broker = connection.0;
        self.by_key.remove(&key(broker, group, member));
        if self.by_key.keys().filter(|(b, ..)| *b == broker).count() >= limit {
            return Err(ErrorCode::SHARE_SESSION_LIMIT_REACHED);
        }
        let mut session = ShareSession {
            epoch: next_epoch(INITIAL_EPOCH),
            connection,
            partitions: Vec::new(),
        };
        session.add(partitions, false);
        self.by_key.insert(key(broker, group, member), session);
        Ok(())
    }

    /// Checks the epoch of a request, and advances the session unless the request closes it.
    ///
    /// # Errors
    /// SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH.
    pub(crate) fn advance(&mut self, broker: BrokerId, group: &str, member: &str, epoch: i32) -> Result<(), ErrorCode> {
        let session = self.by_key.get_mut(&key(broker, group, member));
        let session = session.ok_or(ErrorCode::SHARE_SESSION_NOT_FOUND)?;
        match epoch {
            FINAL_EPOCH => Ok(()),
            epoch if epoch != session.epoch => Err(ErrorCode::INVALID_SHARE_SESSION_EPOCH),
            _ => {
                session.epoch = next_epoch(session.epoch);
                Ok(())
            }
        }
    }

    /// Adds and removes partitions, and returns those of the session in order, with true for those whose topic existed when
    /// they were added.
    pub(crate) fn update(
        &mut self,
        broker: BrokerId,
        group: &str,
        member: &str,
        added: &[(PartitionId, bool)],
        forgotten: &[PartitionId],
    ) -> Vec<(PartitionId, bool)> {
        let Some(session) = self.by_key.get_mut(&key(broker, group, member)) else {
            return Vec::new();
        };
        session.add(added, true);
        session.partitions.retain(|p| !forgotten.contains(&p.id));
        session.partitions.iter().map(|p| (p.id, p.was_known)).collect()
    }

    /// Records that a response is about to contain a partition. Returns false when it need not: the partition has neither
    /// records nor an error, and the client has seen it without.
    pub(crate) fn must_answer(
        &mut self,
        broker: BrokerId,
        (group, member): (&str, &str),
        id: PartitionId,
        has_records: bool,
        has_error: bool,
    ) -> bool {
        let Some(session) = self.by_key.get_mut(&key(broker, group, member)) else {
            return true;
        };
        let Some(at) = session.partitions.iter().position(|p| p.id == id) else {
            return has_records || has_error;
        };
        let mut partition = session.partitions.remove(at);
        let answers = has_records || has_error || partition.must_answer;
        partition.must_answer = has_error;
        let at = if has_records { session.partitions.len() } else { at };
        session.partitions.insert(at, partition);
        answers
    }

    /// Returns the epoch that a session expects next, `None` when there is no such session.
    pub(crate) fn epoch(&self, broker: BrokerId, group: &str, member: &str) -> Option<i32> {
        self.by_key.get(&key(broker, group, member)).map(|s| s.epoch)
    }

    /// Removes a session, and returns its partitions.
    pub(crate) fn remove(&mut self, broker: BrokerId, group: &str, member: &str) -> Option<Vec<PartitionId>> {
        let session = self.by_key.remove(&key(broker, group, member))?;
        Some(session.partitions.into_iter().map(|p| p.id).collect())
    }

    /// Returns the group and the member of the session that a connection has opened.
    pub(crate) fn of_connection(&self, connection: ConnectionKey) -> Vec<(String, String)> {
        let opened = self.by_key.iter().filter(|(_, s)| s.connection == connection);
        opened
            .map(|((_, group, member), _)| (group.clone(), member.clone()))
            .collect()
    }

    /// Returns true when members of the group have sessions at the broker.
    pub(crate) fn has_members(&self, broker: BrokerId, group: &str) -> bool {
        self.by_key.keys().any(|(b, g, _)| *b == broker && g == group)
    }

    /// Removes the sessions of a broker, as its restart does.
    pub(crate) fn clear(&mut self, broker: BrokerId) {
        self.by_key.retain(|(b, ..), _| *b != broker);
    }

    /// Returns the number of sessions of a broker.
    pub(crate) fn count(&self, broker: BrokerId) -> usize {
        self.by_key.keys().filter(|(b, ..)| *b == broker).count()
    }
}

impl ShareSession {
    fn add(&mut self, partitions: &[(PartitionId, bool)], must_answer: bool) {
        for &(id, was_known) in partitions {
            if !self.partitions.iter().any(|p| p.id == id) {
                self.partitions.push(SessionPartition {
                    id,
                    was_known,
                    must_answer,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ottla_protocol::Uuid;

    use super::*;
    use crate::ids::ConnectionId;

    const CONNECTION: ConnectionKey = (BrokerId(1), ConnectionId(7));
    const PARTITION: PartitionId = (Uuid([1; 16]), 0);

    #[test]
    fn epochs_rise_and_wrap_to_one() {
        let mut sessions = ShareSessions::default();
        let advance = |sessions: &mut ShareSessions, epoch| sessions.advance(BrokerId(1), "g", "m", epoch);
        assert_eq!(advance(&mut sessions, 1), Err(ErrorCode::SHARE_SESSION_NOT_FOUND));
        sessions.open(CONNECTION, "g", "m", &[(PARTITION, true)], 1).unwrap();
        assert_eq!(advance(&mut sessions, 1), Ok(()));
        assert_eq!(advance(&mut sessions, 1), Err(ErrorCode::INVALID_SHARE_SESSION_EPOCH));
        sessions.by_key.values_mut().for_each(|s| s.epoch = i32::MAX);
        assert_eq!(advance(&mut sessions, i32::MAX), Ok(()));
        assert_eq!(sessions.epoch(BrokerId(1), "g", "m"), Some(1));
        // Closing needs no epoch, and leaves the session for the release of its records.
        assert_eq!(advance(&mut sessions, FINAL_EPOCH), Ok(()));
        assert_eq!(sessions.remove(BrokerId(1), "g", "m"), Some(vec![PARTITION]));
    }

    #[test]
    fn limit_counts_the_sessions_of_one_broker() {
        let mut sessions = ShareSessions::default();
        sessions.open(CONNECTION, "g", "m", &[], 1).unwrap();
        sessions.open(CONNECTION, "g", "m", &[], 1).unwrap();
        let refused = sessions.open(CONNECTION, "g", "n", &[], 1);
        assert_eq!(refused, Err(ErrorCode::SHARE_SESSION_LIMIT_REACHED));
        sessions.open((BrokerId(2), ConnectionId(7)), "g", "n", &[], 1).unwrap();
    }

    #[test]
    fn unchanged_partition_is_not_answered() {
        let mut sessions = ShareSessions::default();
        let second = (PARTITION.0, 1);
        sessions.open(CONNECTION, "g", "m", &[(PARTITION, true)], 1).unwrap();
        let both = [(PARTITION, true), (second, false)];
        assert_eq!(sessions.update(BrokerId(1), "g", "m", &[(second, false)], &[]), both);
        let mut answers = |id, records, error| sessions.must_answer(BrokerId(1), ("g", "m"), id, records, error);
        assert!(!answers(PARTITION, false, false));
        assert!(answers(second, false, false));
        assert!(!answers(second, false, false));
        assert!(answers(PARTITION, true, false));
        assert!(answers(second, false, true));
        assert!(answers(second, false, false));
        assert_eq!(sessions.update(BrokerId(1), "g", "m", &[], &[]), [both[1], both[0]]);
        assert_eq!(sessions.update(BrokerId(1), "g", "m", &[], &[second]), [both[0]]);
    }
}
