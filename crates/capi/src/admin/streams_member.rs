//! `rd_kafka_StreamsMember_t`: a member in the description of a streams group, and its tasks.

use std::ffi::{CString, c_char};

use ottla_core::admin::{StreamsMember, StreamsTasks, TaskOffset, Tasks};

use super::common::{Pointers, address, text_address};
use crate::ffi::{self, Tag, Tagged, c_text, exports};

/// `rd_kafka_StreamsMember_t`
#[repr(C)]
pub struct StreamsMemberHandle {
    tag: Tag,
    member_id: CString,
    member_epoch: i32,
    group_instance_id: Option<CString>,
    rack_id: Option<CString>,
    client_id: CString,
    host: CString,
    topology_epoch: i32,
    process_id: CString,
    endpoint: Option<(CString, u16)>,
    client_tags: Vec<(CString, CString)>,
    task_offsets: Pointers<TaskOffsetHandle>,
    task_end_offsets: Pointers<TaskOffsetHandle>,
    assignment: StreamsAssignmentHandle,
    target_assignment: StreamsAssignmentHandle,
    is_classic: bool,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for StreamsMemberHandle {
    const TAG: u32 = 0x0e44_120e;
}

impl From<&StreamsMember> for StreamsMemberHandle {
    fn from(member: &StreamsMember) -> Self {
        let text = |text: &String| c_text(text.as_str());
        let offsets = |offsets: &[TaskOffset]| offsets.iter().map(TaskOffsetHandle::from).collect();
        let tags = member.client_tags.iter();
        StreamsMemberHandle {
            tag: Tag::new(Self::TAG),
            member_id: text(&member.member_id),
            member_epoch: member.member_epoch,
            group_instance_id: member.group_instance_id.as_ref().map(text),
            rack_id: member.rack_id.as_ref().map(text),
            client_id: text(&member.client_id),
            host: text(&member.host),
            topology_epoch: member.topology_epoch,
            process_id: text(&member.process_id),
            endpoint: member.endpoint.as_ref().map(|(host, port)| (text(host), *port)),
            client_tags: tags.map(|(name, value)| (text(name), text(value))).collect(),
            task_offsets: offsets(&member.task_offsets),
            task_end_offsets: offsets(&member.task_end_offsets),
            assignment: StreamsAssignmentHandle::from(&member.assignment),
            target_assignment: StreamsAssignmentHandle::from(&member.target_assignment),
            is_classic: member.is_classic,
        }
    }
}

/// `rd_kafka_StreamsTaskOffset_t`
#[repr(C)]
pub struct TaskOffsetHandle {
    tag: Tag,
    subtopology_id: CString,
    partition: i32,
    offset: i64,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for TaskOffsetHandle {
    const TAG: u32 = 0x0e44_120f;
}

impl From<&TaskOffset> for TaskOffsetHandle {
    fn from(row: &TaskOffset) -> Self {
        TaskOffsetHandle {
            tag: Tag::new(Self::TAG),
            subtopology_id: c_text(row.subtopology.as_str()),
            partition: row.partition,
            offset: row.offset,
        }
    }
}

/// `rd_kafka_StreamsAssignment_t`
#[repr(C)]
pub struct StreamsAssignmentHandle {
    tag: Tag,
    active: Pointers<TasksHandle>,
    standby: Pointers<TasksHandle>,
    warmup: Pointers<TasksHandle>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for StreamsAssignmentHandle {
    const TAG: u32 = 0x0e44_1210;
}

impl From<&StreamsTasks> for StreamsAssignmentHandle {
    fn from(tasks: &StreamsTasks) -> Self {
        let rows = |rows: &[Tasks]| rows.iter().map(TasksHandle::from).collect();
        StreamsAssignmentHandle {
            tag: Tag::new(Self::TAG),
            active: rows(&tasks.active),
            standby: rows(&tasks.standby),
            warmup: rows(&tasks.warmup),
        }
    }
}

/// `rd_kafka_StreamsTasks_t`
#[repr(C)]
pub struct TasksHandle {
    tag: Tag,
    subtopology_id: CString,
    partitions: Vec<i32>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for TasksHandle {
    const TAG: u32 = 0x0e44_1211;
}

impl From<&Tasks> for TasksHandle {
    fn from(row: &Tasks) -> Self {
        TasksHandle {
            tag: Tag::new(Self::TAG),
            subtopology_id: c_text(row.subtopology.as_str()),
            partitions: row.partitions.clone(),
        }
    }
}

exports! {
    /// Returns the member's id.
    fn rd_kafka_StreamsMember_member_id(member: &StreamsMemberHandle) -> *const c_char, or std::ptr::null(); {
        member.member_id.as_ptr()
    }

    /// Returns the member's epoch.
    fn rd_kafka_StreamsMember_member_epoch(member: &StreamsMemberHandle) -> i32, or -1; {
        member.member_epoch
    }

    /// Returns the member's `group.instance.id`; NULL for none.
    fn rd_kafka_StreamsMember_group_instance_id(member: &StreamsMemberHandle)
        -> *const c_char, or std::ptr::null();
    {
        text_address(member.group_instance_id.as_ref())
    }

    /// Returns the member's rack; NULL for none.
    fn rd_kafka_StreamsMember_rack_id(member: &StreamsMemberHandle) -> *const c_char, or std::ptr::null(); {
        text_address(member.rack_id.as_ref())
    }

    /// Returns the member's `client.id`.
    fn rd_kafka_StreamsMember_client_id(member: &StreamsMemberHandle) -> *const c_char, or std::ptr::null(); {
        member.client_id.as_ptr()
    }

    /// Returns the member's host.
    fn rd_kafka_StreamsMember_host(member: &StreamsMemberHandle) -> *const c_char, or std::ptr::null(); {
        member.host.as_ptr()
    }

    /// Returns the epoch of the topology that the member runs.
    fn rd_kafka_StreamsMember_topology_epoch(member: &StreamsMemberHandle) -> i32, or -1; {
        member.topology_epoch
    }

    /// Returns the id of the member's process.
    fn rd_kafka_StreamsMember_process_id(member: &StreamsMemberHandle) -> *const c_char, or std::ptr::null(); {
        member.process_id.as_ptr()
    }

    /// Returns the host at which the application answers queries; NULL for none.
    fn rd_kafka_StreamsMember_endpoint_host(member: &StreamsMemberHandle) -> *const c_char, or std::ptr::null(); {
        text_address(member.endpoint.as_ref().map(|(host, _)| host))
    }

    /// Returns the port at which the application answers queries; 0 for none.
    fn rd_kafka_StreamsMember_endpoint_port(member: &StreamsMemberHandle) -> u16, or 0; {
        member.endpoint.as_ref().map_or(0, |(_, port)| *port)
    }

    /// Returns the number of the client's tags.
    fn rd_kafka_StreamsMember_client_tag_count(member: &StreamsMemberHandle) -> usize, or 0; {
        member.client_tags.len()
    }

    /// Returns the name of a tag by its index; NULL beyond the last.
    fn rd_kafka_StreamsMember_client_tag_name(member: &StreamsMemberHandle, index: usize)
        -> *const c_char, or std::ptr::null();
    {
        text_address(member.client_tags.get(index).map(|(name, _)| name))
    }

    /// Returns the value of a tag by its index; NULL beyond the last.
    fn rd_kafka_StreamsMember_client_tag_value(member: &StreamsMemberHandle, index: usize)
        -> *const c_char, or std::ptr::null();
    {
        text_address(member.client_tags.get(index).map(|(_, value)| value))
    }

    /// Returns the number of tasks with offsets.
    fn rd_kafka_StreamsMember_task_offset_count(member: &StreamsMemberHandle) -> usize, or 0; {
        member.task_offsets.iter().count()
    }

    /// Returns the offsets of a task by its index; NULL beyond the last.
    fn rd_kafka_StreamsMember_task_offset(member: &StreamsMemberHandle, index: usize)
        -> *const TaskOffsetHandle, or std::ptr::null();
    {
        address(member.task_offsets.get(index))
    }

    /// Returns the number of tasks with end offsets.
    fn rd_kafka_StreamsMember_task_end_offset_count(member: &StreamsMemberHandle) -> usize, or 0; {
        member.task_end_offsets.iter().count()
    }

    /// Returns the end offsets of a task by its index; NULL beyond the last.
    fn rd_kafka_StreamsMember_task_end_offset(member: &StreamsMemberHandle, index: usize)
        -> *const TaskOffsetHandle, or std::ptr::null();
    {
        address(member.task_end_offsets.get(index))
    }

    /// Returns the tasks that the member has.
    fn rd_kafka_StreamsMember_assignment(member: &StreamsMemberHandle)
        -> *const StreamsAssignmentHandle, or std::ptr::null();
    {
        &raw const member.assignment
    }

    /// Returns the tasks that the member is to have.
    fn rd_kafka_StreamsMember_target_assignment(member: &StreamsMemberHandle)
        -> *const StreamsAssignmentHandle, or std::ptr::null();
    {
        &raw const member.target_assignment
    }

    /// Returns whether the member speaks the classic protocol.
    fn rd_kafka_StreamsMember_is_classic(member: &StreamsMemberHandle) -> i32, or 0; {
        member.is_classic.into()
    }

    /// Returns the subtopology of a task.
    fn rd_kafka_StreamsTaskOffset_subtopology_id(row: &TaskOffsetHandle) -> *const c_char, or std::ptr::null(); {
        row.subtopology_id.as_ptr()
    }

    /// Returns the partition of a task.
    fn rd_kafka_StreamsTaskOffset_partition(row: &TaskOffsetHandle) -> i32, or -1; {
        row.partition
    }

    /// Returns the sum of a task's offsets.
    fn rd_kafka_StreamsTaskOffset_offset(row: &TaskOffsetHandle) -> i64, or -1; {
        row.offset
    }

    /// Returns the number of subtopologies with active tasks.
    fn rd_kafka_StreamsAssignment_active_count(assignment: &StreamsAssignmentHandle) -> usize, or 0; {
        assignment.active.iter().count()
    }

    /// Returns active tasks by their index; NULL beyond the last.
    fn rd_kafka_StreamsAssignment_active(assignment: &StreamsAssignmentHandle, index: usize)
        -> *const TasksHandle, or std::ptr::null();
    {
        address(assignment.active.get(index))
    }

    /// Returns the number of subtopologies with standby tasks.
    fn rd_kafka_StreamsAssignment_standby_count(assignment: &StreamsAssignmentHandle) -> usize, or 0; {
        assignment.standby.iter().count()
    }

    /// Returns standby tasks by their index; NULL beyond the last.
    fn rd_kafka_StreamsAssignment_standby(assignment: &StreamsAssignmentHandle, index: usize)
        -> *const TasksHandle, or std::ptr::null();
    {
        address(assignment.standby.get(index))
    }

    /// Returns the number of subtopologies with warm-up tasks.
    fn rd_kafka_StreamsAssignment_warmup_count(assignment: &StreamsAssignmentHandle) -> usize, or 0; {
        assignment.warmup.iter().count()
    }

    /// Returns warm-up tasks by their index; NULL beyond the last.
    fn rd_kafka_StreamsAssignment_warmup(assignment: &StreamsAssignmentHandle, index: usize)
        -> *const TasksHandle, or std::ptr::null();
    {
        address(assignment.warmup.get(index))
    }

    /// Returns the subtopology of tasks.
    fn rd_kafka_StreamsTasks_subtopology_id(tasks: &TasksHandle) -> *const c_char, or std::ptr::null(); {
        tasks.subtopology_id.as_ptr()
    }

    /// Returns the partitions of tasks.
    fn rd_kafka_StreamsTasks_partitions(tasks: Option<&TasksHandle>, count: *mut usize)
        -> *const i32, or std::ptr::null();
    {
        let partitions = tasks.map_or(&[][..], |tasks| &tasks.partitions);
        // SAFETY: the caller's out-parameter.
        unsafe { ffi::put(count, partitions.len()) };
        match partitions.is_empty() {
            true => std::ptr::null(),
            false => partitions.as_ptr(),
        }
    }
}
