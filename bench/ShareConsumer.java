import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * share_consumer.c on Kafka's own client: the same members, acknowledgements, and lines of output.
 *
 * <p>Arguments: brokers, topic, group, members, implicit or explicit, records to measure, records before
 * those, milliseconds between subscribing and consuming.
 */
public final class ShareConsumer {
    private static final Duration POLL = Duration.ofMillis(100);
    private static final long IDLE_NS = 60_000_000_000L;

    private static String[] arguments;
    private static int members;
    private static boolean explicit;
    private static long count;
    private static long warmUp;
    private static long joinMs;

    private static long received;
    private static long bytes;
    private static long polls;
    private static int active;
    private static boolean begun;
    private static volatile boolean ended;
    /** Records, bytes, polls, nanoseconds and CPU nanoseconds at the begin and at the end of the measuring. */
    private static long[] begin;
    private static long[] end;

    private static long[] now() {
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return new long[] {received, bytes, polls, System.nanoTime(), system.getProcessCpuTime()};
    }

    private static synchronized void took(long records, long size, boolean first) {
        received += records;
        bytes += size;
        polls++;
        active += first ? 1 : 0;
        if (!begun && received >= warmUp && active == members) {
            begun = true;
            begin = now();
        } else if (begun && !ended && received - begin[0] >= count) {
            end = now();
            ended = true;
        }
    }

    private static void run() {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("group.id", arguments[2]);
        settings.put("share.acknowledgement.mode", arguments[4]);
        settings.put("key.deserializer", ByteArrayDeserializer.class);
        settings.put("value.deserializer", ByteArrayDeserializer.class);
        try (KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(settings)) {
            consumer.subscribe(List.of(arguments[1]));
            // Joins the group.
            consumer.poll(Duration.ZERO);
            Thread.sleep(joinMs);
            boolean first = true;
            long last = System.nanoTime();
            while (!ended) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(POLL);
                if (records.isEmpty()) {
                    if (System.nanoTime() - last > IDLE_NS) {
                        throw new IllegalStateException("no records");
                    }
                    continue;
                }
                long size = 0;
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    size += record.value().length;
                    if (explicit) {
                        consumer.acknowledge(record);
                    }
                }
                took(records.count(), size, first);
                first = false;
                last = System.nanoTime();
            }
        } catch (RuntimeException | InterruptedException e) {
            e.printStackTrace();
            System.exit(1);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        arguments = args;
        members = Integer.parseInt(args[3]);
        explicit = args[4].equals("explicit");
        count = Long.parseLong(args[5]);
        warmUp = Long.parseLong(args[6]);
        joinMs = Long.parseLong(args[7]);
        Thread[] threads = new Thread[members];
        for (int i = 0; i < members; i++) {
            threads[i] = new Thread(ShareConsumer::run);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        double us = (end[3] - begin[3]) / 1e3;
        long records = end[0] - begin[0];
        System.out.printf("%% polls %d%n", end[2] - begin[2]);
        System.out.printf("%% cpu us %d%n", (end[4] - begin[4]) / 1000);
        System.out.printf("%% %d messages and %d bytes consumed in %.0fms: %.0f msgs/s and %.2f MB/s, 0 failed%n", records,
            end[1] - begin[1], us / 1000, records / us * 1e6, (end[1] - begin[1]) / us);
    }
}
