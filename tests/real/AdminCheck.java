import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigsOptions;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.DescribeConsumerGroupsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.FeatureMetadata;
import org.apache.kafka.clients.admin.ListConfigResourcesOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.MemberAssignment;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.QuorumInfo;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.UserScramCredentialAlteration;
import org.apache.kafka.clients.admin.UserScramCredentialDeletion;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.quota.ClientQuotaFilterComponent;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;

/**
 * Calls Kafka's own admin client as standard input says, and prints the results: the counterpart of admin/program.h, with its
 * input and its output. Arguments: bootstrap servers, then PROPERTY=VALUE. With the option login another user makes a call.
 */
public class AdminCheck {
    final Map<String, Object> properties;
    /** The client of the current call. */
    Admin admin;
    List<String> arguments;
    private final Admin own;
    /** The clients of other users. */
    private final Map<String, Admin> logins = new HashMap<>();
    private final AdminFurther further = new AdminFurther(this);
    private Map<String, String> options;

    private AdminCheck(Admin own, Map<String, Object> properties) {
        this.own = own;
        this.properties = properties;
    }

    public static void main(String[] args) throws Exception {
        Map<String, Object> properties = new HashMap<>();
        properties.put("bootstrap.servers", args[0]);
        for (int i = 1; i < args.length; i++) {
            String[] pair = args[i].split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        ObjectMapper json = new ObjectMapper();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        try (Admin admin = Admin.create(properties)) {
            AdminCheck check = new AdminCheck(admin, properties);
            for (String line; (line = input.readLine()) != null;) {
                System.out.println(json.writeValueAsString(check.serve(line.split("\t", -1))));
            }
            check.logins.values().forEach(Admin::close);
        }
    }

    /** Returns the client of LISTENER|USER|PASSWORD, or of a delegation token if |token follows. */
    private Admin login(String login) {
        return logins.computeIfAbsent(login, text -> {
            String[] parts = text.split("\\|");
            Map<String, Object> with = new HashMap<>(Map.of("bootstrap.servers", parts[0], "security.protocol",
                    "SASL_PLAINTEXT", "sasl.mechanism", "SCRAM-SHA-256", "sasl.jaas.config",
                    "org.apache.kafka.common.security.scram.ScramLoginModule required username=\"" + parts[1]
                            + "\" password=\"" + parts[2] + "\"" + (parts.length > 3 ? " tokenauth=true;" : ";")));
            return Admin.create(with);
        });
    }

    private Map<String, Object> serve(String[] fields) {
        options = new HashMap<>();
        arguments = new ArrayList<>();
        for (String field : Arrays.asList(fields).subList(2, fields.length)) {
            if (field.startsWith("@")) {
                String[] pair = field.substring(1).split("=", 2);
                options.put(pair[0], pair[1]);
            } else {
                arguments.add(field);
            }
        }
        Map<String, Object> result = row("id", fields[0], "operation", fields[1]);
        admin = options.containsKey("login") ? login(options.get("login")) : own;
        try {
            List<Object> rows = call(fields[1]);
            result.put("code", 0);
            result.put("text", null);
            result.put("rows", rows);
        } catch (ExecutionException e) {
            result.put("code", code(e));
            result.put("text", e.getCause().getMessage());
        } catch (Exception e) {
            result.put("code", -1);
            result.put("text", e.toString());
        }
        return result;
    }

    private List<Object> call(String operation) throws Exception {
        return switch (operation) {
            case "CreateTopics" -> createTopics();
            case "DeleteTopics" -> topicResults(admin.deleteTopics(arguments).topicNameValues());
            case "CreatePartitions" -> createPartitions();
            case "IncrementalAlterConfigs" -> incrementalAlterConfigs();
            case "DescribeConfigs" -> describeConfigs();
            case "DeleteRecords" -> deleteRecords();
            case "ListOffsets" -> listOffsets();
            case "DescribeTopics" -> describeTopics();
            case "DescribeCluster" -> describeCluster();
            case "ElectLeaders" -> electLeaders();
            case "DeleteGroups" -> each(admin.deleteConsumerGroups(arguments).deletedGroups(), AdminCheck::group);
            case "ListConsumerGroups" -> listGroups();
            case "DescribeConsumerGroups" -> describeGroups();
            case "ListConsumerGroupOffsets" -> listGroupOffsets();
            case "AlterConsumerGroupOffsets" -> alterGroupOffsets();
            case "DeleteConsumerGroupOffsets" -> deleteGroupOffsets();
            case "CreateAcls" -> createAcls();
            case "DescribeAcls" -> rows(admin.describeAcls(filter(arguments.get(0))).values().get(), AdminCheck::acl);
            case "DeleteAcls" -> deleteAcls();
            case "DescribeUserScramCredentials" -> describeScram();
            case "AlterUserScramCredentials" -> alterScram();
            case "DescribeLogDirs" -> describeLogDirs();
            case "DescribeClientQuotas" -> describeQuotas();
            case "AlterClientQuotas" -> alterQuotas();
            case "AlterPartitionReassignments" -> alterReassignments();
            case "ListPartitionReassignments" -> listReassignments();
            case "ListConfigResources" -> listConfigResources();
            case "DescribeMetadataQuorum" -> describeQuorum();
            case "DescribeFeatures" -> describeFeatures();
            case "ListTransactions" -> rows(admin.listTransactions().all().get(), t -> row("transaction",
                    t.transactionalId(), "producer", t.producerId(), "state", t.state().toString()));
            case "DescribeTransactions" -> describeTransactions();
            case "DescribeProducers" -> describeProducers();
            case "ListGroups" -> rows(admin.listGroups().all().get(), g -> row("group", g.groupId(), "protocol",
                    g.protocol(), "simple", flag(g.isSimpleConsumerGroup()), "state",
                    g.groupState().map(Object::toString).orElse(null), "type",
                    g.type().map(Object::toString).orElse(null)));
            default -> further.call(operation);
        };
    }

    // ---- rows

    static Map<String, Object> row(Object... pairs) {
        Map<String, Object> row = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            row.put((String) pairs[i], pairs[i + 1]);
        }
        return row;
    }

