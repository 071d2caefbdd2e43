import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.AddRaftVoterOptions;
import org.apache.kafka.clients.admin.CreateDelegationTokenOptions;
import org.apache.kafka.clients.admin.DescribeClassicGroupsOptions;
import org.apache.kafka.clients.admin.DescribeDelegationTokenOptions;
import org.apache.kafka.clients.admin.DescribeShareGroupsOptions;
import org.apache.kafka.clients.admin.ExpireDelegationTokenOptions;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.RaftVoterEndpoint;
import org.apache.kafka.clients.admin.RenewDelegationTokenOptions;
import org.apache.kafka.clients.admin.StreamsGroupDescription;
import org.apache.kafka.clients.admin.StreamsGroupMemberAssignment;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.token.delegation.DelegationToken;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.utils.Exit;

/**
 * Calls of AdminCheck on log directories, features, voters, delegation tokens, and classic, share and streams groups; members
 * of share and streams groups; and Kafka's command-line tools in this process.
 */
class AdminFurther {
    private final AdminCheck check;
    private final Map<String, ShareMember> shareMembers = new HashMap<>();
    private final Map<String, StreamsMember> streamsMembers = new HashMap<>();

    AdminFurther(AdminCheck check) {
        this.check = check;
    }

    List<Object> call(String operation) throws Exception {
        return switch (operation) {
            case "AlterReplicaLogDirs" -> alterReplicaLogDirs();
            case "UpdateFeatures" -> updateFeatures();
            case "AddRaftVoter" -> addVoter();
            case "RemoveRaftVoter" -> removeVoter();
            case "UnregisterBroker" -> nothing(
                    check.admin.unregisterBroker(Integer.parseInt(check.arguments.get(0))).all().get());
            case "CreateDelegationToken" -> createToken();
            case "RenewDelegationToken" -> renewToken();
            case "ExpireDelegationToken" -> expireToken();
            case "DescribeDelegationToken" -> describeTokens();
            case "DescribeClassicGroups" -> describeClassicGroups();
            case "DescribeShareGroups" -> describeShareGroups();
            case "ListShareGroupOffsets" -> listShareGroupOffsets();
            case "AlterShareGroupOffsets" -> alterShareGroupOffsets();
            case "DeleteShareGroupOffsets" -> deleteShareGroupOffsets();
            case "DeleteShareGroups" -> AdminCheck.each(
                    check.admin.deleteShareGroups(check.arguments).deletedGroups(), AdminCheck::group);
            case "DescribeStreamsGroups" -> AdminCheck.each(check.admin.describeStreamsGroups(check.arguments)
                    .describedGroups(), group -> AdminCheck.row("group", group), AdminFurther::streams);
            case "JoinShareGroup" -> joinShareGroup();
            case "LeaveShareGroup" -> leaveShareGroup();
            case "JoinStreamsGroup" -> joinStreamsGroup();
            case "LeaveStreamsGroup" -> leaveStreamsGroup();
            case "Tool" -> tool();
            default -> throw new IllegalArgumentException(operation);
        };
    }

    private static List<Object> nothing(Object ignored) {
        return List.of();
    }

    // ---- the cluster

    /** Arguments: BROKER|TOPIC|PARTITION|PATH. */
    private List<Object> alterReplicaLogDirs() throws Exception {
        Map<TopicPartitionReplica, String> wanted = new LinkedHashMap<>();
        for (String argument : check.arguments) {
            String[] parts = argument.split("\\|");
            wanted.put(new TopicPartitionReplica(parts[1], Integer.parseInt(parts[2]), Integer.parseInt(parts[0])), parts[3]);
        }
        return AdminCheck.each(check.admin.alterReplicaLogDirs(wanted).values(),
                r -> AdminCheck.row("broker", r.brokerId(), "topic", r.topic(), "partition", r.partition()));
    }

    /** Arguments: FEATURE|LEVEL|TYPE. */
    private List<Object> updateFeatures() throws Exception {
        Map<String, FeatureUpdate> wanted = new LinkedHashMap<>();
        for (String argument : check.arguments) {
            String[] parts = argument.split("\\|");
            wanted.put(parts[0], new FeatureUpdate(Short.parseShort(parts[1]),
                    FeatureUpdate.UpgradeType.fromCode(Integer.parseInt(parts[2]))));
        }
        return AdminCheck.each(check.admin.updateFeatures(wanted,
                new UpdateFeaturesOptions().validateOnly(check.isSet("validate"))).values(), f -> AdminCheck.row("feature", f));
    }

    private String[] voter() {
        return check.arguments.get(0).split("\\|");
    }

