//! Handles: the conversion of an application's pointers to references, and ownership.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{FromC, INHERITED, IntoC};

/// The word that every handle starts with: the kind of the handle, or 0 once it is destroyed.
#[repr(C)]
#[derive(Debug)]
pub struct Tag(AtomicU32);

impl Tag {
    /// Returns a live tag.
    pub const fn new(value: u32) -> Self {
        Tag(AtomicU32::new(value))
    }

    /// Marks the handle as destroyed. False when it was already.
    pub fn clear(&self) -> bool {
        self.0.swap(0, Ordering::AcqRel) != 0
    }

    fn is(&self, value: u32) -> bool {
        self.0.load(Ordering::Acquire) == value
    }
}

/// A type whose address the application holds as a handle.
///
/// # Safety
/// `#[repr(C)]` with a [`Tag`] as first field, made with `Self::TAG`; every handle type has another `TAG`.
pub unsafe trait Tagged {
    /// The tag's value while the handle lives.
    const TAG: u32;

    /// Returns whether it belongs to this process, and not to one that this was forked from.
    #[inline]
    fn is_own(&self) -> bool {
        true
    }

    /// Returns the error object for a call in a forked child with a handle of its parent.
    fn refusal() -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}

fn is_tagged<T: Tagged>(c: *const T) -> bool {
    if c.is_null() || !c.is_aligned() {
        return false;
    }
    // SAFETY: every handle starts with a Tag, so whichever handle it is, its first word can be read.
    unsafe { &*c.cast::<Tag>() }.is(T::TAG)
}

/// A handle that is lent for the call.
impl<T: Tagged> FromC for &T {
    type C = *const T;
    unsafe fn from_c(c: *const T) -> Option<Self> {
        // SAFETY: a live handle of this type, by its tag and the caller's promise.
        let handle = is_tagged(c).then(|| unsafe { &*c })?;
        if handle.is_own() {
            return Some(handle);
        }
        INHERITED.set(true);
        None
    }
}

/// A handle that is lent for the call, in a forked child, too: for what never changes.
pub struct AnyProcess<'a, T>(pub &'a T);

impl<T: Tagged> FromC for AnyProcess<'_, T> {
    type C = *const T;
    unsafe fn from_c(c: *const T) -> Option<Self> {
        // SAFETY: as for `&T`.
        is_tagged(c).then(|| AnyProcess(unsafe { &*c }))
    }
}

/// The same or NULL.
impl<T: Tagged> FromC for Option<AnyProcess<'_, T>> {
    type C = *const T;
    unsafe fn from_c(c: *const T) -> Option<Self> {
        if c.is_null() {
            return Some(None);
        }
        // SAFETY: as for `&T`.
        unsafe { AnyProcess::from_c(c) }.map(Some)
    }
}

/// A handle that is lent for the call and changed; the API is not thread-safe for it.
impl<T: Tagged> FromC for &mut T {
    type C = *mut T;
    unsafe fn from_c(c: *mut T) -> Option<Self> {
        // SAFETY: as above; the caller promises exclusive use during the call.
        is_tagged(c).then(|| unsafe { &mut *c })
    }
}

/// A handle or NULL.
impl<T: Tagged> FromC for Option<&T> {
    type C = *const T;
    unsafe fn from_c(c: *const T) -> Option<Self> {
        if c.is_null() {
            return Some(None);
        }
        // SAFETY: as for `&T`.
        unsafe { <&T>::from_c(c) }.map(Some)
    }
}

/// A handle that is lent for the call, in which callbacks may use and change it as well.
#[derive(Clone, Copy)]
pub struct Lent<T: Tagged>(pub *mut T);

impl<T: Tagged> FromC for Lent<T> {
    type C = *mut T;
    unsafe fn from_c(c: *mut T) -> Option<Self> {
        is_tagged(c).then_some(Lent(c))
    }
}

/// A boxed handle that changes hands.
pub struct Owned<T: Tagged>(pub Box<T>);

impl<T: Tagged> FromC for Owned<T> {
    type C = *mut T;
    unsafe fn from_c(c: *mut T) -> Option<Self> {
        if !is_tagged(c) {
            return None;
        }
        // SAFETY: made by `IntoC for Owned`, and given back only once: clearing the tag succeeds once.
        unsafe { (*c.cast::<Tag>()).clear().then(|| Owned(Box::from_raw(c))) }
    }
}

/// A boxed handle that changes hands, or NULL.
impl<T: Tagged> FromC for Option<Owned<T>> {
    type C = *mut T;
    unsafe fn from_c(c: *mut T) -> Option<Self> {
        if c.is_null() {
            return Some(None);
        }
        // SAFETY: as above.
        unsafe { Owned::from_c(c) }.map(Some)
    }
}

/// Boxes a new handle.
pub fn boxed<T: Tagged>(value: T) -> Owned<T> {
    Owned(Box::new(value))
}

impl<T: Tagged> IntoC for Owned<T> {
    type C = *mut T;
    fn into_c(self) -> *mut T {
        Box::into_raw(self.0)
    }
}

impl<T: Tagged> IntoC for Option<Owned<T>> {
    type C = *mut T;
    fn into_c(self) -> *mut T {
        self.map_or(std::ptr::null_mut(), IntoC::into_c)
    }
    fn in_child(self) -> Self {
        T::refusal().map(boxed).or(self)
    }
}