    private static int code(Throwable error) {
        return Errors.forException(error instanceof ExecutionException ? error.getCause() : error).code();
    }

    /** Adds what a future brings to a row: its error, or what `more` makes of its value. */
    static <T> Map<String, Object> outcome(
            Map<String, Object> row, KafkaFuture<T> future, Function<T, Map<String, Object>> more) throws Exception {
        try {
            Map<String, Object> found = more.apply(future.get());
            row.put("code", 0);
            row.put("text", null);
            row.putAll(found);
        } catch (ExecutionException e) {
            row.put("code", code(e));
            row.put("text", e.getCause().getMessage());
        }
        return row;
    }

    static <K, T> List<Object> each(
            Map<K, KafkaFuture<T>> futures, Function<K, Map<String, Object>> name) throws Exception {
        return each(futures, name, value -> Map.of());
    }

    static <K, T> List<Object> each(Map<K, KafkaFuture<T>> futures, Function<K, Map<String, Object>> name,
            Function<T, Map<String, Object>> more) throws Exception {
        List<Object> rows = new ArrayList<>();
        for (Map.Entry<K, KafkaFuture<T>> entry : futures.entrySet()) {
            rows.add(outcome(name.apply(entry.getKey()), entry.getValue(), more));
        }
        return rows;
    }

    static <T> List<Object> rows(Collection<T> values, Function<T, Map<String, Object>> row) {
        return values.stream().map(row).collect(Collectors.toList());
    }

    static Map<String, Object> partition(TopicPartition partition) {
        return row("topic", partition.topic(), "partition", partition.partition());
    }

    static Map<String, Object> group(String group) {
        return row("group", group, "partitions", List.of());
    }

    static int flag(boolean value) {
        return value ? 1 : 0;
    }

    static Object operations(Set<AclOperation> operations) {
        return operations == null ? null : operations.stream().map(o -> (int) o.code()).sorted().toList();
    }

    private static List<Integer> ids(List<Node> nodes) {
        return nodes.stream().map(Node::id).toList();
    }

    boolean isSet(String option) {
        return "1".equals(options.get(option));
    }

    private Integer timeout() {
        return options.containsKey("timeout") ? Integer.valueOf(options.get("timeout")) : null;
    }

    // ---- topics

