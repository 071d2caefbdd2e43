//! CreateDelegationToken: a delegation token to create.

use std::time::Duration;

use ottla_core::admin::{CreateDelegationToken, DelegationToken, Operation};
use ottla_core::error::Error;

use super::call::{begin, handles_of, result_of};
use super::common::{address, copy_array};
use super::delegation_token::TokenHandle;
use super::options::AdminOptions;
use super::principal::PrincipalHandle;
use crate::event::EventHandle;
use crate::ffi::{FromC, Owned, Tag, Tagged, boxed, exports};
use crate::handle::Handle;
use crate::queue::QueueHandle;

/// `rd_kafka_NewDelegationToken_t`
#[repr(C)]
pub struct NewTokenHandle {
    tag: Tag,
    operation: CreateDelegationToken,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for NewTokenHandle {
    const TAG: u32 = 0x0e44_1109;
}

exports! {
    /// Returns a token to create; NULL if a renewer is NULL or no principal.
    fn rd_kafka_NewDelegationToken_new(
        owner: Option<&PrincipalHandle>, renewers: *mut *mut PrincipalHandle, count: usize, max_lifetime_ms: i64,
    ) -> Option<Owned<NewTokenHandle>>, or None; {
        // SAFETY: the caller's array.
        let renewers = unsafe { copy_array(renewers, count, PrincipalHandle::to_core) }.ok()?;
        let operation = CreateDelegationToken {
            owner: owner.map(PrincipalHandle::to_core),
            renewers,
            max_lifetime: u64::try_from(max_lifetime_ms).ok().map(Duration::from_millis),
        };
        Some(boxed(NewTokenHandle { tag: Tag::new(NewTokenHandle::TAG), operation }))
    }

    /// Frees a token to create; NULL is fine.
    fn rd_kafka_NewDelegationToken_destroy(token: *mut NewTokenHandle) {
        // SAFETY: NULL or the application's handle.
        drop(unsafe { <Owned<NewTokenHandle>>::from_c(token) });
    }

    /// Creates a token.
    fn rd_kafka_CreateDelegationToken(
        rk: &Handle, token: Option<&NewTokenHandle>, options: Option<&AdminOptions>, queue: &QueueHandle,
    ) {
        let token = token.ok_or_else(|| Error::invalid_arg("The token is NULL"));
        begin(rk, token.map(|token| token.operation.clone()), options, queue);
    }

    /// Returns the event as the result of CreateDelegationToken; NULL for other events.
    fn rd_kafka_event_CreateDelegationToken_result(event: &EventHandle)
        -> *const EventHandle, or std::ptr::null();
    {
        result_of(event, CreateDelegationToken::NAME)
    }

    /// Returns the created token, owned by the result.
    fn rd_kafka_CreateDelegationToken_result_token(result: Option<&EventHandle>)
        -> *const TokenHandle, or std::ptr::null();
    {
        address(handles_of::<DelegationToken, TokenHandle>(result, CreateDelegationToken::NAME))
    }
}
