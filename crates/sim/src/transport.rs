//! Transport of bytes between clients and brokers over the virtual network.

use std::net::SocketAddr;

use bytes::Bytes;
use ottla_core::client::{Command, Shared};
use ottla_core::connection::{
    CertificateRefresh, CloseReason, ConnId, NetAction, NetEvent, TlsFailure, TlsSession, WorkId,
};
use ottla_core::credentials;
use ottla_core::event::{Event, Queue};
use ottla_core::sasl::{BearerToken, SaslWork, SaslWorkResult};
use ottla_mock::{BrokerId, ConnectionId, Delivery, Outgoing, Reply, Time};
use ottla_protocol::{ApiKey, Frame};

use crate::admin_wire::{check_admin_requests, on_admin_connection_closed, on_admin_request};
use crate::canary::Canary;
use crate::event::{Downlink, WorldEvent};
use crate::net::{Conn, GIVE_UP_US};
use crate::rebalance_check::check_joins;
use crate::sasl_check::{check_sasl_events, check_session, request_during_reauthentication};
use crate::share_wire::{check_share_events, observe_share_request, observe_share_response, on_share_connection_lost};
use crate::tls::{Handshake, WaitingConnect};
use crate::trace::trace;
use crate::txn_check::check_transaction_steps;
use crate::wire::api_of;
use crate::wire_mutation::{drop_sequence_numbers, duplicates_request, mutate_end_txn, mutate_request};
use crate::wire_observer::{
    check_backpressure, observe_produce_response, observe_request, observe_response, trace_request, trace_response,
};
use crate::world::{Phase, World};

/// Time after which a broker closes a connection whose client has disappeared.
const BROKER_IDLE_US: u64 = 30_000_000;

