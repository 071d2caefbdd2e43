//! The type of `rd_kafka_conf_t`: settings by name, callbacks and interceptors.

use std::sync::Arc;

use ottla_core::client::TlsHooks;
use ottla_core::config::{ClientConfig, Conf, ConfError, TopicConfig};
use ottla_core::error::Error;
use ottla_core::types::ClientKind;

use crate::callbacks::{Callbacks, LogCb};
use crate::ffi::{Tag, Tagged};
use crate::interceptors::ConfInterceptors;
use crate::topic_conf::TopicConfHandle;

/// `rd_kafka_conf_t`
#[repr(C)]
pub struct ConfHandle {
    tag: Tag,
    /// Its default topic settings are those of `topic`, see `sync`.
    conf: Conf,
    callbacks: Callbacks,
    /// The `log_cb` of settings in which the application has set none.
    default_log: LogCb,
    /// The default topic settings that the application can hold a pointer to.
    topic: Option<Box<TopicConfHandle>>,
    /// Certificates and keys of `rd_kafka_conf_set_ssl_cert()`.
    tls: TlsHooks,
    /// Shared with a client that is created from this object.
    interceptors: Arc<ConfInterceptors>,
}

// SAFETY: repr(C), tag first.
unsafe impl Tagged for ConfHandle {
    const TAG: u32 = 0x0e44_0a09;
}

impl ConfHandle {
    /// Returns all settings at their defaults, with `log` as `log_cb`.
    pub fn new(log: LogCb) -> Self {
        ConfHandle {
            tag: Tag::new(Self::TAG),
            conf: Conf::new(),
            default_log: log,
            callbacks: Callbacks {
                log: Some(log),
                ..Callbacks::default()
            },
            topic: None,
            tls: TlsHooks::default(),
            interceptors: Arc::default(),
        }
    }

    /// Returns the client's copy: the same settings and the same interceptors.
    pub fn for_client(&self) -> Self {
        ConfHandle {
            interceptors: self.interceptors.clone(),
            ..self.duplicate()
        }
    }

    /// Returns a copy without interceptors.
    pub(crate) fn duplicate(&self) -> Self {
        ConfHandle {
            tag: Tag::new(Self::TAG),
            conf: self.synced(),
            callbacks: self.callbacks,
            default_log: self.default_log,
            topic: self.topic.as_ref().map(|t| Box::new(t.duplicate())),
            tls: self.tls.clone(),
            interceptors: Arc::default(),
        }
    }

    /// Returns a copy with only what the application has set, less what begins with one of `prefixes`.
    pub(crate) fn filtered(&self, prefixes: &[&str]) -> Self {
        let mut copy = self.duplicate();
        copy.conf = copy.conf.dup_filter(prefixes);
        copy.callbacks.retain(Some(self.default_log), |name| {
            !prefixes.iter().any(|prefix| name.starts_with(prefix))
        });
        let dropped = |name: &str| prefixes.iter().any(|prefix| name.starts_with(prefix));
        copy.tls.ca.take_if(|_| dropped("ssl_ca"));
        copy.tls.certificate.take_if(|_| dropped("ssl_certificate"));
        copy.tls.key.take_if(|_| dropped("ssl_key"));
        copy.take_topic();
        copy
    }

    /// Returns the certificates and keys from memory.
    pub(crate) fn tls(&self) -> &TlsHooks {
        &self.tls
    }

    /// Changes the certificates and keys from memory.
    pub(crate) fn tls_mut(&mut self) -> &mut TlsHooks {
        &mut self.tls
    }

    /// Returns the callbacks.
    pub fn callbacks(&self) -> &Callbacks {
        &self.callbacks
    }

    /// Returns the interceptors.
    pub fn interceptors(&self) -> &ConfInterceptors {
        &self.interceptors
    }

    /// Returns the settings as they are.
    pub fn conf(&self) -> &Conf {
        &self.conf
    }