    private static Map<String, Object> topic(String topic) {
        return row("topic", topic);
    }

    private static List<Object> topicResults(Map<String, KafkaFuture<Void>> futures) throws Exception {
        return each(futures, AdminCheck::topic);
    }

    private List<Object> createTopics() throws Exception {
        List<NewTopic> topics = new ArrayList<>();
        for (String argument : arguments) {
            String[] parts = argument.split("\\|");
            NewTopic topic;
            if (parts[2].startsWith("a")) {
                Map<Integer, List<Integer>> replicas = new HashMap<>();
                for (String each : parts[2].substring(1).split("/")) {
                    replicas.put(replicas.size(), Arrays.stream(each.split("\\.")).map(Integer::valueOf).toList());
                }
                topic = new NewTopic(parts[0], replicas);
            } else {
                topic = new NewTopic(parts[0], Integer.parseInt(parts[1]), Short.parseShort(parts[2]));
            }
            Map<String, String> settings = new HashMap<>();
            for (int i = 3; i < parts.length; i++) {
                settings.put(parts[i].split("=", 2)[0], parts[i].split("=", 2)[1]);
            }
            topics.add(topic.configs(settings));
        }
        return topicResults(
                admin.createTopics(topics, new CreateTopicsOptions().validateOnly(isSet("validate"))).values());
    }

    private List<Object> createPartitions() throws Exception {
        Map<String, NewPartitions> totals = new LinkedHashMap<>();
        for (String argument : arguments) {
            String[] parts = argument.split("\\|");
            totals.put(parts[0], NewPartitions.increaseTo(Integer.parseInt(parts[1])));
        }
        return topicResults(admin.createPartitions(totals).values());
    }

    private List<Object> describeTopics() throws Exception {
        DescribeTopicsOptions with = new DescribeTopicsOptions().includeAuthorizedOperations(isSet("authorized"));
        return each(admin.describeTopics(arguments, with).topicNameValues(), AdminCheck::topic, AdminCheck::description);
    }

    private static Map<String, Object> description(TopicDescription topic) {
        List<Object> partitions = rows(topic.partitions(), p -> row("partition", p.partition(), "leader",
                p.leader() == null ? -1 : p.leader().id(), "replicas", ids(p.replicas()), "isr", ids(p.isr())));
        return row("id", topic.topicId().toString(), "internal", flag(topic.isInternal()), "partitions", partitions,
                "operations", operations(topic.authorizedOperations()));
    }

    private List<Object> describeCluster() throws Exception {
        var result = admin.describeCluster(
                new DescribeClusterOptions().includeAuthorizedOperations(isSet("authorized")).timeoutMs(timeout()));
        List<Object> nodes = rows(result.nodes().get(),
                n -> row("id", n.id(), "host", n.host(), "port", n.port(), "rack", n.rack()));
        return List.of(row("cluster", result.clusterId().get(), "controller", result.controller().get().id(), "nodes",
                nodes, "operations", operations(result.authorizedOperations().get())));
    }

    private List<TopicPartition> partitions(List<String> arguments) {
        return arguments.stream().map(a -> a.split("\\|"))
                .map(p -> new TopicPartition(p[0], Integer.parseInt(p[1]))).toList();
    }

    private List<Object> electLeaders() throws Exception {
        ElectionType type = arguments.get(0).equals("unclean") ? ElectionType.UNCLEAN : ElectionType.PREFERRED;
        List<TopicPartition> wanted = partitions(arguments.subList(1, arguments.size()));
        Map<TopicPartition, Optional<Throwable>> found =
                admin.electLeaders(type, wanted.isEmpty() ? null : Set.copyOf(wanted)).partitions().get();
        return rows(found.entrySet(), e -> {
            Map<String, Object> row = partition(e.getKey());
            row.put("code", e.getValue().map(AdminCheck::code).orElse(0));
            row.put("text", e.getValue().map(Throwable::getMessage).orElse(null));
            return row;
        });
    }

