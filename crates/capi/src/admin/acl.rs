//! `rd_kafka_AclBinding_t`: access control entries, and filters for them.

use std::ffi::{CStr, CString, c_char};

use ottla_core::admin::{AclBinding, AclFilter, AclOperation, AclResourceType, PatternType, PermissionType};
use ottla_core::error::Error;

use super::common::{address, destroy_array, error_handle, refused, text_address, text_of};
use crate::errors::ErrorHandle;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, c_text, exports};

/// `rd_kafka_ResourceType_t`, without its end.
const RESOURCES: i32 = 6;
/// `rd_kafka_ResourcePatternType_t` by its numbers.
const PATTERNS: &[&CStr] = &[c"UNKNOWN", c"ANY", c"MATCH", c"LITERAL", c"PREFIXED"];
/// `rd_kafka_AclOperation_t` by its numbers.
const OPERATIONS: &[&CStr] = &[
    c"UNKNOWN",
    c"ANY",
    c"ALL",
    c"READ",
    c"WRITE",
    c"CREATE",
    c"DELETE",
    c"ALTER",
    c"DESCRIBE",
    c"CLUSTER_ACTION",
    c"DESCRIBE_CONFIGS",
    c"ALTER_CONFIGS",
    c"IDEMPOTENT_WRITE",
];
/// `rd_kafka_AclPermissionType_t` by its numbers.
const PERMISSIONS: &[&CStr] = &[c"UNKNOWN", c"ANY", c"DENY", c"ALLOW"];
/// The number that matches any, of each type; lower ones are unknown.
const ANY: i32 = 1;

/// `rd_kafka_AclBinding_t`, also as `rd_kafka_AclBindingFilter_t`
#[repr(C)]
pub struct AclBindingHandle {
    tag: Tag,
    resource_type: i32,
    name: Option<CString>,
    pattern_type: i32,
    principal: Option<CString>,
    host: Option<CString>,
    operation: i32,
    permission_type: i32,
    error: Option<Box<ErrorHandle>>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for AclBindingHandle {
    const TAG: u32 = 0x0e44_0a24;
}

/// The numbers of an entry or filter.
#[derive(Clone, Copy)]
struct Numbers {
    resource_type: i32,
    pattern_type: i32,
    operation: i32,
    permission_type: i32,
}

impl Numbers {
    /// Checks that each number is known and `lowest` or higher.
    fn check(self, lowest: i32) -> Result<(), &'static str> {
        let within = |number: i32, count: usize| number >= lowest && usize::try_from(number).is_ok_and(|n| n < count);
        let is_resource = (lowest..RESOURCES).contains(&self.resource_type);
        let is_pattern = match lowest {
            ANY => within(self.pattern_type, PATTERNS.len()),
            // MATCH is for filters.
            _ => self.pattern_type > i32::from(PatternType::MATCH.0) && within(self.pattern_type, PATTERNS.len()),
        };
        if !is_resource {
            Err("Invalid resource type")
        } else if !is_pattern {
            Err("Invalid resource pattern type")
        } else if !within(self.operation, OPERATIONS.len()) {
            Err("Invalid operation")
        } else if !within(self.permission_type, PERMISSIONS.len()) {
            Err("Invalid permission type")
        } else {
            Ok(())
        }
    }
}

fn check_texts(name: Option<&str>, principal: Option<&str>, host: Option<&str>) -> Result<(), &'static str> {
    let texts = [
        (name, "Invalid resource name"),
        (principal, "Invalid principal"),
        (host, "Invalid host"),
    ];
    match texts.into_iter().find(|(text, _)| text.is_none()) {
        Some((_, why)) => Err(why),
        None => Ok(()),
    }
}

fn small(number: i32) -> i8 {
    // Checked when the handle was made.
    i8::try_from(number).unwrap_or(0)
}

impl AclBindingHandle {
    fn new(numbers: Numbers, name: Option<&str>, principal: Option<&str>, host: Option<&str>) -> Self {
        AclBindingHandle {
            tag: Tag::new(Self::TAG),
            resource_type: numbers.resource_type,
            name: name.map(c_text),
            pattern_type: numbers.pattern_type,
            principal: principal.map(c_text),
            host: host.map(c_text),
            operation: numbers.operation,
            permission_type: numbers.permission_type,
            error: None,
        }
    }

    /// Returns the handle of an entry in a result, with its error.
    pub(super) fn from_result(binding: &AclBinding, error: Option<&Error>) -> Self {
        let numbers = Numbers {
            resource_type: binding.resource_type.0.into(),
            pattern_type: binding.pattern_type.0.into(),
            operation: binding.operation.0.into(),
            permission_type: binding.permission_type.0.into(),
        };
        let texts = [&binding.name, &binding.principal, &binding.host].map(|text| Some(text.as_str()));
        let [name, principal, host] = texts;
        AclBindingHandle {
            error: error_handle(error),
            ..AclBindingHandle::new(numbers, name, principal, host)
        }
    }

    /// Returns the filter.
    pub(super) fn filter(&self) -> AclFilter {
        let text = |text: &Option<CString>| text.as_deref().map(text_of);
        AclFilter {
            resource_type: AclResourceType(small(self.resource_type)),
            name: text(&self.name),
            pattern_type: PatternType(small(self.pattern_type)),
            principal: text(&self.principal),
            host: text(&self.host),
            operation: AclOperation(small(self.operation)),
            permission_type: PermissionType(small(self.permission_type)),
        }
    }

