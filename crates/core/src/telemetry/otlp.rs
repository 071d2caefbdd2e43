//! The encoding of metrics in OpenTelemetry's protocol buffers (`opentelemetry.proto.metrics.v1.MetricsData`), as far as
//! clients use it. A code generator for these few fields would be larger than this module.

/// One measured value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Number {
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Double(f64),
}

/// The kind of a metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A current value, or an average or a maximum over the interval.
    Gauge,
    /// A counter: since the start of the client, or with `delta` since the last push.
    Sum {
        /// Set for a count since the last push.
        delta: bool,
    },
}

/// A value and the broker that it belongs to.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Point {
    /// The value.
    pub(super) value: Number,
    /// The broker, `None` for the whole client.
    pub(super) node_id: Option<i32>,
}

/// A metric with its values.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Metric {
    /// The name, with Kafka's prefix.
    pub(super) name: String,
    /// A description for operators.
    pub(super) description: &'static str,
    /// "ms", or "1" for counts and ratios.
    pub(super) unit: &'static str,
    /// The kind.
    pub(super) kind: Kind,
    /// The values.
    pub(super) points: Vec<Point>,
}

/// The metrics of one push.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Document<'a> {
    /// Attributes of the client.
    pub(super) resource: &'a [(&'static str, String)],
    /// `client.software.name` and `client.software.version`.
    pub(super) scope: (&'a str, &'a str),
    /// The start of the measured time, in nanoseconds of Unix time.
    pub(super) start_ns: u64,
    /// The time of the measurement, likewise.
    pub(super) time_ns: u64,
    /// The metrics.
    pub(super) metrics: &'a [Metric],
}

const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const BYTES: u32 = 2;

const DELTA: u64 = 1;
const CUMULATIVE: u64 = 2;

/// The buffer of a message.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn tag(&mut self, field: u32, wire: u32) {
        self.varint((field << 3 | wire).into());
    }

    fn number(&mut self, field: u32, value: u64) {
        self.tag(field, VARINT);
        self.varint(value);
    }

    fn fixed(&mut self, field: u32, bits: u64) {
        self.tag(field, FIXED64);
        self.0.extend_from_slice(&bits.to_le_bytes());
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.tag(field, BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u32, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    fn message(&mut self, field: u32, write: impl FnOnce(&mut Writer)) {
        let mut inner = Writer::default();
        write(&mut inner);
        self.bytes(field, &inner.0);
    }

    /// Writes a `KeyValue`; `value` writes its `AnyValue`.
    fn attribute(&mut self, field: u32, key: &str, value: impl FnOnce(&mut Writer)) {
        self.message(field, |w| {
            w.text(1, key);
            w.message(2, value);
        });
    }
}

impl Document<'_> {
    /// Encodes the document.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut data = Writer::default();
        data.message(1, |resource_metrics| {
            resource_metrics.message(1, |resource| {
                for (key, value) in self.resource {
                    resource.attribute(1, key, |any| any.text(1, value));
                }
            });
            resource_metrics.message(2, |scope_metrics| {
                scope_metrics.message(1, |scope| {
                    scope.text(1, self.scope.0);
                    scope.text(2, self.scope.1);
                });
                for metric in self.metrics {
                    scope_metrics.message(2, |w| self.metric(w, metric));
                }
            });
        });
        data.0
    }

    fn metric(&self, w: &mut Writer, metric: &Metric) {
        w.text(1, &metric.name);
        w.text(2, metric.description);
        w.text(3, metric.unit);
        match metric.kind {
            Kind::Gauge => w.message(5, |gauge| self.points(gauge, &metric.points)),
            Kind::Sum { delta } => w.message(7, |sum| {
                self.points(sum, &metric.points);
                sum.number(2, if delta { DELTA } else { CUMULATIVE });
                sum.number(3, 1);
            }),
        }
    }

    fn points(&self, w: &mut Writer, points: &[Point]) {
        for point in points {
            w.message(1, |w| {
                w.fixed(2, self.start_ns);
                w.fixed(3, self.time_ns);
                match point.value {
                    Number::Double(value) => w.fixed(4, value.to_bits()),
                    Number::Int(value) => w.fixed(6, value.cast_unsigned()),
                }
                if let Some(id) = point.node_id {
                    w.attribute(7, "node.id", |any| any.number(3, i64::from(id).cast_unsigned()));
                }
            });
        }
    }
}
