//! Errors of brokers after which a key is asked again.

use crate::error::ErrorCode;
use crate::request::Target;

/// The consequence of a broker's error for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Consequence {
    /// The error is the key's result.
    Final,
    /// The same broker is asked again.
    Again,
    /// The broker is looked up and asked again.
    Elsewhere,
}

/// Returns the consequence of an error code from this target. Brokers return such an error in place of the operation, so
/// that it can be repeated in any case.
///
/// A broker that the call names is asked once: NOT_CONTROLLER and the like are its answer.
pub(super) fn consequence(target: &Target, code: ErrorCode) -> Consequence {
    if target.has_moved(code) {
        return Consequence::Elsewhere;
    }
    let is_passing = match target {
        Target::Coordinator(..) => code == ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
        Target::Leader(_) => matches!(
            code,
            ErrorCode::OFFSET_NOT_AVAILABLE | ErrorCode::KAFKA_STORAGE_ERROR | ErrorCode::UNKNOWN_LEADER_EPOCH
        ),
        Target::Any | Target::Controller | Target::Broker(_) => false,
    };
    match is_passing {
        true => Consequence::Again,
        false => Consequence::Final,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::CoordinatorType;
    use crate::types::{NodeId, TopicPartition};

    #[test]
    fn errors_that_pass_depend_on_the_target() {
        let targets = [
            Target::Any,
            Target::Controller,
            Target::Broker(NodeId(1)),
            Target::Leader(TopicPartition::new("t", 0)),
            Target::Coordinator(CoordinatorType::Group, "g".into()),
        ];
        let of = |code| targets.each_ref().map(|target| consequence(target, code));
        let (no, again, moved) = (Consequence::Final, Consequence::Again, Consequence::Elsewhere);
        assert_eq!(of(ErrorCode::NOT_CONTROLLER), [no, moved, no, no, no]);
        assert_eq!(of(ErrorCode::NOT_LEADER_FOR_PARTITION), [no, no, no, moved, no]);
        assert_eq!(of(ErrorCode::OFFSET_NOT_AVAILABLE), [no, no, no, again, no]);
        assert_eq!(of(ErrorCode::NOT_COORDINATOR), [no, no, no, no, moved]);
        assert_eq!(of(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS), [no, no, no, no, again]);
        assert_eq!(
            of(ErrorCode::REQUEST_TIMED_OUT),
            [no; 5],
            "the operation may have begun"
        );
    }
}
