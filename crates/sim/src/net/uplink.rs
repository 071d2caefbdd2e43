//! From a client to a broker.

use bytes::Bytes;
use ottla::connection::{ConnId, NetAction, NetEvent};
use ottla_mock::{ConnectionId, Reply, Time};
use ottla_protocol::{ApiKey, Frame};

use super::{Downlink, Unwritten, read_frames};
use crate::canary::Canary;
use crate::trace::trace;
use crate::wire_observer::api_of;
use crate::world::{World, WorldEvent};

/// How long a broker keeps a connection whose client is gone without a word.
const REAP_US: u64 = 30_000_000;
/// How long a client's kernel sends again what is not acknowledged.
pub(crate) const GIVE_UP_US: u64 = 90_000_000;

impl World {
    /// Does what a client's core asks of the network.
    pub(crate) fn perform(&mut self, client: usize, action: NetAction) {
        match action {
            NetAction::Resolve { lookup, host, port } => {
                let delay = self.net.delay_us();
                let fails = self.net.occurs(self.net.plan.lookup_fails);
                trace!(
                    self.trace,
                    "c{client} look up {host}:{port}{}",
                    if fails { " (fails)" } else { "" }
                );
                if fails {
                    self.coverage.fault("failed look-ups");
                }
                self.after_us(
                    delay,
                    WorldEvent::Resolved {
                        client,
                        lookup,
                        host,
                        port,
                        fails,
                    },
                );
            }
            // Worlds do not ask for canonical names.
            NetAction::ResolveNames { .. } => {}
            NetAction::Connect { conn, addr, .. } => {
                let delay = self.net.delay_us();
                self.net.attempts.insert((client, conn));
                self.after_us(delay, WorldEvent::Connecting { client, conn, addr });
            }
            NetAction::Send { conn, frame } => self.client_sends(client, conn, frame),
            NetAction::Close { conn } => self.client_closes(client, conn),
        }
    }

    /// An attempt to connect reaches the address.
    pub(crate) fn connecting(&mut self, client: usize, conn: ConnId, addr: std::net::SocketAddr) {
        if !self.net.attempts.remove(&(client, conn)) {
            return;
        }
        if self.net.occurs(self.net.plan.silence) {
            self.coverage.fault("silent connects");
            return;
        }
        let back = self.net.delay_us();
        let broker = self.net.listener(addr).filter(|b| self.cluster.is_accepting(*b));
        let refused = self.net.occurs(self.net.plan.refuse);
        let Some(broker) = broker.filter(|_| !refused) else {
            trace!(self.trace, "c{client} connect to {addr} refused");
            self.coverage.fault("refused connects");
            return self.after_us(back, WorldEvent::Refused { client, conn });
        };
        let number = self.net.add(client, conn, broker);
        trace!(
            self.trace,
            "c{client} connects to broker {broker} at {addr} as #{number}"
        );
        self.after_us(back, WorldEvent::Connected { number });
    }

    fn client_sends(&mut self, client: usize, conn: ConnId, frame: Frame) {
        let made_of = frame.clone();
        let Some(frame) = self.mutate_request(client, frame.into_bytes()) else {
            return;
        };
        self.observe_request(client, conn, &frame);
        let Some(&number) = self.net.by_id.get(&(client, conn)) else {
            return;
        };
        let frame = self.drop_sequence_numbers(frame);
        let frame = self.mutate_end_txn(frame);
        let twice = self.duplicates_request(&frame);
        let waiting = self.net.conns.get(&number).map_or(0, |state| state.queue.len());
        if matches!(api_of(frame.get(4..).unwrap_or_default()), Some((ApiKey::PRODUCE, ..))) {
            self.check_backpressure(client, waiting);
        }
        let Some(state) = self.net.conns.get_mut(&number) else {
            return;
        };
        state.queue.push_back(Unwritten {
            frame: frame.clone(),
            made_of,
            written: 0,
        });
        self.fill_send_buffer(number);
        if twice {
            // Behind the client's back: neither counted nor answered.
            self.doubled.push((number, frame.slice(4..)));
        }
    }

