//! From a broker to a client.

use bytes::Bytes;
use ottla::connection::{CloseReason, NetEvent};
use ottla_mock::{Delivery, Outgoing};

use super::{Down, read_frames};
use crate::trace::trace;
use crate::world::{Happening, World};

impl World {
    /// What the cluster sends by itself.
    pub(crate) fn outgoing(&mut self, out: Outgoing) {
        let number = out.connection.0;
        match out.delivery {
            Delivery::Frame(frame) => self.send_down(number, Down::Bytes(frame.into_bytes()), false),
            Delivery::Close(reason) => {
                trace!(self.trace, "#{number} closed by the broker: {reason}");
                self.send_down(number, Down::Close, false);
                self.up_closed(number);
            }
        }
    }

    /// Sends towards the client, after what was sent before. `at_once`: it is not the broker that does so.
    pub(crate) fn send_down(&mut self, number: u64, down: Down, at_once: bool) {
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
            Down::Bytes(bytes) => {
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
        if self.net.strikes(self.net.plan.half_open) {
            trace!(self.trace, "#{number} goes dead");
            self.coverage.fault("half-open connections");
            return self.kill_silently(number);
        }
        if self.net.strikes(self.net.plan.lost) {
            trace!(self.trace, "#{number} loses a response");
            self.coverage.fault("lost responses");
            self.garble(number);
            return;
        }
        if self.net.strikes(self.net.plan.repeated) {
            trace!(self.trace, "#{number} brings a response twice");
            self.coverage.fault("repeated responses");
            self.garble(number);
            let delay = self.net.delay_us();
            self.schedule_down(number, Down::Bytes(bytes.clone()), delay, 0);
        }
        let cut = self.net.strikes(self.net.plan.cut_down);
        let keep = if cut {
            self.net.chance.below(bytes.len() + 1)
        } else {
            bytes.len()
        };
        for piece in self.net.pieces(bytes.slice(..keep)) {
            let delay = self.net.delay_us();
            let transfer = self.net.transfer_us(piece.len());
            self.schedule_down(number, Down::Bytes(piece), delay, transfer);
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

    fn garble(&mut self, number: u64) {
        if let Some(state) = self.net.conns.get_mut(&number) {
            state.garbled = true;
        }
    }

    fn schedule_down(&mut self, number: u64, down: Down, delay: u64, transfer: u64) {
        let now = self.now_us;
        if let Some(state) = self.net.conns.get_mut(&number) {
            state.down_last_us = state.down_last_us.max(now + delay) + transfer;
            let at = state.down_last_us;
            self.at_us(at, Happening::Down { number, down });
        }
    }

    /// Something reaches the client.
    pub(crate) fn down(&mut self, number: u64, down: Down) {
        let Some(state) = self.net.conns.get_mut(&number) else {
            return;
        };
        if state.dead || !state.client_open {
            return;
        }
        let half_closed = matches!(down, Down::Close) && state.broker_open;
        let (client, conn, garbled) = (state.client, state.id, state.garbled);
        let reason = match down {
            Down::Bytes(bytes) => match read_frames(&mut state.reader_down, &bytes) {
                Ok(frames) => {
                    for body in frames {
                        self.witness_answer(client, conn, &body, garbled);
                        let body = self.witness_response(client, conn, body);
                        self.tell(client, NetEvent::Received { conn, body });
                    }
                    return;
                }
                Err(what) => CloseReason::NotKafka(what),
            },
            Down::Close => state.reader_down.at_end(),
            Down::Reset(why) => CloseReason::Io(why.into()),
        };
        trace!(self.trace, "#{number} c{client} sees {reason:?}");
        state.client_open = false;
        state.queue.clear();
        match half_closed {
            // What the client wrote before is still read.
            true => self.close_up(number),
            false => self.up_closed(number),
        }
        self.tell(client, NetEvent::Closed { conn, reason });
        self.net.forget_if_over(number);
    }
}
