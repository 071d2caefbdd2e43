//! stub
use crate::cluster::Cluster;
use crate::connection::{BrokerKey, Outcome};
use crate::context::Ctx;
use crate::error::Error;
use crate::membership::CoordinatorConnection;
use crate::request::RequestIds;
use crate::sys::Instant;
use ottla_protocol::Uuid;
use std::collections::BTreeSet;
use std::sync::Arc;
pub(super) struct AssignedPartition {
    pub topic_id: Uuid,
    pub topic: Arc<str>,
    pub partition: i32,
}
pub(super) enum MemberAction {
    Assigned(Vec<AssignedPartition>),
    ReportError(Error),
    ReportTopicError(Arc<str>, Error),
}
#[derive(Debug)]
pub(super) struct ShareMember;
impl ShareMember {
    pub fn new(_: &crate::config::ClientConfig) -> Self {
        ShareMember
    }
    pub fn subscribe(&mut self, _: &mut Ctx<'_>, _: &mut Cluster, _: BTreeSet<Arc<str>>) {}
    pub fn unsubscribe(&mut self, _: &mut Ctx<'_>, _: &mut Cluster) {}
    pub fn subscription(&self) -> Vec<String> {
        vec![]
    }
    pub fn is_inactive(&self) -> bool {
        true
    }
    pub fn public_state(&self) -> &'static str {
        ""
    }
    pub fn member_id(&self) -> &str {
        ""
    }
    pub fn take_actions(&mut self) -> Vec<MemberAction> {
        vec![]
    }
    pub fn leave_on_max_poll(&mut self, _: &Ctx<'_>, _: u64) {}
    pub fn rejoin_on_poll(&mut self, _: &Ctx<'_>) {}
    pub fn abandon(&mut self) {}
    pub fn wake(&self) -> Option<Instant> {
        None
    }
    pub fn has_work(&self, _: Instant) -> bool {
        false
    }
    pub fn send(&mut self, _: &mut Ctx<'_>, _: &CoordinatorConnection<'_>, _: &mut RequestIds) {}
    pub fn on_outcome(&mut self, _: &mut Ctx<'_>, _: &Cluster, _: BrokerKey, _: u64, _: Outcome) -> bool {
        false
    }
    pub fn on_topic_changed(&mut self, _: &mut Cluster, _: &Arc<str>) {}
    pub fn heartbeat_now(&mut self, _: Instant) {}
}