    /** Argument: ID|MOST|LEAST|LISTENER|HOST|PORT, with the two halves of the directory's id. */
    private List<Object> addVoter() throws Exception {
        String[] parts = voter();
        return nothing(check.admin.addRaftVoter(Integer.parseInt(parts[0]),
                new Uuid(Long.parseLong(parts[1]), Long.parseLong(parts[2])),
                Set.of(new RaftVoterEndpoint(parts[3], parts[4], Integer.parseInt(parts[5]))),
                new AddRaftVoterOptions()).all().get());
    }

    /** Argument: ID|MOST|LEAST. */
    private List<Object> removeVoter() throws Exception {
        String[] parts = voter();
        return nothing(check.admin.removeRaftVoter(Integer.parseInt(parts[0]),
                new Uuid(Long.parseLong(parts[1]), Long.parseLong(parts[2]))).all().get());
    }

    // ---- delegation tokens

    private static KafkaPrincipal user(String name) {
        return new KafkaPrincipal(KafkaPrincipal.USER_TYPE, name);
    }

    private static Map<String, Object> token(DelegationToken token) {
        var info = token.tokenInfo();
        return AdminCheck.row("id", info.tokenId(), "owner", info.ownerAsString(), "requester", info.tokenRequesterAsString(),
                "renewers", info.renewersAsString().stream().sorted().toList(), "issue", info.issueTimestamp(), "expiry",
                info.expiryTimestamp(), "max", info.maxTimestamp(), "hmac", HexFormat.of().formatHex(token.hmac()));
    }

    /** Argument: LONGEST LIFETIME|OWNER|RENEWER,RENEWER. */
    private List<Object> createToken() throws Exception {
        String[] parts = check.arguments.get(0).split("\\|", -1);
        var options = new CreateDelegationTokenOptions().maxLifetimeMs(Long.parseLong(parts[0]));
        if (!parts[1].isEmpty()) {
            options.owner(user(parts[1]));
        }
        options.renewers(Arrays.stream(parts[2].split(",")).filter(n -> !n.isEmpty()).map(AdminFurther::user).toList());
        return List.of(token(check.admin.createDelegationToken(options).delegationToken().get()));
    }

    /** Argument of this one and the next: HMAC|PERIOD. */
    private List<Object> renewToken() throws Exception {
        String[] parts = check.arguments.get(0).split("\\|");
        var options = new RenewDelegationTokenOptions().renewTimePeriodMs(Long.parseLong(parts[1]));
        return List.of(AdminCheck.row("expiry",
                check.admin.renewDelegationToken(HexFormat.of().parseHex(parts[0]), options).expiryTimestamp().get()));
    }

    private List<Object> expireToken() throws Exception {
        String[] parts = check.arguments.get(0).split("\\|");
        var options = new ExpireDelegationTokenOptions().expiryTimePeriodMs(Long.parseLong(parts[1]));
        return List.of(AdminCheck.row("expiry",
                check.admin.expireDelegationToken(HexFormat.of().parseHex(parts[0]), options).expiryTimestamp().get()));
    }

    /** Arguments: owners; none are all. */
    private List<Object> describeTokens() throws Exception {
        var options = new DescribeDelegationTokenOptions().owners(
                check.arguments.isEmpty() ? null : check.arguments.stream().map(AdminFurther::user).toList());
        return AdminCheck.rows(check.admin.describeDelegationToken(options).delegationTokens().get(), AdminFurther::token);
    }

    // ---- classic and share groups

    private static List<Object> pairs(Collection<TopicPartition> partitions) {
        List<Object> found = new ArrayList<>();
        partitions.forEach(p -> found.add(List.of(p.topic(), p.partition())));
        return found;
    }

    private List<Object> describeClassicGroups() throws Exception {
        var with = new DescribeClassicGroupsOptions().includeAuthorizedOperations(check.isSet("authorized"));
        return AdminCheck.each(check.admin.describeClassicGroups(check.arguments, with).describedGroups(),
                group -> AdminCheck.row("group", group), g -> AdminCheck.row("protocol", g.protocol(), "data",
                        g.protocolData(), "simple", AdminCheck.flag(g.isSimpleConsumerGroup()), "state", g.state().toString(),
                        "coordinator", g.coordinator().id(), "members", AdminCheck.rows(g.members(), AdminCheck::member),
                        "operations", AdminCheck.operations(g.authorizedOperations())));
    }