    private List<Object> deleteRecords() throws Exception {
        Map<TopicPartition, RecordsToDelete> wanted = new LinkedHashMap<>();
        for (String argument : arguments) {
            String[] parts = argument.split("\\|");
            wanted.put(new TopicPartition(parts[0], Integer.parseInt(parts[1])),
                    RecordsToDelete.beforeOffset(Long.parseLong(parts[2])));
        }
        return each(admin.deleteRecords(wanted).lowWatermarks(), AdminCheck::partition, d -> row("low", d.lowWatermark()));
    }

    private List<Object> listOffsets() throws Exception {
        Map<TopicPartition, OffsetSpec> wanted = new LinkedHashMap<>();
        for (String argument : arguments) {
            String[] parts = argument.split("\\|");
            long spec = Long.parseLong(parts[2]);
            wanted.put(new TopicPartition(parts[0], Integer.parseInt(parts[1])), spec == -1 ? OffsetSpec.latest()
                    : spec == -2 ? OffsetSpec.earliest() : spec == -3 ? OffsetSpec.maxTimestamp()
                    : OffsetSpec.forTimestamp(spec));
        }
        IsolationLevel isolation =
                isSet("isolation") ? IsolationLevel.READ_COMMITTED : IsolationLevel.READ_UNCOMMITTED;
        var result = admin.listOffsets(wanted, new ListOffsetsOptions(isolation));
        List<Object> rows = new ArrayList<>();
        for (TopicPartition each : wanted.keySet()) {
            rows.add(outcome(partition(each), result.partitionResult(each), found -> row("offset", found.offset(),
                    "timestamp", found.timestamp(), "epoch", found.leaderEpoch().orElse(-1))));
        }
        return rows;
    }

    // ---- settings

    private static ConfigResource resource(String[] parts) {
        return new ConfigResource(ConfigResource.Type.valueOf(parts[0].toUpperCase()), parts[1]);
    }

    private static Map<String, Object> resourceRow(ConfigResource resource) {
        return row("type", resource.type().name(), "name", resource.name());
    }

    private List<Object> incrementalAlterConfigs() throws Exception {
        Map<ConfigResource, Collection<AlterConfigOp>> changes = new LinkedHashMap<>();
        Map<Character, AlterConfigOp.OpType> types = Map.of('=', AlterConfigOp.OpType.SET, '-',
                AlterConfigOp.OpType.DELETE, '+', AlterConfigOp.OpType.APPEND, '~', AlterConfigOp.OpType.SUBTRACT);
        for (String argument : arguments) {
            String[] parts = argument.split("\\|");
            List<AlterConfigOp> wanted = new ArrayList<>();
            for (int i = 2; i < parts.length; i++) {
                String[] pair = parts[i].substring(1).split("=", 2);
                wanted.add(new AlterConfigOp(new ConfigEntry(pair[0], pair[1]), types.get(parts[i].charAt(0))));
            }
            changes.put(resource(parts), wanted);
        }
        return each(admin.incrementalAlterConfigs(changes,
                new AlterConfigsOptions().validateOnly(isSet("validate"))).values(), AdminCheck::resourceRow);
    }

    /** Describes the named settings of each resource; all of them where none is named. */
    private List<Object> describeConfigs() throws Exception {
        Map<ConfigResource, Set<String>> names = new LinkedHashMap<>();
        for (String argument : arguments) {
            String[] parts = argument.split("\\|");
            names.put(resource(parts), Set.of(Arrays.copyOfRange(parts, 2, parts.length)));
        }
        var futures = admin.describeConfigs(names.keySet(), new DescribeConfigsOptions().includeSynonyms(true)).values();
        List<Object> rows = new ArrayList<>();
        for (ConfigResource each : names.keySet()) {
            rows.add(outcome(resourceRow(each), futures.get(each), found -> {
                Map<String, Object> entries = new TreeMap<>();
                for (ConfigEntry entry : found.entries()) {
                    if (names.get(each).isEmpty() || names.get(each).contains(entry.name())) {
                        entries.put(entry.name(), entry(entry));
                    }
                }
                return row("entries", entries);
            }));
        }
        return rows;
    }

    /** Kafka's number of a source. */
    private static int source(ConfigEntry.ConfigSource source) {
        return switch (source) {
            case DYNAMIC_TOPIC_CONFIG -> 1;
            case DYNAMIC_BROKER_CONFIG -> 2;
            case DYNAMIC_DEFAULT_BROKER_CONFIG -> 3;
            case STATIC_BROKER_CONFIG -> 4;
            case DEFAULT_CONFIG -> 5;
            case DYNAMIC_GROUP_CONFIG -> 8;
            default -> 0;
        };
    }

