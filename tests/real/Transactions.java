import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Writes transactions of two producers, interleaved, to partition 0 of a topic: every third of each is aborted, and the last
 * one of the first producer stays open. Arguments: bootstrap servers, topic, codec, number of rounds. Messages are
 * "committed-N", "aborted-N" or "open-N".
 */
public class Transactions {
    private static final int MESSAGES = 5;

    public static void main(String[] args) throws Exception {
        String topic = args[1];
        int rounds = Integer.parseInt(args[3]);
        KafkaProducer<String, String> one = producer(args, "one");
        KafkaProducer<String, String> two = producer(args, "two");
        int number = 0;
        for (int round = 0; round < rounds; round++) {
            boolean firstAborts = round % 3 == 0;
            boolean secondAborts = round % 3 == 1;
            one.beginTransaction();
            two.beginTransaction();
            for (int i = 0; i < MESSAGES; i++) {
                send(one, topic, firstAborts, number++);
                send(two, topic, secondAborts, number++);
            }
            end(two, secondAborts);
            end(one, firstAborts);
        }
        one.beginTransaction();
        one.send(new ProducerRecord<>(topic, 0, null, "open-" + number)).get();
        // Nothing is closed in order: the transaction stays open.
        Runtime.getRuntime().halt(0);
    }

    private static void send(KafkaProducer<String, String> producer, String topic, boolean aborts, int number)
            throws Exception {
        String value = (aborts ? "aborted-" : "committed-") + number;
        producer.send(new ProducerRecord<>(topic, 0, null, value)).get();
    }

    private static void end(KafkaProducer<String, String> producer, boolean aborts) {
        if (aborts) {
            producer.abortTransaction();
        } else {
            producer.commitTransaction();
        }
    }

    private static KafkaProducer<String, String> producer(String[] args, String name) {
        KafkaProducer<String, String> producer = new KafkaProducer<>(
            Map.of("bootstrap.servers", args[0], "transactional.id", args[1] + "-" + name, "compression.type", args[2]),
            new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        return producer;
    }
}
