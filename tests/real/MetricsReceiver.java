import java.io.FileWriter;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import java.util.Map;

import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.apache.kafka.server.telemetry.ClientTelemetry;
import org.apache.kafka.server.telemetry.ClientTelemetryReceiver;
import org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.Metric;
import org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.MetricsData;
import org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.NumberDataPoint;
import org.apache.kafka.shaded.io.opentelemetry.proto.metrics.v1.ResourceMetrics;

/**
 * A broker's receiver for the metrics of clients: writes them, as OpenTelemetry's own code reads them, to the file that the
 * broker setting test.receiver.file names. For each push a line "push CLIENT TERMINATING", for each of its values a line
 * "NAME VALUE".
 */
public class MetricsReceiver implements MetricsReporter, ClientTelemetry {
    private String file;

    @Override
    public void configure(Map<String, ?> settings) {
        file = (String) settings.get("test.receiver.file");
    }

    @Override
    public ClientTelemetryReceiver clientReceiver() {
        return (context, payload) -> {
            synchronized (this) {
                try (PrintWriter out = new PrintWriter(new FileWriter(file, true))) {
                    out.println("push " + payload.clientInstanceId() + " " + payload.isTerminating());
                    for (ResourceMetrics of : MetricsData.parseFrom(bytes(payload.data())).getResourceMetricsList())
                        of.getScopeMetrics(0).getMetricsList().forEach(metric -> write(out, metric));
                } catch (IOException e) {
                    throw new RuntimeException(e);
                }
            }
        };
    }

    private static byte[] bytes(java.nio.ByteBuffer data) {
        byte[] bytes = new byte[data.remaining()];
        data.duplicate().get(bytes);
        return bytes;
    }

    private static void write(PrintWriter out, Metric metric) {
        List<NumberDataPoint> points = metric.hasSum()
            ? metric.getSum().getDataPointsList() : metric.getGauge().getDataPointsList();
        for (NumberDataPoint point : points)
            out.println(metric.getName() + " " + (point.hasAsInt() ? point.getAsInt() : point.getAsDouble()));
    }

    @Override
    public void init(List<KafkaMetric> metrics) { }

    @Override
    public void metricChange(KafkaMetric metric) { }

    @Override
    public void metricRemoval(KafkaMetric metric) { }

    @Override
    public void close() { }
}