    private static Map<String, Object> entry(ConfigEntry entry) {
        List<Object> synonyms = new ArrayList<>();
        for (ConfigEntry.ConfigSynonym synonym : entry.synonyms()) {
            synonyms.add(Arrays.asList(synonym.name(), synonym.value(), source(synonym.source())));
        }
        return row("value", entry.value(), "source", source(entry.source()), "read_only", flag(entry.isReadOnly()),
                "sensitive", flag(entry.isSensitive()), "default", flag(entry.isDefault()), "synonyms", synonyms);
    }

    // ---- groups

    private List<Object> listGroups() throws Exception {
        ListGroupsOptions with = ListGroupsOptions.forConsumerGroups();
        return rows(admin.listGroups(with).all().get(), g -> row("group", g.groupId(), "simple",
                flag(g.isSimpleConsumerGroup()), "state", g.groupState().map(Object::toString).orElse(null), "type",
                g.type().map(Object::toString).orElse(null)));
    }

    private List<Object> describeGroups() throws Exception {
        DescribeConsumerGroupsOptions with =
                new DescribeConsumerGroupsOptions().includeAuthorizedOperations(isSet("authorized"));
        return each(admin.describeConsumerGroups(arguments, with).describedGroups(),
                group -> row("group", group), AdminCheck::description);
    }

    private static Map<String, Object> description(ConsumerGroupDescription group) {
        return row("simple", flag(group.isSimpleConsumerGroup()), "assignor", group.partitionAssignor(), "state",
                group.groupState().toString(), "type", group.type().toString(), "coordinator",
                group.coordinator().id(), "members", rows(group.members(), AdminCheck::member), "operations",
                operations(group.authorizedOperations()));
    }

    static Map<String, Object> member(MemberDescription member) {
        return row("id", member.consumerId(), "client", member.clientId(), "instance",
                member.groupInstanceId().orElse(null), "host", member.host(), "assignment",
                assignment(member.assignment()), "target",
                member.targetAssignment().map(AdminCheck::assignment).orElse(null));
    }

    private static List<Object> assignment(MemberAssignment assignment) {
        List<Object> pairs = new ArrayList<>();
        for (TopicPartition each : assignment.topicPartitions()) {
            pairs.add(List.of(each.topic(), each.partition()));
        }
        return pairs;
    }

    /** Returns the groups and offsets of the arguments GROUP[|TOPIC:PARTITION[:OFFSET[:EPOCH]]]... */
    Map<String, Map<TopicPartition, OffsetAndMetadata>> groupOffsets() {
        Map<String, Map<TopicPartition, OffsetAndMetadata>> groups = new LinkedHashMap<>();
        for (String argument : arguments) {
            String[] parts = argument.split("\\|");
            Map<TopicPartition, OffsetAndMetadata> offsets = new LinkedHashMap<>();
            for (int i = 1; i < parts.length; i++) {
                String[] row = parts[i].split(":");
                offsets.put(new TopicPartition(row[0], Integer.parseInt(row[1])),
                        new OffsetAndMetadata(row.length > 2 ? Long.parseLong(row[2]) : 0,
                                row.length > 3 ? Optional.of(Integer.valueOf(row[3])) : Optional.empty(), ""));
            }
            groups.put(parts[0], offsets);
        }
        return groups;
    }

    private List<Object> listGroupOffsets() throws Exception {
        Map<String, ListConsumerGroupOffsetsSpec> wanted = new LinkedHashMap<>();
        groupOffsets().forEach((group, offsets) -> wanted.put(group, new ListConsumerGroupOffsetsSpec()
                .topicPartitions(offsets.isEmpty() ? null : offsets.keySet())));
        var result = admin.listConsumerGroupOffsets(wanted);
        List<Object> rows = new ArrayList<>();
        for (String group : wanted.keySet()) {
            rows.add(outcome(row("group", group), result.partitionsToOffsetAndMetadata(group), found -> {
                List<Object> partitions = new ArrayList<>();
                found.forEach((each, offset) -> {
                    Map<String, Object> row = partition(each);
                    row.put("offset", offset == null ? -1001 : offset.offset());
                    row.put("epoch", offset == null ? -1 : offset.leaderEpoch().orElse(-1));
                    row.put("code", 0);
                    row.put("text", null);
                    partitions.add(row);
                });
                return row("partitions", partitions);
            }));
        }
        return rows;
    }