    /// Returns the entry; `None` for a filter that is none.
    pub(super) fn binding(&self) -> Option<AclBinding> {
        let filter = self.filter();
        Some(AclBinding {
            resource_type: filter.resource_type,
            name: filter.name?,
            pattern_type: filter.pattern_type,
            principal: filter.principal?,
            host: filter.host?,
            operation: filter.operation,
            permission_type: filter.permission_type,
        })
    }
}

impl From<&AclBinding> for AclBindingHandle {
    fn from(binding: &AclBinding) -> Self {
        AclBindingHandle::from_result(binding, None)
    }
}

fn name_of(names: &[&'static CStr], number: i32) -> &'static CStr {
    let name = usize::try_from(number).ok().and_then(|number| names.get(number));
    name.copied().unwrap_or(c"UNSUPPORTED")
}

exports! {
    /// Returns the name of a type of patterns.
    fn rd_kafka_ResourcePatternType_name(number: i32) -> Option<&'static CStr>, or Some(c"UNSUPPORTED"); {
        Some(name_of(PATTERNS, number))
    }

    /// Returns the name of an operation.
    fn rd_kafka_AclOperation_name(number: i32) -> Option<&'static CStr>, or Some(c"UNSUPPORTED"); {
        Some(name_of(OPERATIONS, number))
    }

    /// Returns the name of an effect.
    fn rd_kafka_AclPermissionType_name(number: i32) -> Option<&'static CStr>, or Some(c"UNSUPPORTED"); {
        Some(name_of(PERMISSIONS, number))
    }

    /// Returns an entry; NULL and the reason for a part that no entry can have.
    fn rd_kafka_AclBinding_new(
        resource_type: i32, name: Option<&str>, pattern_type: i32, principal: Option<&str>, host: Option<&str>,
        operation: i32, permission_type: i32, errstr: *mut c_char, size: usize,
    ) -> Option<Owned<AclBindingHandle>>, or None; {
        let numbers = Numbers { resource_type, pattern_type, operation, permission_type };
        match check_texts(name, principal, host).and_then(|()| numbers.check(ANY + 1)) {
            Ok(()) => Some(boxed(AclBindingHandle::new(numbers, name, principal, host))),
            Err(why) => {
                // SAFETY: the caller's buffer.
                unsafe { refused(errstr, size, why) };
                None
            }
        }
    }

    /// Returns a filter; NULL and the reason for a part that no filter can have.
    fn rd_kafka_AclBindingFilter_new(
        resource_type: i32, name: Option<&str>, pattern_type: i32, principal: Option<&str>, host: Option<&str>,
        operation: i32, permission_type: i32, errstr: *mut c_char, size: usize,
    ) -> Option<Owned<AclBindingHandle>>, or None; {
        let numbers = Numbers { resource_type, pattern_type, operation, permission_type };
        match numbers.check(ANY) {
            Ok(()) => Some(boxed(AclBindingHandle::new(numbers, name, principal, host))),
            Err(why) => {
                // SAFETY: the caller's buffer.
                unsafe { refused(errstr, size, why) };
                None
            }
        }
    }

    /// Returns the type of the resource.
    fn rd_kafka_AclBinding_restype(acl: &AclBindingHandle) -> i32, or 0; {
        acl.resource_type
    }

    /// Returns the resource's name; NULL for any.
    fn rd_kafka_AclBinding_name(acl: &AclBindingHandle) -> *const c_char, or std::ptr::null(); {
        text_address(acl.name.as_ref())
    }

    /// Returns the principal; NULL for any.
    fn rd_kafka_AclBinding_principal(acl: &AclBindingHandle) -> *const c_char, or std::ptr::null(); {
        text_address(acl.principal.as_ref())
    }

    /// Returns the host; NULL for any.
    fn rd_kafka_AclBinding_host(acl: &AclBindingHandle) -> *const c_char, or std::ptr::null(); {
        text_address(acl.host.as_ref())
    }

    /// Returns the operation.
    fn rd_kafka_AclBinding_operation(acl: &AclBindingHandle) -> i32, or 0; {
        acl.operation
    }

    /// Returns the effect.
    fn rd_kafka_AclBinding_permission_type(acl: &AclBindingHandle) -> i32, or 0; {
        acl.permission_type
    }

    /// Returns the meaning of the name.
    fn rd_kafka_AclBinding_resource_pattern_type(acl: &AclBindingHandle) -> i32, or 0; {
        acl.pattern_type
    }

    /// Returns the error of an entry in a result; NULL for none.
    fn rd_kafka_AclBinding_error(acl: &AclBindingHandle) -> *const ErrorHandle, or std::ptr::null(); {
        address(acl.error.as_deref())
    }

    /// Frees an entry or filter; NULL is fine.
    fn rd_kafka_AclBinding_destroy(acl: *mut AclBindingHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<AclBindingHandle>>::from_c(acl) });
    }

    /// Frees each of an array.
    fn rd_kafka_AclBinding_destroy_array(acls: *mut *mut AclBindingHandle, count: usize) {
        // SAFETY: the caller's array.
        unsafe { destroy_array(acls, count) };
    }
}