    private List<Object> describeShareGroups() throws Exception {
        var with = new DescribeShareGroupsOptions().includeAuthorizedOperations(check.isSet("authorized"));
        return AdminCheck.each(check.admin.describeShareGroups(check.arguments, with).describedGroups(),
                group -> AdminCheck.row("group", group), g -> AdminCheck.row("state", g.groupState().toString(), "epoch",
                        g.groupEpoch(), "target", g.targetAssignmentEpoch(), "coordinator", g.coordinator().id(), "members",
                        AdminCheck.rows(g.members(), m -> AdminCheck.row("id", m.consumerId(), "epoch", m.memberEpoch(),
                                "rack", m.rackId().orElse(null), "client", m.clientId(), "host", m.host(), "assignment",
                                pairs(m.assignment().topicPartitions()))),
                        "operations", AdminCheck.operations(g.authorizedOperations())));
    }

    private List<Object> listShareGroupOffsets() throws Exception {
        Map<String, ListShareGroupOffsetsSpec> wanted = new LinkedHashMap<>();
        check.groupOffsets().forEach((group, offsets) -> wanted.put(group, new ListShareGroupOffsetsSpec()
                .topicPartitions(offsets.isEmpty() ? null : offsets.keySet())));
        var result = check.admin.listShareGroupOffsets(wanted);
        List<Object> rows = new ArrayList<>();
        for (String group : wanted.keySet()) {
            rows.add(AdminCheck.outcome(AdminCheck.row("group", group), result.partitionsToOffsetInfo(group), found -> {
                List<Object> partitions = new ArrayList<>();
                found.forEach((each, offset) -> {
                    Map<String, Object> row = AdminCheck.partition(each);
                    row.put("offset", offset == null ? -1001 : offset.startOffset());
                    row.put("epoch", offset == null ? -1 : offset.leaderEpoch().orElse(-1));
                    row.put("lag", offset == null ? -1 : offset.lag().orElse(-1L));
                    row.put("code", 0);
                    partitions.add(row);
                });
                return AdminCheck.row("partitions", partitions);
            }));
        }
        return rows;
    }

    private List<Object> alterShareGroupOffsets() throws Exception {
        List<Object> rows = new ArrayList<>();
        for (var entry : check.groupOffsets().entrySet()) {
            Map<TopicPartition, Long> offsets = new LinkedHashMap<>();
            entry.getValue().forEach((each, offset) -> offsets.put(each, offset.offset()));
            var result = check.admin.alterShareGroupOffsets(entry.getKey(), offsets);
            List<Object> partitions = new ArrayList<>();
            for (TopicPartition each : offsets.keySet()) {
                partitions.add(AdminCheck.outcome(AdminCheck.partition(each), result.partitionResult(each),
                        nothing -> Map.of()));
            }
            rows.add(AdminCheck.row("group", entry.getKey(), "code", 0, "text", null, "partitions", partitions));
        }
        return rows;
    }

    /** Arguments: GROUP|TOPIC... */
    private List<Object> deleteShareGroupOffsets() throws Exception {
        List<Object> rows = new ArrayList<>();
        for (String argument : check.arguments) {
            List<String> parts = List.of(argument.split("\\|"));
            Set<String> topics = new TreeSet<>(parts.subList(1, parts.size()));
            var result = check.admin.deleteShareGroupOffsets(parts.get(0), topics);
            List<Object> found = new ArrayList<>();
            for (String topic : topics) {
                found.add(AdminCheck.outcome(AdminCheck.row("topic", topic), result.topicResult(topic), nothing -> Map.of()));
            }
            rows.add(AdminCheck.row("group", parts.get(0), "code", 0, "text", null, "topics", found));
        }
        return rows;
    }

    /** A member of a share group, and the number of records that it has received. */
    private static class ShareMember implements AutoCloseable {
        final KafkaShareConsumer<String, String> consumer;
        int count;

        ShareMember(Map<String, Object> properties, String topic) {
            consumer = new KafkaShareConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
            consumer.subscribe(List.of(topic));
        }

        /** Receives records, which acknowledges the previous ones. */
        void poll() {
            count += consumer.poll(Duration.ofMillis(100)).count();
        }

        @Override
        public void close() {
            consumer.close();
        }
    }

    /**
     * Creates a share group, the first argument, by a member that subscribes to the second. With the option stay the member
     * remains until LeaveShareGroup.
     */
    private List<Object> joinShareGroup() throws Exception {
        String group = check.arguments.get(0);
        Map<String, Object> own = new HashMap<>(check.properties);
        own.put("group.id", group);
        ShareMember member = new ShareMember(own, check.arguments.get(1));
        shareMembers.put(group, member);
        for (Deadline end = new Deadline("the assignment"); !isAssigned(group); end.check()) {
            member.poll();
        }
        if (!check.isSet("stay")) {
            shareMembers.remove(group).close();
        }
        return List.of();
    }