    private List<Object> alterGroupOffsets() throws Exception {
        List<Object> rows = new ArrayList<>();
        for (var entry : groupOffsets().entrySet()) {
            var result = admin.alterConsumerGroupOffsets(entry.getKey(), entry.getValue());
            List<Object> partitions = new ArrayList<>();
            for (TopicPartition each : entry.getValue().keySet()) {
                partitions.add(outcome(partition(each), result.partitionResult(each), nothing -> Map.of()));
            }
            rows.add(row("group", entry.getKey(), "code", 0, "text", null, "partitions", partitions));
        }
        return rows;
    }

    private List<Object> deleteGroupOffsets() throws Exception {
        List<Object> rows = new ArrayList<>();
        for (var entry : groupOffsets().entrySet()) {
            Set<TopicPartition> wanted = entry.getValue().keySet();
            var result = admin.deleteConsumerGroupOffsets(entry.getKey(), wanted);
            List<Object> partitions = new ArrayList<>();
            for (TopicPartition each : wanted) {
                partitions.add(outcome(partition(each), result.partitionResult(each), nothing -> Map.of()));
            }
            rows.add(row("group", entry.getKey(), "code", 0, "text", null, "partitions", partitions));
        }
        return rows;
    }

    // ---- access control entries

    private static String orNull(String text) {
        return text.isEmpty() ? null : text;
    }

    private static AclBindingFilter filter(String argument) {
        String[] parts = argument.split("\\|");
        return new AclBindingFilter(
                new ResourcePatternFilter(ResourceType.fromCode(Byte.parseByte(parts[0])), orNull(parts[1]),
                        PatternType.fromCode(Byte.parseByte(parts[2]))),
                new AccessControlEntryFilter(orNull(parts[3]), orNull(parts[4]),
                        AclOperation.fromCode(Byte.parseByte(parts[5])),
                        AclPermissionType.fromCode(Byte.parseByte(parts[6]))));
    }

    private static AclBinding binding(String argument) {
        String[] parts = argument.split("\\|");
        return new AclBinding(
                new ResourcePattern(ResourceType.fromCode(Byte.parseByte(parts[0])), parts[1],
                        PatternType.fromCode(Byte.parseByte(parts[2]))),
                new AccessControlEntry(parts[3], parts[4], AclOperation.fromCode(Byte.parseByte(parts[5])),
                        AclPermissionType.fromCode(Byte.parseByte(parts[6]))));
    }

    private static Map<String, Object> acl(AclBinding acl) {
        return row("type", (int) acl.pattern().resourceType().code(), "name", acl.pattern().name(), "pattern",
                (int) acl.pattern().patternType().code(), "principal", acl.entry().principal(), "host",
                acl.entry().host(), "operation", (int) acl.entry().operation().code(), "permission",
                (int) acl.entry().permissionType().code());
    }

    private List<Object> createAcls() throws Exception {
        List<AclBinding> acls = arguments.stream().map(AdminCheck::binding).toList();
        var futures = admin.createAcls(acls).values();
        List<Object> rows = new ArrayList<>();
        for (AclBinding each : acls) {
            rows.add(outcome(row(), futures.get(each), nothing -> Map.of()));
        }
        return rows;
    }

    private List<Object> deleteAcls() throws Exception {
        List<AclBindingFilter> filters = arguments.stream().map(AdminCheck::filter).toList();
        var futures = admin.deleteAcls(filters).values();
        List<Object> rows = new ArrayList<>();
        for (AclBindingFilter each : filters) {
            rows.add(outcome(row(), futures.get(each),
                    found -> row("acls", rows(found.values(), result -> acl(result.binding())))));
        }
        return rows;
    }

    // ---- SCRAM credentials