    /// Has the kernel take what it has room for.
    pub(crate) fn fill_send_buffer(&mut self, number: u64) {
        let mut taken = Vec::new();
        let keeps = self.options.canary == Some(Canary::KeptPayload);
        let Some(state) = self.net.conns.get_mut(&number) else {
            return;
        };
        if !state.client_open {
            return;
        }
        // As kernels do, room is not filled byte by byte as it comes.
        let worthwhile = (self.net.plan.socket_buffer / 2).max(1);
        while let Some(Unwritten { frame, written, .. }) = state.queue.front_mut() {
            if state.room < worthwhile.min(frame.len() - *written) {
                break;
            }
            let n = state.room.min(frame.len() - *written);
            if *written == 0 {
                state.begun += 1;
            }
            taken.push(frame.slice(*written..*written + n));
            *written += n;
            state.room -= n;
            if *written == frame.len() {
                state.done += 1;
                let done = state.queue.pop_front();
                self.kept.extend(done.filter(|_| keeps).map(|d| d.made_of));
            }
        }
        if taken.is_empty() {
            return;
        }
        let (client, event) = (
            state.client,
            NetEvent::Written {
                conn: state.id,
                begun: state.begun,
                done: state.done,
            },
        );
        self.deliver_net_event(client, event);
        for chunk in taken {
            self.transmit_up(number, chunk);
        }
    }

    fn transmit_up(&mut self, number: u64, chunk: Bytes) {
        if self.net.occurs(self.net.plan.half_open) {
            trace!(self.trace, "#{number} goes dead");
            self.coverage.fault("half-open connections");
            self.kill_silently(number);
        }
        let cut = self.net.occurs(self.net.plan.cut_up);
        let keep = if cut {
            self.net.rng.below(chunk.len() + 1)
        } else {
            chunk.len()
        };
        for piece in self.net.pieces(chunk.slice(..keep)) {
            let delay = self.net.delay_us();
            let transfer = self.net.transfer_us(piece.len());
            let now = self.now_us;
            let Some(state) = self.net.conns.get_mut(&number) else {
                return;
            };
            if state.dead {
                return;
            }
            state.up_last_us = state.up_last_us.max(now + delay) + transfer;
            let at = state.up_last_us;
            self.at_us(at, WorldEvent::Up { number, piece });
        }
        if cut {
            trace!(
                self.trace,
                "#{number} breaks within a request, {keep} of {} bytes sent",
                chunk.len()
            );
            self.coverage.fault("broken requests");
            self.break_connection(number, "Connection reset by peer");
        }
    }

    /// Nothing passes any more; the broker notices in the end.
    pub(crate) fn kill_silently(&mut self, number: u64) {
        if let Some(state) = self.net.conns.get_mut(&number)
            && !state.dead
        {
            state.dead = true;
            self.after_us(REAP_US, WorldEvent::UpClosed { number });
            self.after_us(GIVE_UP_US, WorldEvent::GivenUp { number });
        }
    }

    /// The client's machine is gone.
    pub(crate) fn vanish(&mut self, number: u64) {
        self.kill_silently(number);
        if let Some(state) = self.net.conns.get_mut(&number) {
            state.client_open = false;
            state.queue.clear();
        }
        self.net.forget_if_over(number);
    }

    /// The client's kernel gives a dead connection up.
    pub(crate) fn given_up(&mut self, number: u64) {
        if let Some(state) = self.net.conns.get_mut(&number)
            && std::mem::replace(&mut state.client_open, false)
        {
            state.queue.clear();
            let (client, conn) = (state.client, state.id);
            let reason = ottla::connection::CloseReason::Io("Connection timed out".into());
            self.deliver_net_event(client, ottla::connection::NetEvent::Closed { conn, reason });
            self.net.forget_if_over(number);
        }
    }

    /// The connection is gone: the client hears of it after what is on its way to it, the broker after what it was sent.
    pub(crate) fn break_connection(&mut self, number: u64, why: &'static str) {
        self.send_down(number, Downlink::Reset(why), true);
        self.close_up(number);
    }

