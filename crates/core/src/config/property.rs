//! A row of the property table: [`Property`], and the functions in which rows are written.

/// The clients that a property applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applies {
    /// Producers and consumers.
    Both,
    /// Producers only.
    Producer,
    /// Consumers only.
    Consumer,
}

/// The importance of a property to applications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Importance {
    /// Relevant to most applications.
    High,
    /// Tuning.
    Medium,
    /// Rarely needed.
    Low,
}

/// A name for a number.
pub type Named = (&'static str, i32);

/// The values that a property accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A whole number; some numbers have names (`acks=all`).
    Int {
        /// The smallest value.
        min: i32,
        /// The largest value.
        max: i32,
        /// The value unless set.
        default: i32,
        /// Names for some of the numbers.
        names: &'static [Named],
    },
    /// A number.
    Float {
        /// The smallest value.
        min: f64,
        /// The largest value.
        max: f64,
        /// The value unless set.
        default: f64,
    },
    /// True or false.
    Bool {
        /// The value unless set.
        default: bool,
    },
    /// A text; an empty one resets it to the default.
    Text {
        /// The text unless set; `None` when there is none.
        default: Option<&'static str>,
        /// Leading spaces belong to the text.
        keeps_spaces: bool,
        /// A further restriction.
        check: TextCheck,
    },
    /// A comma-separated list of regular expressions.
    Patterns,
    /// One of several names. Names with the same number mean the same; the first of them is printed.
    Choice {
        /// The names.
        values: &'static [Named],
        /// The number unless set.
        default: i32,
    },
    /// A set of names, printed and set as a comma-separated list.
    Flags {
        /// The names with their bits.
        values: &'static [Named],
        /// The set unless set.
        default: u32,
    },
    /// A value without a textual form (a callback, a pointer, a certificate), set by the function named.
    Pointer {
        /// The function of the C API; empty when there is none.
        set_by: &'static str,
    },
}

/// A restriction of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TextCheck {
    /// Anything.
    Any,
    /// One item: neither comma nor space.
    SingleItem,
    /// A broker release, not older than 0.8.
    BrokerVersion,
    /// One of these.
    OneOf(&'static [&'static str]),
}

/// One property: a row of the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Property {
    /// The canonical name, which dumps show.
    pub name: &'static str,
    /// Other names for the same property.
    pub aliases: &'static [&'static str],
    /// The accepted values.
    pub kind: Kind,
    /// The clients that it applies to.
    pub applies: Applies,
    /// Its importance.
    pub importance: Importance,
    /// The unit of the number, empty when it has none.
    pub unit: &'static str,
    /// True if it is only accepted for old configurations.
    pub deprecated: bool,
    /// True if the manual omits it.
    pub hidden: bool,
    /// True if it may change or be removed.
    pub experimental: bool,
    /// True if the value is a secret.
    pub sensitive: bool,
    /// True if it can only be set on Windows.
    pub windows_only: bool,
    /// Its description in the manual.
    pub description: &'static str,
}

/// A row without name and description: the part after the `=` in a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spec(pub(super) Property);

const fn spec(kind: Kind) -> Spec {
    Spec(Property {
        name: "",
        aliases: &[],
        kind,
        applies: Applies::Both,
        importance: Importance::Low,
        unit: "",
        deprecated: false,
        hidden: false,
        experimental: false,
        sensitive: false,
        windows_only: false,
        description: "",
    })
}

pub(super) const fn int(min: i32, max: i32, default: i32) -> Spec {
    spec(Kind::Int {
        min,
        max,
        default,
        names: &[],
    })
}

pub(super) const fn float(min: f64, max: f64, default: f64) -> Spec {
    spec(Kind::Float { min, max, default })
}

pub(super) const fn switch(default: bool) -> Spec {
    spec(Kind::Bool { default })
}

const fn text_of(default: Option<&'static str>, keeps_spaces: bool) -> Spec {
    spec(Kind::Text {
        default,
        keeps_spaces,
        check: TextCheck::Any,
    })
}

/// Returns the specification of a text that is unset by default.
pub(super) const fn text() -> Spec {
    text_of(None, false)
}

pub(super) const fn text_or(default: &'static str) -> Spec {
    text_of(Some(default), false)
}

/// Returns the specification of a text whose leading spaces count.
pub(super) const fn exact_text_or(default: &'static str) -> Spec {
    text_of(Some(default), true)
}