    private List<Object> describeScram() throws Exception {
        var result = admin.describeUserScramCredentials(arguments.isEmpty() ? null : arguments);
        List<Object> rows = new ArrayList<>();
        for (String user : arguments.isEmpty() ? result.users().get() : arguments) {
            rows.add(outcome(row("user", user, "credentials", List.of()), result.description(user), found -> {
                List<Object> pairs = new ArrayList<>();
                for (ScramCredentialInfo info : found.credentialInfos()) {
                    pairs.add(List.of((int) info.mechanism().type(), info.iterations()));
                }
                return row("credentials", pairs);
            }));
        }
        return rows;
    }

    private List<Object> alterScram() throws Exception {
        List<UserScramCredentialAlteration> changes = new ArrayList<>();
        for (String argument : arguments) {
            String[] parts = argument.split("\\|");
            ScramMechanism mechanism = ScramMechanism.fromType(Byte.parseByte(parts[1]));
            changes.add(parts.length == 2 ? new UserScramCredentialDeletion(parts[0], mechanism)
                    : new UserScramCredentialUpsertion(parts[0],
                            new ScramCredentialInfo(mechanism, Integer.parseInt(parts[2])), parts[3]));
        }
        return each(admin.alterUserScramCredentials(changes).values(), user -> row("user", user));
    }

    // ---- the cluster

    private List<Object> describeLogDirs() throws Exception {
        List<Object> rows = new ArrayList<>();
        for (String broker : arguments) {
            var futures = admin.describeLogDirs(List.of(Integer.valueOf(broker))).descriptions();
            rows.add(outcome(row("broker", Integer.valueOf(broker)), futures.get(Integer.valueOf(broker)), dirs -> {
                List<Object> found = new ArrayList<>();
                dirs.forEach((path, dir) -> found.add(row("path", path, "code", dir.error() == null ? 0 : code(dir.error()),
                        "total", dir.totalBytes().orElse(-1), "replicas", rows(dir.replicaInfos().entrySet(), e -> {
                            Map<String, Object> row = partition(e.getKey());
                            row.putAll(row("size", e.getValue().size(), "lag", e.getValue().offsetLag(), "future",
                                    flag(e.getValue().isFuture())));
                            return row;
                        }))));
                return row("dirs", found);
            }));
        }
        return rows;
    }

    private static List<Object> entity(ClientQuotaEntity entity) {
        List<Object> pairs = new ArrayList<>();
        entity.entries().forEach((type, name) -> pairs.add(Arrays.asList(type, name)));
        return pairs;
    }

    private List<Object> describeQuotas() throws Exception {
        List<ClientQuotaFilterComponent> components = arguments.stream().map(a -> a.split("=", 2))
                .map(p -> p.length == 1 ? ClientQuotaFilterComponent.ofEntityType(p[0])
                        : p[1].isEmpty() ? ClientQuotaFilterComponent.ofDefaultEntity(p[0])
                        : ClientQuotaFilterComponent.ofEntity(p[0], p[1])).toList();
        return rows(admin.describeClientQuotas(ClientQuotaFilter.contains(components)).entities().get().entrySet(),
                e -> row("entity", entity(e.getKey()), "quotas", e.getValue()));
    }

    private List<Object> alterQuotas() throws Exception {
        List<ClientQuotaAlteration> changes = new ArrayList<>();
        for (String argument : arguments) {
            String[] parts = argument.split("\\|");
            Map<String, String> entity = new HashMap<>();
            for (String pair : parts[0].split(",")) {
                String name = pair.split("=", 2)[1];
                entity.put(pair.split("=", 2)[0], name.isEmpty() ? null : name);
            }
            List<ClientQuotaAlteration.Op> quotas = new ArrayList<>();
            for (int i = 1; i < parts.length; i++) {
                String value = parts[i].split("=", 2)[1];
                quotas.add(new ClientQuotaAlteration.Op(parts[i].split("=", 2)[0],
                        value.isEmpty() ? null : Double.valueOf(value)));
            }
            changes.add(new ClientQuotaAlteration(new ClientQuotaEntity(entity), quotas));
        }
        return each(admin.alterClientQuotas(changes).values(), entity -> row("entity", entity(entity)));
    }

