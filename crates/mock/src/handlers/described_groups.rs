//! The parts of responses about groups that do not depend on the groups' type.

use ottla_protocol::ErrorCode;

use crate::acls::GROUP_OPERATIONS;
use crate::api_error::ApiError;
use crate::cluster::Cluster;

/// Returns the operations that the client may perform on a group: all, if they were requested and the group has no error.
pub(super) fn authorized_operations(are_requested: bool, error_code: i16) -> i32 {
    match are_requested && error_code == 0 {
        true => GROUP_OPERATIONS,
        false => i32::MIN,
    }
}

/// Returns the error of an id that belongs to no group of this type, such as a share group.
pub(super) fn not_found(cluster: &Cluster, id: &str, group_type: &str) -> ApiError {
    let what = match cluster.group_exists(id) {
        true => format!("is not a {group_type} group"),
        false => "not found".to_owned(),
    };
    ApiError::new(ErrorCode::GROUP_ID_NOT_FOUND, format!("Group {id} {what}."))
}