pub(super) const fn patterns() -> Spec {
    spec(Kind::Patterns)
}

pub(super) const fn choice(values: &'static [Named], default: i32) -> Spec {
    spec(Kind::Choice { values, default })
}

pub(super) const fn flags(values: &'static [Named], default: u32) -> Spec {
    spec(Kind::Flags { values, default })
}

pub(super) const fn pointer(set_by: &'static str) -> Spec {
    spec(Kind::Pointer { set_by })
}

impl Spec {
    pub(super) const fn named(self, name: &'static str, description: &'static str) -> Property {
        Property {
            name,
            description,
            ..self.0
        }
    }

    pub(super) const fn also(self, aliases: &'static [&'static str]) -> Self {
        Self(Property { aliases, ..self.0 })
    }

    pub(super) const fn check(self, check: TextCheck) -> Self {
        let kind = match self.0.kind {
            Kind::Text {
                default, keeps_spaces, ..
            } => Kind::Text {
                default,
                keeps_spaces,
                check,
            },
            other => other,
        };
        Self(Property { kind, ..self.0 })
    }

    pub(super) const fn names(self, names: &'static [Named]) -> Self {
        let kind = match self.0.kind {
            Kind::Int { min, max, default, .. } => Kind::Int {
                min,
                max,
                default,
                names,
            },
            other => other,
        };
        Self(Property { kind, ..self.0 })
    }

    const fn unit(self, unit: &'static str) -> Self {
        Self(Property { unit, ..self.0 })
    }

    pub(super) const fn ms(self) -> Self {
        self.unit("ms")
    }

    pub(super) const fn seconds(self) -> Self {
        self.unit("s")
    }

    pub(super) const fn bytes(self) -> Self {
        self.unit("bytes")
    }

    pub(super) const fn kib(self) -> Self {
        self.unit("KiB")
    }

    pub(super) const fn count(self) -> Self {
        self.unit("count")
    }

    pub(super) const fn producer(self) -> Self {
        Self(Property {
            applies: Applies::Producer,
            ..self.0
        })
    }

    pub(super) const fn consumer(self) -> Self {
        Self(Property {
            applies: Applies::Consumer,
            ..self.0
        })
    }

    pub(super) const fn high(self) -> Self {
        Self(Property {
            importance: Importance::High,
            ..self.0
        })
    }

    pub(super) const fn medium(self) -> Self {
        Self(Property {
            importance: Importance::Medium,
            ..self.0
        })
    }

    pub(super) const fn deprecated(self) -> Self {
        Self(Property {
            deprecated: true,
            ..self.0
        })
    }

    pub(super) const fn hidden(self) -> Self {
        Self(Property { hidden: true, ..self.0 })
    }

    pub(super) const fn experimental(self) -> Self {
        Self(Property {
            experimental: true,
            ..self.0
        })
    }

    pub(super) const fn sensitive(self) -> Self {
        Self(Property {
            sensitive: true,
            ..self.0
        })
    }

    pub(super) const fn windows_only(self) -> Self {
        Self(Property {
            windows_only: true,
            ..self.0
        })
    }
}

impl Property {
    /// Returns the range or the values allowed, as the manual prints them: `10 .. 300000`, `true, false`, `none, gzip`;
    /// empty for texts and pointers.
    pub fn range(&self) -> String {
        match self.kind {
            Kind::Int { min, max, .. } => format!("{min} .. {max}"),
            Kind::Float { min, max, .. } => format!("{min} .. {max}"),
            Kind::Bool { .. } => "true, false".to_owned(),
            Kind::Choice { values, .. } => join(values),
            Kind::Flags { values, .. } => join(values),
            Kind::Text {
                check: TextCheck::OneOf(values),
                ..
            } => values.join(", "),
            Kind::Text { .. } | Kind::Patterns | Kind::Pointer { .. } => String::new(),
        }
    }

    /// Returns the name of the type, as the manual prints it.
    pub fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::Int { .. } => "integer",
            Kind::Float { .. } => "float",
            Kind::Bool { .. } => "boolean",
            Kind::Text { .. } => "string",
            Kind::Patterns => "pattern list",
            Kind::Choice { .. } => "enum value",
            Kind::Flags { .. } => "CSV flags",
            Kind::Pointer { .. } => "see dedicated API",
        }
    }
}

fn join(values: &[Named]) -> String {
    let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}