    private List<Object> alterReassignments() throws Exception {
        Map<TopicPartition, Optional<NewPartitionReassignment>> wanted = new LinkedHashMap<>();
        for (String argument : arguments) {
            String[] parts = argument.split("\\|", -1);
            wanted.put(new TopicPartition(parts[0], Integer.parseInt(parts[1])), parts[2].isEmpty() ? Optional.empty()
                    : Optional.of(new NewPartitionReassignment(
                            Arrays.stream(parts[2].split("\\.")).map(Integer::valueOf).toList())));
        }
        return each(admin.alterPartitionReassignments(wanted).values(), AdminCheck::partition);
    }

    private List<Object> listReassignments() throws Exception {
        var result = arguments.isEmpty() ? admin.listPartitionReassignments()
                : admin.listPartitionReassignments(Set.copyOf(partitions(arguments)));
        return rows(result.reassignments().get().entrySet(), e -> {
            Map<String, Object> row = partition(e.getKey());
            row.putAll(row("replicas", e.getValue().replicas(), "adding", e.getValue().addingReplicas(), "removing",
                    e.getValue().removingReplicas()));
            return row;
        });
    }

    private List<Object> listConfigResources() throws Exception {
        Set<ConfigResource.Type> types = arguments.stream().map(Byte::valueOf).map(ConfigResource.Type::forId)
                .collect(Collectors.toSet());
        return rows(admin.listConfigResources(types, new ListConfigResourcesOptions()).all().get(),
                r -> row("type", (int) r.type().id(), "name", r.name()));
    }

    private List<Object> describeQuorum() throws Exception {
        QuorumInfo quorum = admin.describeMetadataQuorum().quorumInfo().get();
        List<Object> endpoints = new ArrayList<>();
        quorum.nodes().forEach((id, node) -> node.endpoints().forEach(
                e -> endpoints.add(List.of(id, e.listener(), e.host(), e.port()))));
        return List.of(row("leader", quorum.leaderId(), "epoch", quorum.leaderEpoch(), "high_watermark",
                quorum.highWatermark(), "voters", quorum.voters().stream().map(r -> r.replicaId()).toList(), "observers",
                quorum.observers().stream().map(r -> r.replicaId()).toList(), "endpoints", endpoints));
    }

    private List<Object> describeFeatures() throws Exception {
        FeatureMetadata features = admin.describeFeatures().featureMetadata().get();
        List<Object> finalized = new ArrayList<>();
        features.finalizedFeatures().forEach(
                (name, f) -> finalized.add(List.of(name, (int) f.minVersionLevel(), (int) f.maxVersionLevel())));
        List<Object> supported = new ArrayList<>();
        features.supportedFeatures().forEach(
                (name, f) -> supported.add(List.of(name, (int) f.minVersion(), (int) f.maxVersion())));
        return List.of(row("finalized", finalized, "supported", supported));
    }

    // ---- transactions

    private List<Object> describeTransactions() throws Exception {
        var result = admin.describeTransactions(arguments);
        List<Object> rows = new ArrayList<>();
        for (String id : arguments) {
            rows.add(outcome(row("transaction", id), result.description(id), t -> {
                List<Object> partitions = new ArrayList<>();
                for (TopicPartition each : t.topicPartitions()) {
                    partitions.add(List.of(each.topic(), each.partition()));
                }
                return row("coordinator", t.coordinatorId(), "state", t.state().toString(), "producer", t.producerId(),
                        "epoch", t.producerEpoch(), "timeout", t.transactionTimeoutMs(), "start",
                        t.transactionStartTimeMs().orElse(-1), "partitions", partitions);
            }));
        }
        return rows;
    }

    private List<Object> describeProducers() throws Exception {
        List<TopicPartition> wanted = partitions(arguments);
        var result = admin.describeProducers(wanted);
        List<Object> rows = new ArrayList<>();
        for (TopicPartition each : wanted) {
            rows.add(outcome(partition(each), result.partitionResult(each), found -> row("producers",
                    rows(found.activeProducers(), p -> row("producer", p.producerId(), "epoch", p.producerEpoch(),
                            "sequence", p.lastSequence(), "timestamp", p.lastTimestamp(), "coordinator_epoch",
                            p.coordinatorEpoch().orElse(-1), "start", p.currentTransactionStartOffset().orElse(-1))))));
        }
        return rows;
    }
}