    /// The broker's side ends once it has read what is on its way.
    pub(super) fn close_up(&mut self, number: u64) {
        let now = self.now_us;
        if let Some(state) = self.net.conns.get(&number)
            && !state.dead
        {
            let at = state.up_last_us.max(now);
            self.at_us(at, WorldEvent::UpClosed { number });
        }
    }

    pub(crate) fn client_closes(&mut self, client: usize, conn: ConnId) {
        self.net.attempts.remove(&(client, conn));
        let Some(&number) = self.net.by_id.get(&(client, conn)) else {
            return;
        };
        if self.options.canary == Some(Canary::LeakedConnection) && number == 1 {
            return;
        }
        trace!(self.trace, "#{number} closed by c{client}");
        let delay = self.net.delay_us();
        if let Some(state) = self.net.conns.get_mut(&number) {
            state.client_open = false;
            state.queue.clear();
            state.up_last_us = state.up_last_us.max(self.now_us + delay);
        }
        self.close_up(number);
        self.net.forget_if_over(number);
    }

    /// Bytes reach the broker's machine.
    pub(crate) fn up(&mut self, number: u64, piece: Bytes) {
        let Some(state) = self.net.conns.get_mut(&number) else {
            return;
        };
        if state.dead || !state.broker_open {
            return;
        }
        if self.frozen.contains(&state.broker) {
            state.inbox.push(piece);
            return;
        }
        self.broker_reads(number, &piece);
    }

    /// A broker that was frozen goes on.
    pub(crate) fn thaw(&mut self, broker: ottla_mock::BrokerId) {
        self.frozen.remove(&broker);
        for number in self.net.of_broker(broker) {
            let Some(state) = self.net.conns.get_mut(&number) else {
                continue;
            };
            let inbox = std::mem::take(&mut state.inbox);
            let outbox = std::mem::take(&mut state.outbox);
            for down in outbox {
                self.send_down(number, down, false);
            }
            for piece in inbox {
                self.broker_reads(number, &piece);
            }
        }
    }

    fn broker_reads(&mut self, number: u64, piece: &Bytes) {
        let Some(state) = self.net.conns.get_mut(&number) else {
            return;
        };
        if !state.broker_open {
            return;
        }
        state.room += piece.len();
        let broker = state.broker;
        let frames = match read_frames(&mut state.reader_up, piece) {
            Ok(frames) => frames,
            Err(what) => {
                return self
                    .check
                    .violate(format!("#{number}: the client sent what is no frame: {what}"));
            }
        };
        for frame in frames {
            self.serve(number, broker, frame);
        }
        self.fill_send_buffer(number);
    }

    fn serve(&mut self, number: u64, broker: ottla_mock::BrokerId, frame: Bytes) {
        self.trace_request(number, &frame);
        let reply = self
            .cluster
            .handle(broker, ConnectionId(number), frame.clone(), Time(self.now_us));
        self.check_transaction_steps();
        self.check_joins();
        match reply {
            Reply::Now(response) => {
                self.send_down(number, Downlink::Bytes(response.into_bytes()), false);
            }
            Reply::Later | Reply::None => {}
            Reply::Close(reason) => {
                trace!(self.trace, "#{number} closed by the broker: {reason}");
                self.send_down(number, Downlink::Close, false);
                self.up_closed(number);
            }
        }
        if let Some(at) = self.doubled.iter().position(|(n, f)| *n == number && *f == frame) {
            self.doubled.remove(at);
            let side = ConnectionId(number + (1 << 40));
            let _ = self.cluster.handle(broker, side, frame, Time(self.now_us));
            self.cluster.disconnected(broker, side);
        }
    }

    /// The broker's side of a connection ends.
    pub(crate) fn up_closed(&mut self, number: u64) {
        if let Some(state) = self.net.conns.get_mut(&number)
            && std::mem::replace(&mut state.broker_open, false)
        {
            let broker = state.broker;
            self.cluster.disconnected(broker, ConnectionId(number));
            self.net.forget_if_over(number);
        }
    }
}
