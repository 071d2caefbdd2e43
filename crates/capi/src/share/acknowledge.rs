//! Acknowledgements of single records.

use ottla_core::error::{Error, ErrorCode};
use ottla_core::share::AcknowledgeType;

use super::consumer::call;
use super::handle::ShareHandle;
use crate::ffi::{self, exports};
use crate::message::Message;

/// Returns the acknowledgement with this number; renewals have functions of their own.
fn type_of(number: i32) -> Result<AcknowledgeType, Error> {
    AcknowledgeType::from_number(number)
        .filter(|ty| *ty != AcknowledgeType::Renew)
        .ok_or_else(|| {
            Error::invalid_arg(format!(
                "{number} is no type of acknowledgement: 1 accept, 2 release, 3 reject"
            ))
        })
}

/// Acknowledges the record of a message.
///
/// # Errors
/// `L_INVALID_ARG` without a message; `L_STATE` for an error message, and as [`ShareConsumer::acknowledge`].
///
/// [`ShareConsumer::acknowledge`]: ottla_core::client::ShareConsumer::acknowledge
pub fn acknowledge(
    share: Option<&ShareHandle>,
    message: Option<&Message>,
    ty: Result<AcknowledgeType, Error>,
) -> Result<(), Error> {
    call(share, |_, consumer| {
        let ty = ty?;
        let message = message.ok_or_else(|| Error::invalid_arg("The message is NULL, or not one of this library"))?;
        if !message.error().is_ok() {
            let text = "The message is an error: the client has acknowledged the records that it cannot read";
            return Err(Error::new(ErrorCode::L_STATE, text));
        }
        let (topic, partition, offset, _) = message
            .place_in_log()
            .ok_or_else(|| Error::invalid_arg("The message has no topic"))?;
        consumer.acknowledge(topic.topic().name(), partition, offset, ty)
    })
}

/// Acknowledges the record at an offset.
///
/// # Errors
/// `L_INVALID_ARG` without a topic and for negative numbers, and as [`acknowledge`].
pub fn acknowledge_offset(
    share: Option<&ShareHandle>,
    topic: Option<&str>,
    partition: i32,
    offset: i64,
    ty: Result<AcknowledgeType, Error>,
) -> Result<(), Error> {
    call(share, |_, consumer| {
        let ty = ty?;
        let topic = topic.ok_or_else(|| Error::invalid_arg("The topic is NULL"))?;
        if partition < 0 || offset < 0 {
            return Err(Error::invalid_arg(format!(
                "Partition {partition} and offset {offset}: neither can be negative"
            )));
        }
        consumer.acknowledge(topic, partition, offset, ty)
    })
}

exports! {
    /// Accepts a record.
    fn rd_kafka_share_acknowledge(rkshare: Option<&ShareHandle>, message: Option<&Message>)
        -> ErrorCode, or ErrorCode::L_STATE;
    {
        ffi::code_of(acknowledge(rkshare, message, Ok(AcknowledgeType::Accept)))
    }

    /// Acknowledges a record.
    fn rd_kafka_share_acknowledge_type(rkshare: Option<&ShareHandle>, message: Option<&Message>, ty: i32)
        -> ErrorCode, or ErrorCode::L_STATE;
    {
        ffi::code_of(acknowledge(rkshare, message, type_of(ty)))
    }

    /// Acknowledges the record at an offset.
    fn rd_kafka_share_acknowledge_offset(
        rkshare: Option<&ShareHandle>, topic: Option<&str>, partition: i32, offset: i64, ty: i32,
    ) -> ErrorCode, or ErrorCode::L_STATE; {
        ffi::code_of(acknowledge_offset(rkshare, topic, partition, offset, type_of(ty)))
    }

    /// Renews the lock of a record (KIP-1222).
    fn rd_kafka_share_renew(rkshare: Option<&ShareHandle>, message: Option<&Message>)
        -> ErrorCode, or ErrorCode::L_STATE;
    {
        ffi::code_of(acknowledge(rkshare, message, Ok(AcknowledgeType::Renew)))
    }

    /// Renews the lock of the record at an offset (KIP-1222).
    fn rd_kafka_share_renew_offset(
        rkshare: Option<&ShareHandle>, topic: Option<&str>, partition: i32, offset: i64,
    ) -> ErrorCode, or ErrorCode::L_STATE; {
        ffi::code_of(acknowledge_offset(rkshare, topic, partition, offset, Ok(AcknowledgeType::Renew)))
    }
}
