//! Seeds of worlds that once failed.

/// Seeds that once failed, each with the defect that it showed. The world of a seed changes when plans draw something
/// new: unit tests cover the defects, these seeds the combinations around them.
pub const REGRESSIONS: &[(u64, &str)] = &[
    (
        11,
        "an idle connection with a timed-out request in it fired its timer for ever",
    ),
    (
        33,
        "a leader that lost its office had appended, and the records were called not persisted",
    ),
    (
        36,
        "a timed-out request counted as in flight for ever where socket.max.fails keeps the connection",
    ),
    (
        37,
        "after beginning again with the bootstrap brokers, nobody told the managers of the leaders' addresses",
    ),
    (
        116,
        "metadata could not be asked for in versions before 4 without creating topics",
    ),
    (
        501,
        "a batch that expired in flight was put back empty and hid the ages of those behind it",
    ),
    (
        14,
        "an error of a partition was dropped with stale records, and never told again",
    ),
    (
        297,
        "a fetch that began at the end of an aborted transaction took the producer's next one for aborted",
    ),
    (
        2073,
        "offsets that were answered after their transaction had failed ended the abort",
    ),
    (
        61864,
        "after out of range, an id from old metadata was taken for the topic's, and the right one for another deletion",
    ),
    (
        100288,
        "the mock cluster counted copies of records that a leader had lost, for others at their offsets",
    ),
    (
        704310,
        "a leader of a group forgot partitions that it learned of while others were being divided",
    ),
    (101659, "a connection hung for ever, and socket.max.fails=0 kept it"),
    (
        1001869,
        "the network passed on single bytes as its buffers got room for them",
    ),
    (118, "a commit that was tried again undid a later one"),
    (
        474,
        "a commit that outlived its generation was made in the next, for a partition that was another member's by then",
    ),
    (
        1866,
        "an application's answer to an assignment was taken for giving up the next one",
    ),
    (
        901366,
        "a fenced member that subscribed again committed what it had lost, in its new generation",
    ),
    (
        20004412,
        "a batch that nobody had was sent again for ever under numbers that no broker takes",
    ),
    (
        20008784,
        "look-ups kept telling an epoch of the topic that was there before, and nobody asked for metadata",
    ),
    (
        30011293,
        "a late answer to a metadata request took a leader away, and nobody asked for the next",
    ),
    (
        40011678,
        "what was committed for a deleted topic was where the next one of its name ended, and a member was waited for",
    ),
    (
        95002747,
        "three brokers that were asked at once brought a batch each beyond a consumer's budget, one was expected",
    ),
    (
        1279,
        "a message produced during a flush waited for linger to end: nobody woke the client's thread for it",
    ),
    (
        52000078,
        "the mock cluster divided nothing anew after an upgrade, though the classic leader had not either",
    ),
    (
        52000666,
        "a member that unsubscribed and subscribed before its coordinator heard of it began at another end",
    ),
    (
        700002359,
        "a reader that sought to what an unclean election had cut off began anew",
    ),
    (
        910000552,
        "a batch with many headers was held alone, and was larger than it was thought to be",
    ),
    (
        910000623,
        "without topic ids a topic that was made anew was taken for one whose log was cut",
    ),
    (
        911000920,
        "a request that timed out before it was written was called unwritten, and went out later on a connection that stayed",
    ),
    (
        1186,
        "an answer about all topics that was overtaken was the last one, and a pattern never met the next topic",
    ),
    (
        1634,
        "a member that stayed lost its session on a connection that never opened, and others had what it had",
    ),
    (
        912008626,
        "with socket.max.fails=0 a member waited for its kernel to give up a dead connection",
    ),
    (
        913001978,
        "a member that was giving everything up joined before its application had, after an error of a heartbeat",
    ),
    (
        913002650,
        "brokers asked twice to begin again, and nobody asked for all topics after that",
    ),
    (
        914007590,
        "an application forgot what it could not commit while its group rebalanced",
    ),
    (
        915008560,
        "partitions of a topic and of the one before it were asked for under one id, and never forgotten by the broker",
    ),
    (
        915005109,
        "a partition was twice in a request after its leader had moved, and one of the batches never ran out of time",
    ),
    (
        203536,
        "what a broker took long after it was given up, and after it had forgotten the producer, was called out of order",
    ),
    (
        203320,
        "a reader was waited for where its log had lost all that it had not read",
    ),
    (
        203524,
        "a reader went on where its log begins, behind where it was cut, and was expected at its old place",
    ),
    (
        930003666,
        "a member that waited for others was not told of its assignment by a coordinator that turned back to the classic protocol",
    ),
    (
        930005306,
        "a member was told of a partition and, before it had learned of the topic, of none, and was taken to have it",
    ),
    (
        500004361,
        "a loop that its group had put out sent offsets without a name, and committed beside the partition's new owner",
    ),
    (
        960008385,
        "after out of range, what was read before the topic's id was known again was of one that was deleted meanwhile",
    ),
    (
        960012370,
        "what was committed for a deleted topic lay beyond the end of the next one, and a member was waited for",
    ),
    (
        1795238477606,
        "a rebalance for a topic that had grown was taken for a takeover that never ended",
    ),
    (
        710031641,
        "offsets that had timed out arrived in a later transaction of the first generation, and took its place",
    ),
    (
        820004489,
        "a loop that works at least once had lost its assignment, and committed in vain for ever",
    ),
    (
        990000057,
        "the world ended before a loop that works at least once had committed what it had read",
    ),
    (
        990006025,
        "a loop that was to give partitions up as it ended never answered, and its consumer waited in vain",
    ),
    (
        1200011801,
        "a leader's address came with a hint for another topic, and who had waited for it heard nothing",
    ),
    (
        1300020585,
        "a worker that another had replaced got another id when both were forgotten, and went on from its memory",
    ),
    (
        1600005113,
        "a coordinator gave an id that it had forgotten, called that timed out, and fenced the loop that asked again",
    ),
    (
        1600052153,
        "an old answer made a member believe in its place, and it took back what the partition's new owner had committed",
    ),
    (
        1750000050,
        "a static member kept its dead connection to the coordinator, asked in vain for ever, and could not leave",
    ),
    (
        618,
        "a commit was tried again after its group had turned to the consumer protocol and given the partition to another",
    ),
    (
        980001986,
        "a log was cut where brokers' epochs in metadata are not relied on, and a reader was expected to notice",
    ),
    (
        980003582,
        "responses to no request were counted in the totals, and not among brokers, whose connections were gone",
    ),
    (
        1000017658,
        "an application was told late of the end that its reader had begun at, below which the log was cut meanwhile",
    ),
    (
        960028282,
        "a member subscribed by its pattern again, did not ask for topics, and took its assignment only when it heard of them",
    ),
    (
        1700002649,
        "an id was asked for on a connection that was throttled, and given to a producer that had another one fenced by then",
    ),
    (
        1600027641,
        "the world ended while a loop waited for a dead connection with records to write, which readers were to see",
    ),
    (
        1600034441,
        "the world ended while a loop waited for a dead connection with a transaction to abort",
    ),
    (
        1800104697,
        "a loop that works at least once could not commit what it was to give up, and its application was not told",
    ),
    (
        1900009166,
        "a commit was overtaken by a lower one, of who had come back to where the log was cut",
    ),
    (
        2200008931,
        "an application asked for something as its client was told to end",
    ),
    (
        2600007786,
        "a commit that its member had given up was served late, behind the one that followed it",
    ),
    (
        3240016626,
        "a commit that its client had given up with its connection came after a later one, which closing was blamed for",
    ),
    (
        3240040644,
        "a reader that nobody waited for, its topic made anew, was still reading when all was to be quiet",
    ),
    (
        3240156578,
        "a request to join came 15 s after its client had given it up and made a member, which closing was blamed for",
    ),
    (
        98560678498,
        "a member lost its session, was a member again by a join that it had given up 30 s before, and was expected to know",
    ),
    (
        5241008770,
        "brokers told the end of a log without its epoch, and who had found it was to notice that it was cut off",
    ),
    (
        5241017438,
        "a member had partitions of a topic that had been made anew with fewer, and was to keep them when another left",
    ),
    (
        77120018169,
        "a loop replaced the producer that a rival had fenced, ended when its own late request fenced the next one, and only \
         the last producer's rivals counted",
    ),
    (
        6240104193,
        "a record of a topic that had just been deleted was taken from behind a cut, and the reset for the new topic was blamed",
    ),
    (
        6240105244,
        "a topic was made anew without an id, a made-up error called a batch out of order, and its successor was accepted",
    ),
    (
        6240134830,
        "the coordinator was looked for on a connection that had broken unnoticed, and closing within 10 s was blamed for it",
    ),
    (
        7240100558,
        "an application that was told of a truncated log went to the partition's beginning, and its lower commit was blamed",
    ),
    (
        7240102130,
        "a connection to each broker was dead, new ones to the same addresses were not asked, and the leader assigned nothing",
    ),
    (
        9240100908,
        "partitions that waited for a topic id behind a long poll each woke the client every retry.backoff.ms",
    ),
];
