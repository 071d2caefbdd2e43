//! DescribeDelegationToken: the delegation tokens of principals.

use ottla_core::admin::{DelegationToken, DescribeDelegationToken};

use super::call::{begin, results};
use super::common::copy_array;
use super::delegation_token::TokenHandle;
use super::options::AdminOptions;
use super::principal::PrincipalHandle;
use crate::ffi::exports;
use crate::handle::Handle;
use crate::queue::QueueHandle;

exports! {
    /// Describes tokens.
    fn rd_kafka_DescribeDelegationToken(
        rk: &Handle, owners: *mut *mut PrincipalHandle, count: usize, options: Option<&AdminOptions>,
        queue: &QueueHandle,
    ) {
        let operation = match owners.is_null() {
            true => Ok(DescribeDelegationToken::default()),
            false => {
                // SAFETY: the caller's array.
                let owners = unsafe { copy_array(owners, count, PrincipalHandle::to_core) };
                owners.map(|owners| DescribeDelegationToken { owners: Some(owners) })
            }
        };
        begin(rk, operation, options, queue);
    }
}

results! {
    DescribeDelegationToken: rd_kafka_event_DescribeDelegationToken_result,
        rd_kafka_DescribeDelegationToken_result_tokens: DelegationToken => TokenHandle;
}
