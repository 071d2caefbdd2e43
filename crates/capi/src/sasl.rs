//! SASL: user name and password of a running client, and the thread that serves requests for tokens.

use ottla_core::error::{Error, ErrorCode};

use crate::background;
use crate::errors::ErrorHandle;
use crate::ffi::{Owned, exports};
use crate::handle::Handle;

/// Forwards the queue of requests for tokens to the background queue.
pub(crate) fn serve_in_background(rk: &Handle) -> Result<(), Error> {
    let Some(queue) = rk.need_client()?.sasl_queue() else {
        let text = "the client has no SASL queue: it needs rd_kafka_conf_enable_sasl_queue() and \
                    sasl.mechanisms=OAUTHBEARER";
        return Err(Error::new(ErrorCode::L_NOT_CONFIGURED, text));
    };
    queue.forward_by_choice(Some(background::queue(rk)?));
    Ok(())
}

/// Replaces user name and password.
pub(crate) fn set_credentials(rk: &Handle, username: Option<&str>, password: Option<&str>) -> Result<(), Error> {
    let (Some(username), Some(password)) = (username, password) else {
        return Err(Error::invalid_arg("user name and password must not be NULL"));
    };
    rk.need_client()?.set_sasl_credentials(username, password)
}

exports! {
    /// Calls the callback for tokens on the background thread.
    fn rd_kafka_sasl_background_callbacks_enable(rk: &Handle)
        -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument();
    {
        ErrorHandle::from_result(serve_in_background(rk))
    }

    /// Replaces user name and password.
    fn rd_kafka_sasl_set_credentials(rk: &Handle, username: Option<&str>, password: Option<&str>)
        -> Option<Owned<ErrorHandle>>, or ErrorHandle::bad_argument();
    {
        ErrorHandle::from_result(set_credentials(rk, username, password))
    }
}
