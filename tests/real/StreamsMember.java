import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.UUID;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.StreamsGroupHeartbeatRequest;

/**
 * A member of a streams group, without Kafka Streams: its heartbeats, by which it joins, gets tasks and leaves. It processes
 * nothing. Its topology counts the records of one topic by key: a store with a changelog.
 */
class StreamsMember {
    private static final String PART = "0";
    private final String group;
    private final String topic;
    private final String member = UUID.randomUUID().toString();
    private Node coordinator;
    private int epoch;
    private List<StreamsGroupHeartbeatRequestData.TaskIds> tasks = List.of();

    StreamsMember(String group, String topic) {
        this.group = group;
        this.topic = topic;
    }

    /** Joins, by the node among these that coordinates the group. */
    void join(Iterable<Node> nodes) throws IOException {
        for (Node node : nodes) {
            coordinator = node;
            if (beat(0) != Errors.NOT_COORDINATOR) {
                return;
            }
        }
        throw new IOException("no node coordinates " + group);
    }

    /** Sends a heartbeat with the tasks that the member has, and takes those that it gets. */
    void beat() throws IOException {
        beat(epoch);
    }

    void leave() throws IOException {
        beat(StreamsGroupHeartbeatRequest.LEAVE_GROUP_MEMBER_EPOCH);
    }

    private Errors beat(int with) throws IOException {
        var data = new StreamsGroupHeartbeatRequestData().setGroupId(group).setMemberId(member).setMemberEpoch(with)
                .setRebalanceTimeoutMs(30_000).setActiveTasks(tasks).setStandbyTasks(List.of()).setWarmupTasks(List.of());
        if (with == StreamsGroupHeartbeatRequest.JOIN_GROUP_MEMBER_EPOCH) {
            data.setTopology(topology()).setProcessId("process-of-" + group).setClientTags(List.of(
                    new StreamsGroupHeartbeatRequestData.KeyValue().setKey("zone").setValue("a")));
        }
        StreamsGroupHeartbeatResponseData found = send(data);
        Errors error = Errors.forCode(found.errorCode());
        if (error == Errors.NONE) {
            epoch = found.memberEpoch();
            if (found.activeTasks() != null) {
                tasks = found.activeTasks().stream().map(t -> new StreamsGroupHeartbeatRequestData.TaskIds()
                        .setSubtopologyId(t.subtopologyId()).setPartitions(t.partitions())).toList();
            }
        } else if (error != Errors.NOT_COORDINATOR && error != Errors.COORDINATOR_LOAD_IN_PROGRESS) {
            throw new IOException(error + ": " + found.errorMessage());
        }
        return error;
    }

    private StreamsGroupHeartbeatRequestData.Topology topology() {
        var changelog = new StreamsGroupHeartbeatRequestData.TopicInfo().setName(group + "-counts-changelog");
        return new StreamsGroupHeartbeatRequestData.Topology().setEpoch(0).setSubtopologies(List.of(
                new StreamsGroupHeartbeatRequestData.Subtopology().setSubtopologyId(PART).setSourceTopics(List.of(topic))
                        .setStateChangelogTopics(List.of(changelog))));
    }

    private StreamsGroupHeartbeatResponseData send(StreamsGroupHeartbeatRequestData data) throws IOException {
        var request = new StreamsGroupHeartbeatRequest.Builder(data).build((short) 0);
        var header = new RequestHeader(ApiKeys.STREAMS_GROUP_HEARTBEAT, (short) 0, "streams", 1);
        ByteBuffer sent = request.serializeWithHeader(header);
        try (Socket socket = new Socket(coordinator.host(), coordinator.port())) {
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            out.writeInt(sent.remaining());
            out.write(sent.array(), sent.arrayOffset() + sent.position(), sent.remaining());
            out.flush();
            DataInputStream in = new DataInputStream(socket.getInputStream());
            byte[] received = in.readNBytes(in.readInt());
            return (StreamsGroupHeartbeatResponseData) AbstractResponse.parseResponse(ByteBuffer.wrap(received), header).data();
        }
    }
}
