//! UnregisterBroker: removes a broker from a KRaft cluster (KIP-500).

use ottla_protocol::DecodeError;
use ottla_protocol::api::unregister_broker::UnregisterBrokerRequest;

use crate::admin::operation::{Answer, Keys, Operation, Options, Rows, To, Verdict, Verdicts, row_of};
use crate::error::Error;
use crate::request::Target;
use crate::types::NodeId;

/// Removes the registration of a broker that will not return.
#[derive(Debug, Clone)]
pub struct UnregisterBroker(pub NodeId);

impl Operation for UnregisterBroker {
    const NAME: &'static str = "UnregisterBroker";
    type Key = ();
    type Row = ();
    type Output = ();

    fn check(&self, _: &Options) -> Result<(), Error> {
        match self.0.0 {
            ..0 => Err(Error::invalid_arg(format!("The broker id {} is negative", self.0))),
            _ => Ok(()),
        }
    }

    fn keys(&self) -> Keys<()> {
        Keys::Known(vec![()])
    }

    fn target(&self, (): &()) -> Target {
        Target::Any
    }

    /// The second time the broker is unknown.
    fn is_repeatable(&self, _: &Options) -> bool {
        false
    }

    fn send(&self, _: &[()], to: &mut To<'_, '_>) -> Result<(), Error> {
        to.send(&UnregisterBrokerRequest {
            broker_id: self.0.0,
            ..Default::default()
        })
    }

    fn read(&self, _: &[()], answer: &Answer<'_>) -> Result<Verdicts<Self>, DecodeError> {
        let response = answer.decode::<UnregisterBrokerRequest>()?;
        Ok(vec![((), Verdict::of(response.error_code, response.error_message, ()))])
    }

    fn finish(&self, rows: Rows<Self>) -> Result<(), Error> {
        row_of(&rows, &())
    }
}

#[cfg(test)]
mod tests {
    use ottla_mock::BrokerId;

    use super::*;
    use crate::admin::DescribeCluster;
    use crate::error::ErrorCode;
    use crate::test_kit::World;

    fn code(result: Result<(), Error>) -> Option<ErrorCode> {
        result.err().map(|e| e.code)
    }

    #[test]
    fn an_unregistered_broker_is_unknown_until_it_starts_again() {
        let mut w = World::producer(&[], &[]);
        let at_first = Options {
            broker: Some(NodeId(1)),
            ..Options::default()
        };
        let mut unregister = |w: &mut World, id| code(w.ask_with(UnregisterBroker(NodeId(id)), at_first.clone()));
        assert_eq!(unregister(&mut w, 3), None);
        let nodes = w.ask(DescribeCluster::default()).unwrap().nodes;
        assert_eq!(nodes.iter().map(|node| node.id.0).collect::<Vec<_>>(), [1, 2]);
        let unknown = Some(ErrorCode::BROKER_ID_NOT_REGISTERED);
        assert_eq!([unregister(&mut w, 3), unregister(&mut w, 9)], [unknown; 2]);
        w.brokers().start_broker(BrokerId(3));
        assert_eq!(unregister(&mut w, 3), None);
        assert_eq!(unregister(&mut w, -1), Some(ErrorCode::L_INVALID_ARG));
    }
}
