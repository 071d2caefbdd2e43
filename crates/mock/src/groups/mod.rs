//! Groups.
use crate::cluster::Cluster;

#[derive(Debug, Default)]
pub(crate) struct Groups {}
impl Groups {
    pub(crate) fn topic_deleted(&mut self, _topic: &str) {}
}
impl Cluster {
    pub(crate) fn member_session_due(&mut self, _g: &str, _m: &str) {}
    pub(crate) fn join_phase_due(&mut self, _g: &str) {}
    pub(crate) fn sync_phase_due(&mut self, _g: &str) {}
    pub(crate) fn coordinators_moved(&mut self) {}
}
