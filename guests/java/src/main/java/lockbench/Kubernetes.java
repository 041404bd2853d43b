package lockbench;

import com.google.gson.JsonObject;
import io.kubernetes.client.extended.leaderelection.LeaderElectionConfig;
import io.kubernetes.client.extended.leaderelection.LeaderElector;
import io.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.util.ClientBuilder;
import io.kubernetes.client.util.credentials.AccessTokenAuthentication;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Kubernetes is a guest of lockbench: LeaderElector of the Java client of Kubernetes, on a Lease. A client holds from the
 * hook for the start until the hook for the end, or until it closes its elector.
 */
public final class Kubernetes implements Guest.Library {
    private final Map<String, String> options;
    private String namespace;
    private ApiClient client;

    private Kubernetes(String lock, Map<String, String> options) {
        if (!lock.equals("kube-lease-java")) {
            throw new IllegalArgumentException("unknown lock");
        }
        options.forEach((option, value) -> {
            if (!List.of("lease", "renew", "retry").contains(option)) {
                throw new IllegalArgumentException("unknown option " + option);
            }
            Main.millis(option, value);
        });
        this.options = options;
    }

    public static void main(String[] words) throws Exception {
        Main.run(words, Kubernetes::new);
    }

    /** millis is an option, or else its share of the lease, which has the proportions of 15 s, 10 s and 2 s. */
    private long millis(String option, long standard) {
        return options.containsKey(option) ? Main.millis(option, options.get(option)) : standard;
    }

    @Override
    public JsonObject hello() {
        return Main.hello("kube-lease-java", "kubernetes", "single-store", List.of("renewed", "watched", "waits"),
                Main.version(LeaderElector.class, "io.kubernetes", "client-java-extended"));
    }

    @Override
    public void open(JsonObject store) throws Exception {
        JsonObject params = store.has("params") ? store.getAsJsonObject("params") : new JsonObject();
        namespace = params.has("namespace") ? params.get("namespace").getAsString() : "default";
        client = new ClientBuilder()
                .setBasePath("https://" + Main.addresses(store.getAsJsonObject("endpoints"), "apiserver").get(0))
                .setVerifyingSsl(false) // API servers sign their own certificates
                .setAuthentication(new AccessTokenAuthentication(params.has("token") ? params.get("token").getAsString() : ""))
                .build();
    }

    @Override
    public Guest.Lock lock(Guest.Ask ask) {
        if (ask.keys.size() > 1 || ask.shared) {
            throw new UnsupportedOperationException("it takes one key, which it does not share");
        }
        if (ask.wait == 0) {
            throw new UnsupportedOperationException("it can only wait");
        }
        return new Attempt(ask);
    }

    @Override
    public void close() {}

    /** name is a valid name of an object for a key. */
    private static String name(String key) {
        return key.matches("[a-z0-9]([a-z0-9-]{0,200}[a-z0-9])?")
                ? "lock." + key : "sum." + UUID.nameUUIDFromBytes(key.getBytes(StandardCharsets.UTF_8));
    }

    // adds kube-lease-java: an elector with a new identity for each acquire, as a process has that starts again, which is closed at the end of the wait; and valid names of objects
    /** Attempt is one elector. */
    private final class Attempt implements Guest.Lock {
        private final Guest.Ask ask;
        private final long lease;
        private final LeaderElector elector;
        private final CountDownLatch started = new CountDownLatch(1);
        private final Thread runs;

        Attempt(Guest.Ask ask) {
            this.ask = ask;
            lease = ask.ttl > 0 ? ask.ttl : millis("lease", 15_000);
            elector = new LeaderElector(new LeaderElectionConfig(
                    new LeaseLock(namespace, name(ask.keys.get(0)), UUID.randomUUID().toString(), client),
                    Duration.ofMillis(lease),
                    Duration.ofMillis(millis("renew", lease * 2 / 3)),
                    Duration.ofMillis(millis("retry", lease * 2 / 15))));
            runs = new Thread(() -> elector.run(started::countDown, ask.lost));
        }

        @Override
        public boolean acquire() throws Exception {
            runs.start();
            if (!started.await(ask.wait, TimeUnit.MILLISECONDS)) {
                throw new IllegalStateException("it did not lead before the end of the wait");
            }
            return true;
        }

        @Override
        public long renewed() {
            return lease;
        }

        @Override
        public boolean tells() {
            return false;
        }

        @Override
        public boolean release() {
            elector.close();
            runs.interrupt(); // close does not end a run that does not lead
            return true;
        }
    }
}