    private boolean isAssigned(String group) {
        try {
            return check.admin.describeShareGroups(List.of(group)).all().get().get(group).members().stream()
                    .anyMatch(m -> !m.assignment().topicPartitions().isEmpty());
        } catch (Exception e) {
            return false;
        }
    }

    /** Leaves a share group, the first argument, once its member has received as many records as the second. */
    private List<Object> leaveShareGroup() throws Exception {
        int wanted = Integer.parseInt(check.arguments.get(1));
        try (ShareMember member = shareMembers.remove(check.arguments.get(0))) {
            for (Deadline end = new Deadline("the records"); member.count < wanted; end.check()) {
                member.poll();
            }
            member.consumer.commitSync();
            return List.of(AdminCheck.row("records", member.count));
        }
    }

    /** A wait of at most 30 seconds. */
    private static class Deadline {
        private final long end = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        private final String what;

        Deadline(String what) {
            this.what = what;
        }

        void check() throws TimeoutException {
            if (System.nanoTime() > end) {
                throw new TimeoutException("not within 30 s: " + what);
            }
        }
    }

    // ---- streams groups

    private static Map<String, Object> streams(StreamsGroupDescription group) {
        return AdminCheck.row("state", group.groupState().toString(), "epoch", group.groupEpoch(), "target",
                group.targetAssignmentEpoch(), "topology", group.topologyEpoch(), "coordinator", group.coordinator().id(),
                "parts", AdminCheck.rows(group.subtopologies(), p -> AdminCheck.row("id", p.subtopologyId(), "sources",
                        List.copyOf(p.sourceTopics()), "sinks", List.copyOf(p.repartitionSinkTopics()), "changelogs",
                        List.copyOf(p.stateChangelogTopics().keySet()), "repartitions",
                        List.copyOf(p.repartitionSourceTopics().keySet()))),
                "members", AdminCheck.rows(group.members(), m -> AdminCheck.row("id", m.memberId(), "epoch", m.memberEpoch(),
                        "client", m.clientId(), "host", m.clientHost(), "topology", m.topologyEpoch(), "process",
                        m.processId(), "tags", m.clientTags(), "active", tasks(m.assignment().activeTasks()), "target",
                        tasks(m.targetAssignment().activeTasks()))));
    }

    private static List<Object> tasks(List<StreamsGroupMemberAssignment.TaskIds> tasks) {
        return AdminCheck.rows(tasks, t -> AdminCheck.row("part", t.subtopologyId(), "partitions", t.partitions()));
    }

    /** Creates a streams group, the first argument, by a member that reads the second, and waits for its tasks. */
    private List<Object> joinStreamsGroup() throws Exception {
        String group = check.arguments.get(0);
        StreamsMember member = new StreamsMember(group, check.arguments.get(1));
        streamsMembers.put(group, member);
        member.join(check.admin.describeCluster().nodes().get());
        for (Deadline end = new Deadline("the tasks"); !hasTasks(group); end.check()) {
            Thread.sleep(100);
            member.beat();
        }
        return List.of();
    }

    private boolean hasTasks(String group) throws Exception {
        StreamsGroupDescription found = check.admin.describeStreamsGroups(List.of(group)).all().get().get(group);
        return found.groupState() == GroupState.STABLE
                && found.members().stream().anyMatch(m -> !m.assignment().activeTasks().isEmpty());
    }

    private List<Object> leaveStreamsGroup() throws Exception {
        streamsMembers.remove(check.arguments.get(0)).leave();
        return List.of();
    }

    // ---- tools

    /** The end of a tool. */
    private static class ToolEnd extends RuntimeException {
    }

    /** Runs a tool: its class, then its arguments. The one row is what it writes to its standard output. */
    private List<Object> tool() throws Exception {
        PrintStream own = System.out;
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        List<Integer> statuses = new ArrayList<>();
        // Some tools catch the exception, and end with another status.
        Exit.setExitProcedure((status, message) -> {
            statuses.add(status);
            throw new ToolEnd();
        });
        System.setOut(new PrintStream(written, true));
        try {
            String[] rest = check.arguments.subList(1, check.arguments.size()).toArray(String[]::new);
            Class.forName(check.arguments.get(0)).getMethod("main", String[].class).invoke(null, (Object) rest);
        } catch (InvocationTargetException e) {
            if (!(e.getCause() instanceof ToolEnd)) {
                throw e;
            }
        } finally {
            System.setOut(own);
            Exit.resetExitProcedure();
        }
        int status = statuses.isEmpty() ? 0 : statuses.get(0);
        return List.of(AdminCheck.row("output", written.toString(), "code", status));
    }
}
