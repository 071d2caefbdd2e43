//! Seeds of worlds that once failed.

/// Seeds that once failed, each with the situation and its wrong result. Where an entry names the checker, the defect was
/// in the simulator's checks. The world of a seed changes when plans draw something new: unit tests cover the
/// defects, these seeds the combinations around them.
///
/// "Loop" is a read-process-write loop of `ottla_processor`, "worker" a client that writes transactions.
pub const REGRESSIONS: &[(u64, &str)] = &[
    (
        11,
        "a request timed out on an idle connection: the connection's timer fired without end",
    ),
    (
        33,
        "a broker appended a batch and then lost its leadership: the client reported the records as not persisted",
    ),
    (
        36,
        "a request timed out where socket.max.fails keeps the connection: it counted as in flight for ever",
    ),
    (
        37,
        "after a rebootstrap the producer and consumer were not notified of the leaders' addresses",
    ),
    (
        116,
        "brokers supported Metadata before version 4 only: the client could not request a topic without creating it",
    ),
    (
        501,
        "a batch that expired in flight returned to its queue empty: the batches behind it did not expire",
    ),
    (
        14,
        "a partition's error was discarded together with stale records: it was never reported again",
    ),
    (
        297,
        "a fetch started at the end of an aborted transaction: the producer's next transaction was filtered as \
         aborted",
    ),
    (
        2073,
        "the response to a transaction's offsets arrived after the transaction had failed: it completed the abort",
    ),
    (
        61864,
        "after an out-of-range error the client took a topic id of old metadata for the new topic's: the correct \
         id then counted as another deletion",
    ),
    (
        100288,
        "a leader lost records: the mock cluster counted followers' copies of them as copies of other records at \
         the same offsets",
    ),
    (
        704310,
        "a group leader learned of new partitions between SyncGroup and its response: they stayed unassigned",
    ),
    (
        101659,
        "a connection hung: with socket.max.fails=0 the client never closed it",
    ),
    (
        1001869,
        "the simulated network passed on single bytes, each as soon as its send buffer had room for it",
    ),
    (118, "a commit was retried: it overwrote a later one"),
    (
        474,
        "a commit outlived its generation: it was sent in the next one, for a partition that another member owned \
         by then",
    ),
    (
        1866,
        "an application's reply to an assignment was taken for the release of the next assignment",
    ),
    (
        901366,
        "a fenced member subscribed again: in its new generation it committed offsets of partitions that it had \
         lost",
    ),
    (
        20004412,
        "no broker had a batch: it was retried without end under sequence numbers that every broker rejects",
    ),
    (
        20008784,
        "offset requests had the leader epoch of a deleted topic of the same name: the client did not refresh its \
         metadata",
    ),
    (
        30011293,
        "a late metadata response removed a partition's leader: the client did not request the next leader",
    ),
    (
        40011678,
        "the committed offset of a deleted topic was the end of the next topic of that name: the checker waited \
         for a member",
    ),
    (
        95002747,
        "three brokers sent a batch each beyond a consumer's budget at the same time: the checker allowed one \
         batch",
    ),
    (
        1279,
        "a message was produced during a flush: the client's thread was not woken, and the message waited for \
         linger.ms",
    ),
    (
        52000078,
        "after a group's upgrade to the consumer protocol the mock cluster computed no assignment, and neither had \
         the classic leader",
    ),
    (
        52000666,
        "a member unsubscribed and subscribed again before its coordinator noticed: it started at a different log \
         end",
    ),
    (
        700002359,
        "a reader sought to an offset that an unclean election had truncated: it reset its position",
    ),
    (
        910000552,
        "a batch with many headers was held as the only one beyond a budget: it was larger than estimated",
    ),
    (
        910000623,
        "a topic was recreated on brokers without topic ids: it was taken for a topic with a truncated log",
    ),
    (
        911000920,
        "a request that timed out before it was written was reported as unwritten: its connection stayed open and \
         sent it later",
    ),
    (
        1186,
        "a response with all topics was superseded and not requested again: a pattern subscription never matched \
         the next topic",
    ),
    (
        1634,
        "a member that should have stayed lost its session on a connection that never opened: others received its \
         partitions",
    ),
    (
        912008626,
        "with socket.max.fails=0 a member waited until its kernel closed a dead connection",
    ),
    (
        913001978,
        "a heartbeat failed while a member released all partitions: it joined again before its application had \
         released them",
    ),
    (
        913002650,
        "brokers requested a rebootstrap twice: the client did not request all topics afterwards",
    ),
    (
        914007590,
        "an application could not commit during a rebalance: it forgot the offsets",
    ),
    (
        915008560,
        "partitions of a topic and of its deleted predecessor were requested under one topic id: the broker's \
         fetch session kept them for ever",
    ),
    (
        915005109,
        "after a leader change a partition was twice in a Produce request: one of the two batches never expired",
    ),
    (
        203536,
        "a broker appended a batch long after the client had given it up, and after the producer's state had \
         expired: the checker reported it as out of order",
    ),
    (
        203320,
        "a log lost all records that a reader had not read: the checker waited for the reader",
    ),
    (
        203524,
        "a log's start moved beyond a truncation: a reader continued at the start, and the checker expected its \
         old position",
    ),
    (
        930003666,
        "a coordinator returned to the classic protocol while a member waited for others: the member never \
         received its assignment",
    ),
    (
        930005306,
        "a member received a partition and, before it knew the topic, an empty assignment: it counted as the owner",
    ),
    (
        500004361,
        "a loop that its group had removed sent offsets without a member id: they were committed although the \
         partition had a new owner",
    ),
    (
        960008385,
        "after an out-of-range error, records read before the topic id was known again were those of a topic \
         deleted meanwhile",
    ),
    (
        960012370,
        "the committed offset of a deleted topic was beyond the end of the next topic of that name: the checker \
         waited for a member",
    ),
    (
        1795238477606,
        "a rebalance for new partitions of a topic was taken for a takeover: the takeover never ended",
    ),
    (
        710031641,
        "with transaction version 1, offsets that had timed out arrived in a later transaction: they replaced that \
         transaction's offsets",
    ),
    (
        820004489,
        "an at-least-once loop had lost its assignment: it retried its commit for ever",
    ),
    (
        990000057,
        "the world ended before an at-least-once loop had committed the records that it had read",
    ),
    (
        990006025,
        "a stopping loop did not reply to a revocation: its consumer waited for the reply",
    ),
    (
        1200011801,
        "a leader's address arrived with a leader hint for another topic: a consumer that waited for it was not \
         notified",
    ),
    (
        1300020585,
        "the coordinator forgot the producer ids of a worker and its replacement: the old worker got a new id and \
         continued with stale state",
    ),
    (
        1600005113,
        "a coordinator replaced an expired producer id but reported a timeout: it fenced the loop that repeated \
         the request",
    ),
    (
        1600052153,
        "after an old response a removed member considered itself current: it overwrote the commits of the \
         partition's new owner",
    ),
    (
        1750000050,
        "a static member kept its dead connection to the coordinator: it retried for ever, and could not leave the \
         group",
    ),
    (
        618,
        "a commit was retried after its group had changed to the consumer protocol and assigned the partition to \
         another member",
    ),
    (
        980001986,
        "a log was truncated where leader epochs in metadata are unreliable: the checker expected a reader to \
         detect it",
    ),
    (
        980003582,
        "responses to no request were in the statistics' totals, but in no broker's counters after their \
         connections had closed",
    ),
    (
        1000017658,
        "an application received late the log end at which its reader had started: the log was truncated below it \
         meanwhile",
    ),
    (
        960028282,
        "a member subscribed by its pattern again without a request for all topics: it accepted its assignment \
         only when it learned of them",
    ),
    (
        1700002649,
        "InitProducerId waited on a throttled connection: another producer was fenced when it was served, not when it \
         arrived",
    ),
    (
        1600027641,
        "the world ended while a loop waited on a dead connection with records to write: readers did not receive \
         them",
    ),
    (
        1600034441,
        "the world ended while a loop waited on a dead connection with a transaction to abort",
    ),
    (
        1800104697,
        "an at-least-once loop could not commit before a revocation: its application got no rollback callback",
    ),
    (
        1900009166,
        "a consumer returned to a truncation: its lower commit overtook the one before, and the checker expected \
         that one",
    ),
    (
        2200008931,
        "an application made a call at the moment at which its client was terminated",
    ),
    (
        2600007786,
        "a commit that its member had given up was served late, after the one that followed it",
    ),
    (
        3240016626,
        "a commit of a closed connection was served after a later commit: the checker reported the close as the \
         cause",
    ),
    (
        3240040644,
        "a reader of a recreated topic, for which the checker does not wait, was still reading in the quiet phase",
    ),
    (
        3240156578,
        "a JoinGroup request was served 15 s after its client had given it up and created a member: the checker \
         reported the close as the cause",
    ),
    (
        98560678498,
        "a member lost its session, and was a member again by a join that it had given up 30 s before: the checker \
         expected it to know",
    ),
    (
        5241008770,
        "brokers reported a log's end without its leader epoch: the checker expected a reader there to detect a \
         truncation",
    ),
    (
        5241017438,
        "a member owned partitions of a topic that was recreated with fewer: the checker expected it to keep them \
         when another left",
    ),
    (
        77120018169,
        "a loop replaced the producer that a rival had fenced, and ended when its own late request fenced the \
         replacement: the checker considered rivals of the last producer only",
    ),
    (
        6240104193,
        "a record behind a truncation was delivered from a topic that had just been deleted: the checker rejected \
         the reset for the new topic",
    ),
    (
        6240105244,
        "a topic was recreated without an id, and an injected error reported a batch as out of order: the batch \
         that followed was accepted",
    ),
    (
        6240134830,
        "FindCoordinator was sent on a connection that had broken unnoticed: the checker expected the close within \
         10 s",
    ),
    (
        7240100558,
        "an application received a truncation error and went to the partition's beginning: the checker rejected \
         its lower commit",
    ),
    (
        7240102130,
        "the connection to each broker was dead, and new ones to the same addresses were not used: the group \
         leader assigned nothing",
    ),
    (
        9240100908,
        "partitions that waited for a topic id behind a long poll each woke the client every retry.backoff.ms",
    ),
    (
        393,
        "a token ended before the client had another: requests were sent on its connections after their sessions' ends",
    ),
    (
        8900,
        "the broker's tokens without headers counted as responses in statistics, and the client's not as requests",
    ),
    (
        18026,
        "a token limited a session of whose end SaslAuthenticate version 0 does not inform: the checker expected the member \
         to leave its group",
    ),
    (
        12501,
        "the response to SaslHandshake version 0 was repeated and taken for the broker's token: the checker took requests \
         for tokens",
    ),
    (
        9640105818,
        "a member added partitions whose topic name became known while the response to its heartbeat without them was \
         delayed: the coordinator had assigned them to another member",
    ),
    (
        5399,
        "a coordinator had another address: an admin call repeated the look-up and connected to the old one until its \
         deadline",
    ),
    (
        5428,
        "a leader had another address: an admin call repeated the look-up and connected to the old one until its deadline",
    ),
    (
        9321,
        "brokers could not list all offsets of a group: an admin call failed as if its arguments were invalid",
    ),
    (
        12190,
        "a request of an admin call may have been executed: the error of the call was that of a request that was not",
    ),
    (
        3392351,
        "after a rebootstrap the look-up of an admin call named a leader first: the consumer was not notified of its address",
    ),
    (
        9950104753,
        "brokers: a gap was closed before as many records as allowed in flight, all of them done: the start offset of a \
         share partition did not move",
    ),
    (
        5459,
        "brokers: a refused ShareFetch neither opened nor advanced the session, and answered with errors of partitions: the \
         client went on with a session of other partitions",
    ),
    (
        4373,
        "an acknowledgement that waited while its lock ran out was applied to the next acquisition, which the application \
         had not seen",
    ),
    (
        10599,
        "records in a late response of a former leader were delivered, although their acknowledgements could only fail",
    ),
    (
        16803,
        "two acknowledgements of one type, of which the leader has one: the checker compared the result of the other",
    ),
    (
        9960103040,
        "each end of an idle connection postponed the next share session: a member never fetched again",
    ),
    (
        9970107304,
        "a refusal of one of two renewals: the checker took it for that of the acceptance that followed",
    ),
];