    /// Returns the default topic settings, where there are such.
    pub fn default_topic(&self) -> Option<&TopicConfHandle> {
        self.topic.as_deref()
    }

    /// Returns the settings with what the application did to the default topic settings through its pointer.
    pub(crate) fn synced(&self) -> Conf {
        let mut conf = self.conf.clone();
        conf.set_topic_defaults(self.topic.as_ref().map(|t| t.conf().clone()));
        conf
    }

    /// Takes the default topic settings over from `conf`; the application's pointer to them stays right.
    fn take_topic(&mut self) {
        match (self.conf.topic_defaults(), &mut self.topic) {
            (Some(conf), Some(topic)) => topic.replace(conf.clone()),
            (Some(conf), None) => self.topic = Some(Box::new(TopicConfHandle::from_conf(conf.clone()))),
            (None, topic) => *topic = None,
        }
    }

    pub(crate) fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), ConfError> {
        self.conf = self.synced();
        self.conf.set(name, value)?;
        self.take_topic();
        if name == "enabled_events" {
            let text = self.conf.get(name)?;
            self.callbacks.events = text.parse().unwrap_or(0);
        }
        Ok(())
    }

    /// Takes over what interceptors have set in `own` while it was to become this copy, unless it was copied.
    pub(crate) fn keep_from(&mut self, own: &ConfHandle) {
        for (name, value) in own.conf.dump() {
            if own.conf.is_modified(&name) && !self.conf.is_modified(&name) {
                // Pointers are not set by text; everything else was printed by the same table.
                let _ = self.set(&name, Some(&value));
            }
        }
    }

    /// Returns the value of a property that was set.
    pub(crate) fn own_value(&self, name: &str) -> Option<String> {
        let conf = self.synced();
        conf.is_modified(name).then(|| conf.get(name).ok())?
    }

    pub(crate) fn note_pointer(&mut self, name: &str, address: usize) {
        // The names are those of the table; a test sets every one.
        let set = self.conf.set_pointer(name, address);
        debug_assert!(set.is_ok(), "{name}");
    }

    /// Applies the rules between settings; returns them typed, for the core.
    ///
    /// # Errors
    /// Inconsistent settings, or settings for features that this build does not have.
    pub fn resolve(&mut self, kind: ClientKind) -> Result<(ClientConfig, TopicConfig), Error> {
        let resolved = self.synced().resolve(kind)?;
        if let Some(error) = resolved.refused(kind) {
            return Err(error);
        }
        self.conf = resolved;
        self.take_topic();
        Ok((self.conf.client_config(), self.conf.topic_config()))
    }

    /// Returns the interceptors, which outlive a change of the settings.
    pub(crate) fn shared_interceptors(&self) -> Arc<ConfInterceptors> {
        self.interceptors.clone()
    }

    /// Replaces everything but the interceptors; returns the settings before, with interceptors of their own.
    pub(crate) fn replace_settings(&mut self, new: ConfHandle) -> ConfHandle {
        let interceptors = self.interceptors.clone();
        let old = std::mem::replace(self, new);
        self.interceptors = interceptors;
        old
    }

    /// Changes callbacks.
    pub(crate) fn callbacks_mut(&mut self) -> &mut Callbacks {
        &mut self.callbacks
    }

    /// Sets the events that go to queues, a combination of `RD_KAFKA_EVENT_*`.
    pub(crate) fn set_events(&mut self, events: i32) {
        self.callbacks.events = events;
        let set = self.conf.set("enabled_events", &events.max(0).to_string());
        debug_assert!(set.is_ok());
    }

    /// Replaces the default topic settings.
    pub(crate) fn set_default_topic(&mut self, topic: Option<TopicConfHandle>) {
        self.topic = topic.map(Box::new);
        self.conf = self.synced();
    }

    /// Returns the default topic settings for changes.
    pub(crate) fn default_topic_mut(&mut self) -> Option<&mut TopicConfHandle> {
        self.topic.as_deref_mut()
    }
}