/// Carries out an action of a client's core.
pub(crate) fn perform(world: &mut World, client: usize, action: NetAction) {
    match action {
        NetAction::Resolve { lookup, host, port } => {
            let delay = world.net.delay_us();
            let fails = world.net.occurs(|plan| plan.lookup_fails);
            trace!(
                world.trace,
                "c{client} look up {host}:{port}{}",
                if fails { " (fails)" } else { "" }
            );
            if fails {
                world.coverage.fault("failed look-ups");
            }
            world.after_us(
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
        // Worlds do not use canonical names.
        NetAction::ResolveNames { .. } => {}
        NetAction::RefreshCertificates => {
            if let Some(duration_us) = world.tls.begin_look(client) {
                world.coverage.count("looks at certificates", 1);
                world.after_us(duration_us, WorldEvent::Looked { client });
            }
        }
        NetAction::SaslWork { work, job } => {
            let duration_us = world.sasl.work_us();
            world.after_us(duration_us, WorldEvent::SaslWorked { client, work, job });
        }
        NetAction::Connect { conn, addr, tls, .. } => {
            if tls.is_some() != world.tls.renewals(client).is_some() {
                let what = format!("client {client} connects to {addr} with the wrong security: {tls:?}");
                world.check.violate(what);
            }
            if tls.is_none() || !world.tls.keep_connect(client, WaitingConnect { conn, addr }) {
                connect(world, client, conn, addr);
            }
        }
        NetAction::Send { conn, frame } => client_sends(world, client, conn, frame),
        NetAction::Close { conn, acknowledge } => {
            on_share_connection_lost(world, client, conn);
            client_closes(world, client, conn);
            if acknowledge {
                // Without a draw, which would change every seed.
                let delay_us = conn.0 % 4 * RELEASE_STEP_US;
                world.after_us(delay_us, WorldEvent::Released { client, conn });
            }
        }
    }
}

/// The network lets go of a closed connection's memory after none to three of these.
const RELEASE_STEP_US: u64 = 700;

fn connect(world: &mut World, client: usize, conn: ConnId, addr: SocketAddr) {
    let delay = world.net.delay_us();
    let renewals = world.tls.renewals(client);
    world.net.attempt(client, conn);
    world.after_us(
        delay,
        WorldEvent::Connecting {
            client,
            conn,
            addr,
            renewals,
        },
    );
}

/// Ends a look at a client's certificate files, and opens the connections that waited for it.
pub(crate) fn looked(world: &mut World, client: usize) {
    let (now, changes) = (world.now_us(), world.phase < Phase::Quiet);
    let fails = world.net.has_faults_enabled();
    let Some((result, waiting)) = world.tls.end_look(client, now, (changes, fails)) else {
        return;
    };
    trace!(world.trace, "c{client} looked at its certificates: {result:?}");
    match result {
        CertificateRefresh::Unchanged => {}
        CertificateRefresh::Renewed(_) => world.coverage.count("renewals of certificates", 1),
        CertificateRefresh::Failed(_) => world.coverage.fault("unusable certificates"),
    }
    world.deliver_net_event(client, NetEvent::CertificatesRefreshed(result));
    for WaitingConnect { conn, addr } in waiting {
        world.coverage.count("connections opened after a look", 1);
        connect(world, client, conn, addr);
    }
}

/// Ends a client's work of authentication that blocks.
pub(crate) fn sasl_worked(world: &mut World, client: usize, work: WorkId, job: SaslWork) {
    if world.clients[client].crashed {
        return;
    }
    let is_token = matches!(job, SaslWork::Token(_));
    let result = match world.net.has_faults_enabled() && world.sasl.work_fails() {
        true => {
            world.coverage.fault("work of authentication not done");
            SaslWorkResult::NotDone("no thread for it".into())
        }
        false => job.run(),
    };
    if is_token {
        let count = if matches!(result, SaslWorkResult::Token(Ok(_))) {
            "tokens of providers"
        } else {
            "failed providers"
        };
        world.coverage.count(count, 1);
        let accepted = world.sasl.accepted_tokens();
        world.cluster.set_accepted_tokens(Some(accepted));
    } else {
        world.coverage.count("long steps of authentication", 1);
    }
    trace!(world.trace, "c{client} work of authentication ends");
    world.deliver_net_event(client, NetEvent::SaslWorkDone { work, result });
}

/// Schedules the answer of an application that is asked for a token.
pub(crate) fn notice_token_request(world: &mut World, client: usize) {
    let mut requests = 0;
    token_queue(&world.clients[client].shared).visit_all(|event| requests += usize::from(is_token_request(event)));
    if requests > 0
        && let Some(delay_us) = world.sasl.begin_answer(client)
    {
        world.after_us(delay_us, WorldEvent::TokenAnswer(client));
    }
}

/// Returns the queue of requests for tokens.
fn token_queue(shared: &Shared) -> &Queue {
    shared.sasl_queue.as_ref().unwrap_or(&shared.main_queue)
}

fn is_token_request(event: &Event) -> bool {
    matches!(event, Event::TokenRefresh(_))
}

/// Has a client's application answer the requests for a token.
pub(crate) fn answer_token_request(world: &mut World, client: usize) {
    let shared = world.shared(client);
    token_queue(&shared).extract(is_token_request);
    let command = match world.sasl.end_answer(client) {
        None => return world.coverage.fault("requests for tokens without an answer"),
        Some(Ok(token)) => {
            world.coverage.count("tokens of applications", 1);
            let Ok(bearer) = BearerToken::new(&token.value, &token.extensions) else {
                return world.check.violate("a token cannot be sent");
            };
            credentials::Command::SetToken {
                token: bearer,
                expires_ms: token.expires_ms,
                principal: token.principal,
            }
        }
        Some(Err(error)) => {
            world.coverage.fault("applications without a token");
            credentials::Command::SetTokenFailure(error.0)
        }
    };
    let accepted = world.sasl.accepted_tokens();
    world.cluster.set_accepted_tokens(Some(accepted));
    trace!(world.trace, "c{client} app answers a request for a token: {command:?}");
    shared.send(Command::Credentials(command));
}

/// Handles the arrival of an attempt to connect. `renewals`: with TLS, the renewals of the client's certificates before.
pub(crate) fn connecting(
    world: &mut World,
    (client, conn): (usize, ConnId),
    addr: SocketAddr,
    renewals: Option<usize>,
) {
    if !world.net.end_attempt(client, conn) {
        return;
    }
    if world.net.occurs(|plan| plan.silence) {
        world.coverage.fault("silent connects");
        return;
    }
    let back = world.net.delay_us();
    let broker = world.net.listener(addr).filter(|b| world.cluster.is_accepting(*b));
    let refused = world.net.occurs(|plan| plan.refuse);
    let Some(broker) = broker.filter(|_| !refused) else {
        trace!(world.trace, "c{client} connect to {addr} refused");
        world.coverage.fault("refused connects");
        return world.after_us(back, WorldEvent::Refused { client, conn });
    };
    let number = world.net.add(client, conn, broker, renewals);
    trace!(
        world.trace,
        "c{client} connects to broker {broker} at {addr} as #{number}"
    );
    world.after_us(back, WorldEvent::Connected { number });
}

/// Handles the end of an attempt to connect on the client's side. With TLS the handshake begins.
pub(crate) fn connected(world: &mut World, number: u64) {
    let state = world.net.conn(number).filter(|c| c.is_client_open() && !c.is_dead());
    let Some((client, conn, has_tls)) = state.map(|c| (c.client(), c.id(), c.is_in_handshake())) else {
        return;
    };
    world.deliver_net_event(client, NetEvent::Connected { conn, socket: -1 });
    if !has_tls {
        return;
    }
    if world.canary.strike(Canary::EarlyFrame) {
        let session = TlsSession::default();
        world.deliver_net_event(client, NetEvent::Secured { conn, session });
    }
    // A round trip, and the client's next message.
    let travel_us: u64 = (0..3).map(|_| world.net.delay_us()).sum();
    let delay_us = travel_us + world.tls.handshake_us();
    world.after_us(delay_us, WorldEvent::Handshake { number });
}

/// Ends a TLS handshake on the broker's side.
pub(crate) fn handshake(world: &mut World, number: u64) {
    let state = world.net.conn(number);
    if state.is_none_or(|c| c.is_dead() || !c.is_broker_open() || !c.is_client_open()) {
        return;
    }
    let faults_enabled = world.net.has_faults_enabled();
    let result = world.tls.handshake(faults_enabled);
    trace!(world.trace, "#{number} TLS handshake: {result:?}");
    match result {
        Handshake::Secured => send_down(world, number, Downlink::Secured, false),
        Handshake::Failed(failure) => {
            world.coverage.fault("failed TLS handshakes");
            send_down(world, number, Downlink::TlsFailed(failure), false);
        }
        Handshake::RefusedLater(failure) => {
            world.coverage.fault("TLS alerts after the handshake");
            send_down(world, number, Downlink::Secured, false);
            send_down(world, number, Downlink::TlsFailed(failure), false);
        }
        Handshake::Cut => {
            world.coverage.fault("broken TLS handshakes");
            break_connection(world, number, "Connection reset by peer");
        }
        Handshake::Silence => world.coverage.fault("silent TLS handshakes"),
    }
}

/// Checks that a request is not sent before the TLS handshake is complete, nor on a connection that was to be replaced
/// because certificates were renewed.
fn check_security(world: &mut World, number: u64, request: &Bytes) {
    let Some(state) = world.net.conn(number) else { return };
    let client = state.client();
    if state.is_in_handshake() {
        let what = format!("client {client} sends a request on #{number} before its TLS handshake is complete");
        return world.check.violate(what);
    }
    // A connection that is being set up completes its setup, and coordinator connections accept requests until they are
    // idle.
    let is_general = matches!(
        api_of(request.get(4..).unwrap_or_default()),
        Some((
            ApiKey::PRODUCE | ApiKey::FETCH | ApiKey::METADATA | ApiKey::LIST_OFFSETS,
            ..
        ))
    );
    let renewals = state.renewals().filter(|_| is_general);
    let by_us = renewals.and_then(|renewals| world.tls.replaced_by_us(client, renewals));
    if let Some(by_us) = by_us.filter(|by_us| *by_us < world.now_us()) {
        world.check.violate(format!(
            "client {client} sends a request on #{number}, whose certificates were renewed: it was to be replaced by {by_us}"
        ));
    }
}

fn client_sends(world: &mut World, client: usize, conn: ConnId, frame: Frame) {
    let original = frame.clone();
    if let Some(number) = world
        .net
        .number(client, conn)
        .filter(|n| world.sasl.sends_raw_token(*n))
    {
        world.coverage.count("tokens without headers", 1);
        if let Some(state) = world.net.conn_mut(number) {
            state.push(frame.into_bytes(), original);
        }
        return fill_send_buffer(world, number);
    }
    let Some(frame) = mutate_request(world, client, frame.into_bytes()) else {
        return;
    };
    let Some(number) = world.net.number(client, conn) else {
        observe_request(world, client, conn, &frame);
        return;
    };
    observe_request(world, client, conn, &frame);
    observe_share_request(world, client, conn, &frame);
    on_admin_request(world, client, conn, &frame);
    check_security(world, number, &frame);
    check_session(world, number, &frame);
    let frame = drop_sequence_numbers(world, frame);
    let frame = mutate_end_txn(world, frame);
    let twice = duplicates_request(world, &frame);
    let unwritten = world.net.conn(number).map_or(0, Conn::unwritten);
    if matches!(api_of(frame.get(4..).unwrap_or_default()), Some((ApiKey::PRODUCE, ..))) {
        check_backpressure(world, client, unwritten);
    }
    let Some(state) = world.net.conn_mut(number) else {
        return;
    };
    state.push(frame.clone(), original);
    if let Some(early) = request_during_reauthentication(world, number, &frame)
        && let Some(state) = world.net.conn_mut(number)
    {
        let original = Frame {
            parts: vec![early.clone()],
        };
        state.push(early, original);
    }
    fill_send_buffer(world, number);
    if twice {
        // The broker serves it twice, and the client receives one response.
        world.canary.duplicate(number, frame.slice(4..));
    }
}

/// Moves bytes of queued requests into the send buffer, and sends them.
fn fill_send_buffer(world: &mut World, number: u64) {
    let taken = world.net.fill_send_buffer(number);
    if world.canary.is(Canary::KeptPayload) {
        taken
            .written
            .into_iter()
            .for_each(|frame| world.canary.leak_frame(frame));
    }
    if taken.pieces.is_empty() {
        return;
    }
    if let Some(conn) = world.net.conn(number) {
        let (client, event) = (conn.client(), conn.written_event());
        world.deliver_net_event(client, event);
    }
    for piece in taken.pieces {
        transmit_up(world, number, piece);
    }
}

fn transmit_up(world: &mut World, number: u64, chunk: Bytes) {
    if world.net.occurs(|plan| plan.half_open) {
        trace!(world.trace, "#{number} goes dead");
        world.coverage.fault("half-open connections");
        kill_silently(world, number);
    }
    let cut = world.net.occurs(|plan| plan.cut_up);
    let keep = if cut { world.net.cut(chunk.len()) } else { chunk.len() };
    for piece in world.net.pieces(chunk.slice(..keep)) {
        let delay = world.net.delay_us();
        let transfer = world.net.transfer_us(piece.len());
        let now = world.now_us();
        let arrival = world
            .net
            .conn_mut(number)
            .map(|c| c.arrival_up_us(now + delay, transfer));
        let Some(at) = arrival.flatten() else {
            return;
        };
        world.at_us(at, WorldEvent::Up { number, piece });
    }
    if cut {
        trace!(
            world.trace,
            "#{number} breaks within a request, {keep} of {} bytes sent",
            chunk.len()
        );
        world.coverage.fault("broken requests");
        break_connection(world, number, "Connection reset by peer");
    }
}

/// Makes a connection dead. The client's kernel and the broker close it when they give it up.
pub(crate) fn kill_silently(world: &mut World, number: u64) {
    if world.net.conn_mut(number).is_some_and(Conn::kill) {
        world.after_us(BROKER_IDLE_US, WorldEvent::UpClosed { number });
        world.after_us(GIVE_UP_US, WorldEvent::GivenUp { number });
    }
}

/// Makes a connection dead whose client's machine is gone.
fn vanish(world: &mut World, number: u64) {
    kill_silently(world, number);
    if let Some(state) = world.net.conn_mut(number) {
        state.close_client();
    }
    world.net.forget_if_over(number);
}

/// Closes the client's side of a dead connection, which its kernel has given up.
pub(crate) fn given_up(world: &mut World, number: u64) {
    if let Some(state) = world.net.conn_mut(number)
        && state.close_client()
    {
        let (client, conn) = (state.client(), state.id());
        let reason = CloseReason::Io("Connection timed out".into());
        world.deliver_net_event(client, NetEvent::Closed { conn, reason });
        world.net.forget_if_over(number);
    }
}

/// Breaks a connection: each side detects it after the bytes on their way have arrived.
pub(crate) fn break_connection(world: &mut World, number: u64, why: &'static str) {
    send_down(world, number, Downlink::Reset(why), true);
    close_up(world, number);
}

/// Ends the broker's side when everything on its way has arrived.
fn close_up(world: &mut World, number: u64) {
    let now = world.now_us();
    if let Some(at) = world.net.conn(number).and_then(|c| c.end_up_us(now)) {
        world.at_us(at, WorldEvent::UpClosed { number });
    }
}

pub(crate) fn client_closes(world: &mut World, client: usize, conn: ConnId) {
    world.net.end_attempt(client, conn);
    world.tls.cancel_connect(client, conn);
    let Some(number) = world.net.number(client, conn) else {
        return;
    };
    if world.canary.is(Canary::LeakedConnection) && number == 1 {
        return;
    }
    trace!(world.trace, "#{number} closed by c{client}");
    let renewals = world.net.conn(number).and_then(Conn::renewals);
    if renewals.is_some_and(|renewals| world.tls.replaced_by_us(client, renewals).is_some()) {
        world.coverage.count("connections replaced after renewals", 1);
    }
    let delay = world.net.delay_us();
    let now = world.now_us();
    if let Some(state) = world.net.conn_mut(number) {
        state.close_client();
        state.delay_end_up(now + delay);
    }
    close_up(world, number);
    world.net.forget_if_over(number);
}

/// Kills a client's process. Its machine resets the connections, unless it is gone as well (`silently`).
pub(crate) fn crash_client(world: &mut World, client: usize, silently: bool) {
    trace!(world.trace, "c{client} crashes, silently {silently}");
    for (number, conn) in world.net.open_of_client(client) {
        match silently {
            true => vanish(world, number),
            false => client_closes(world, client, conn),
        }
    }
    world.net.end_attempts(client);
    world.tls.remove_client(client);
    world.sasl.remove_client(client);
    let state = &mut world.clients[client];
    state.core = None;
    state.crashed = true;
    world
        .check
        .groups
        .on_unassigned(u32::try_from(client).unwrap_or(u32::MAX));
}

/// Delivers bytes to the broker's machine.
pub(crate) fn up(world: &mut World, number: u64, piece: Bytes) {
    let Some(state) = world.net.conn(number).filter(|c| !c.is_dead() && c.is_broker_open()) else {
        return;
    };
    if !world.net.is_frozen(state.broker()) {
        return broker_reads(world, number, &piece);
    }
    if let Some(state) = world.net.conn_mut(number) {
        state.hold_up(piece);
    }
}

/// Continues a frozen broker.
pub(crate) fn thaw(world: &mut World, broker: BrokerId) {
    world.net.thaw(broker);
    for number in world.net.of_broker(broker) {
        let Some(state) = world.net.conn_mut(number) else {
            continue;
        };
        let (inbox, outbox) = state.take_held();
        for down in outbox {
            send_down(world, number, down, false);
        }
        for piece in inbox {
            broker_reads(world, number, &piece);
        }
    }
}

fn broker_reads(world: &mut World, number: u64, piece: &Bytes) {
    let Some(state) = world.net.conn_mut(number).filter(|c| c.is_broker_open()) else {
        return;
    };
    let broker = state.broker();
    let frames = match state.read_up(piece) {
        Ok(frames) => frames,
        Err(what) => {
            return world
                .check
                .violate(format!("#{number}: the client sent a malformed frame: {what}"));
        }
    };
    for frame in frames {
        serve(world, number, broker, frame);
    }
    fill_send_buffer(world, number);
}

fn serve(world: &mut World, number: u64, broker: BrokerId, frame: Bytes) {
    if !world.sasl.sends_raw_token(number) {
        trace_request(world, number, &frame);
    }
    let reply = world
        .cluster
        .handle(broker, ConnectionId(number), frame.clone(), Time(world.now_us()));
    check_transaction_steps(world);
    check_joins(world);
    check_sasl_events(world);
    check_admin_requests(world);
    check_share_events(world);
    match reply {
        Reply::Now(response) => {
            send_down(world, number, Downlink::Bytes(response.into_bytes()), false);
        }
        Reply::Later | Reply::None => {}
        Reply::Close(reason) => {
            trace!(world.trace, "#{number} closed by the broker: {reason}");
            send_down(world, number, Downlink::Close, false);
            up_closed(world, number);
        }
    }
    if world.canary.take_duplicate(number, &frame) {
        let side = ConnectionId(number + (1 << 40));
        if let Some((_, _, correlation)) = api_of(&frame) {
            world.check.admin.on_repeated(number, side.0, correlation);
        }
        let _ = world.cluster.handle(broker, side, frame, Time(world.now_us()));
        check_admin_requests(world);
        world.cluster.disconnected(broker, side);
    }
}

/// Ends the broker's side of a connection.
pub(crate) fn up_closed(world: &mut World, number: u64) {
    if let Some(state) = world.net.conn_mut(number)
        && state.close_broker()
    {
        let broker = state.broker();
        world.cluster.disconnected(broker, ConnectionId(number));
        on_admin_connection_closed(world, number);
        world.net.forget_if_over(number);
    }
}

/// Sends a message that the cluster starts by itself.
pub(crate) fn outgoing(world: &mut World, out: Outgoing) {
    let number = out.connection.0;
    match out.delivery {
        Delivery::Frame(frame) => send_down(world, number, Downlink::Bytes(frame.into_bytes()), false),
        Delivery::Close(reason) => {
            trace!(world.trace, "#{number} closed by the broker: {reason}");
            send_down(world, number, Downlink::Close, false);
            up_closed(world, number);
        }
    }
}

/// Sends towards the client, in order. `at_once`: not sent by the broker's process, so a freeze does not delay it.
pub(crate) fn send_down(world: &mut World, number: u64, down: Downlink, at_once: bool) {
    let Some(state) = world.net.conn(number).filter(|c| !c.is_dead() && c.is_client_open()) else {
        return;
    };
    if !at_once && world.net.is_frozen(state.broker()) {
        if let Some(state) = world.net.conn_mut(number) {
            state.hold_down(down);
        }
        return;
    }
    match down {
        Downlink::Bytes(bytes) => {
            trace_response(world, number, &bytes);
            transmit_down(world, number, bytes);
        }
        end => {
            let delay = world.net.delay_us();
            schedule_down(world, number, end, delay, 0);
        }
    }
}

fn transmit_down(world: &mut World, number: u64, bytes: Bytes) {
    if world.net.occurs(|plan| plan.half_open) {
        trace!(world.trace, "#{number} goes dead");
        world.coverage.fault("half-open connections");
        return kill_silently(world, number);
    }
    if world.net.occurs(|plan| plan.lost) {
        trace!(world.trace, "#{number} loses a response");
        world.coverage.fault("lost responses");
        corrupt(world, number);
        return;
    }
    // A token without a header has no number by which the client could detect the repetition.
    let may_repeat = !world.sasl.sends_raw_token(number);
    if may_repeat && world.net.occurs(|plan| plan.repeated) {
        trace!(world.trace, "#{number} brings a response twice");
        world.coverage.fault("repeated responses");
        corrupt(world, number);
        let delay = world.net.delay_us();
        schedule_down(world, number, Downlink::Bytes(bytes.clone()), delay, 0);
    }
    let cut = world.net.occurs(|plan| plan.cut_down);
    let keep = if cut { world.net.cut(bytes.len()) } else { bytes.len() };
    for piece in world.net.pieces(bytes.slice(..keep)) {
        let delay = world.net.delay_us();
        let transfer = world.net.transfer_us(piece.len());
        schedule_down(world, number, Downlink::Bytes(piece), delay, transfer);
    }
    if cut {
        trace!(
            world.trace,
            "#{number} breaks within a response, {keep} of {} bytes sent",
            bytes.len()
        );
        world.coverage.fault("broken responses");
        break_connection(world, number, "Connection reset by peer");
    }
}

fn corrupt(world: &mut World, number: u64) {
    if let Some(state) = world.net.conn_mut(number) {
        state.corrupt();
    }
}

fn schedule_down(world: &mut World, number: u64, down: Downlink, delay: u64, transfer: u64) {
    let now = world.now_us();
    if let Some(state) = world.net.conn_mut(number) {
        let at = state.arrival_down_us(now + delay, transfer);
        world.at_us(at, WorldEvent::Down { number, down });
    }
}

/// Handles an arrival at the client.
pub(crate) fn deliver_down(world: &mut World, number: u64, down: Downlink) {
    let Some(state) = world
        .net
        .conn_mut(number)
        .filter(|c| !c.is_dead() && c.is_client_open())
    else {
        return;
    };
    let half_closed = matches!(down, Downlink::Close) && state.is_broker_open();
    let (client, conn, corrupted) = (state.client(), state.id(), state.is_corrupted());
    let reason = match down {
        Downlink::Bytes(bytes) => match state.read_down(&bytes) {
            Ok(frames) => {
                for body in frames {
                    observe_produce_response(world, client, conn, &body, corrupted);
                    observe_share_response(world, client, conn, &body);
                    let body = observe_response(world, client, conn, body);
                    world.deliver_net_event(client, NetEvent::Received { conn, body });
                }
                return;
            }
            Err(what) => CloseReason::NotKafka(what),
        },
        Downlink::Secured => {
            state.secure();
            world.coverage.count("TLS handshakes", 1);
            let session = TlsSession::default();
            return world.deliver_net_event(client, NetEvent::Secured { conn, session });
        }
        Downlink::TlsFailed(failure) => CloseReason::Tls(failure),
        Downlink::Close if state.is_in_handshake() => CloseReason::Tls(TlsFailure::NotTls),
        Downlink::Close => state.end_down(),
        Downlink::Reset(why) => CloseReason::Io(why.into()),
    };
    trace!(world.trace, "#{number} c{client} sees {reason:?}");
    if let Some(state) = world.net.conn_mut(number) {
        state.close_client();
    }
    match half_closed {
        // The broker still reads bytes that the client wrote before.
        true => close_up(world, number),
        false => up_closed(world, number),
    }
    on_share_connection_lost(world, client, conn);
    world.deliver_net_event(client, NetEvent::Closed { conn, reason });
    world.net.forget_if_over(number);
}
