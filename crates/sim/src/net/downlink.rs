//! From a broker to a client.

use bytes::Bytes;
use ottla::connection::{CloseReason, NetEvent};
use ottla_mock::{Delivery, Outgoing};

use super::{Downlink, read_frames};
use crate::trace::trace;
use crate::world::{World, WorldEvent};

impl World {
    /// What the cluster sends by itself.
    pub(crate) fn outgoing(&mut self, out: Outgoing) {
        let number = out.connection.0;
        match out.delivery {
            Delivery::Frame(frame) => self.send_down(number, Downlink::Bytes(frame.into_bytes()), false),
            Delivery::Close(reason) => {
                trace!(self.trace, "#{number} closed by the broker: {reason}");
                self.send_down(number, Downlink::Close, false);
                self.up_closed(number);
            }
        }
    }

    /// Sends towards the client, after what was sent before. `at_once`: it is not the broker that does so.
    pub(crate) fn send_down(&mut self, number: u64, down: Downlink, at_once: bool) {
        let Some(state) = self.net.conns.get_mut(&number) else {
            return;
        };
        if state.dead || !state.client_open {
            return;
        }
        if !at_once && self.frozen.contains(&state.broker) {
            state.outbox.push(down);
            return;
        }
        match down {
            Downlink::Bytes(bytes) => {
                self.trace_response(number, &bytes);
                self.transmit_down(number, bytes);
            }
            end => {
                let delay = self.net.delay_us();
                self.schedule_down(number, end, delay, 0);
            }
        }
    }

    fn transmit_down(&mut self, number: u64, bytes: Bytes) {
        if self.net.occurs(self.net.plan.half_open) {
            trace!(self.trace, "#{number} goes dead");
            self.coverage.fault("half-open connections");
            return self.kill_silently(number);
        }
        if self.net.occurs(self.net.plan.lost) {
            trace!(self.trace, "#{number} loses a response");
            self.coverage.fault("lost responses");
            self.corrupt(number);
            return;
        }
        if self.net.occurs(self.net.plan.repeated) {
            trace!(self.trace, "#{number} brings a response twice");
            self.coverage.fault("repeated responses");
            self.corrupt(number);
            let delay = self.net.delay_us();
            self.schedule_down(number, Downlink::Bytes(bytes.clone()), delay, 0);
        }
        let cut = self.net.occurs(self.net.plan.cut_down);
        let keep = if cut {
            self.net.rng.below(bytes.len() + 1)
        } else {
            bytes.len()
        };
        for piece in self.net.pieces(bytes.slice(..keep)) {
            let delay = self.net.delay_us();
            let transfer = self.net.transfer_us(piece.len());
            self.schedule_down(number, Downlink::Bytes(piece), delay, transfer);
        }
        if cut {
            trace!(
                self.trace,
                "#{number} breaks within a response, {keep} of {} bytes sent",
                bytes.len()
            );
            self.coverage.fault("broken responses");
            self.break_connection(number, "Connection reset by peer");
        }
    }

    fn corrupt(&mut self, number: u64) {
        if let Some(state) = self.net.conns.get_mut(&number) {
            state.corrupted = true;
        }
    }

    fn schedule_down(&mut self, number: u64, down: Downlink, delay: u64, transfer: u64) {
        let now = self.now_us;
        if let Some(state) = self.net.conns.get_mut(&number) {
            state.down_last_us = state.down_last_us.max(now + delay) + transfer;
            let at = state.down_last_us;
            self.at_us(at, WorldEvent::Downlink { number, down });
        }
    }

    /// Something reaches the client.
    pub(crate) fn down(&mut self, number: u64, down: Downlink) {
        let Some(state) = self.net.conns.get_mut(&number) else {
            return;
        };
        if state.dead || !state.client_open {
            return;
        }
        let half_closed = matches!(down, Downlink::Close) && state.broker_open;
        let (client, conn, corrupted) = (state.client, state.id, state.corrupted);
        let reason = match down {
            Downlink::Bytes(bytes) => match read_frames(&mut state.reader_down, &bytes) {
                Ok(frames) => {
                    for body in frames {
                        self.observe_produce_response(client, conn, &body, corrupted);
                        let body = self.observe_response(client, conn, body);
                        self.deliver_net_event(client, NetEvent::Received { conn, body });
                    }
                    return;
                }
                Err(what) => CloseReason::NotKafka(what),
            },
            Downlink::Close => state.reader_down.at_end(),
            Downlink::Reset(why) => CloseReason::Io(why.into()),
        };
        trace!(self.trace, "#{number} c{client} sees {reason:?}");
        state.client_open = false;
        state.queue.clear();
        match half_closed {
            // What the client wrote before is still read.
            true => self.close_up(number),
            false => self.up_closed(number),
        }
        self.deliver_net_event(client, NetEvent::Closed { conn, reason });
        self.net.forget_if_over(number);
    }
}
