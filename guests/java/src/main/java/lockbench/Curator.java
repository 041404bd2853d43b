package lockbench;

import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Curator is a guest of lockbench: InterProcessMutex of Apache Curator. A client of Curator has one session timeout, so
 * there is a client for each ttl that is asked for.
 */
public final class Curator implements Guest.Library {
    private final Map<String, String> options;
    private final String call;
    private final Map<Integer, CuratorFramework> clients = new HashMap<>();
    private final Map<String, InterProcessMutex> mutexes = new ConcurrentHashMap<>();
    private final Set<Attempt> attempts = ConcurrentHashMap.newKeySet();
    private String servers;

    private Curator(String lock, Map<String, String> options) {
        if (!lock.equals("curator")) {
            throw new IllegalArgumentException("unknown lock");
        }
        options.keySet().forEach(o -> {
            if (!List.of("session", "listener", "connection-timeout", "retry", "call").contains(o)) {
                throw new IllegalArgumentException("unknown option " + o);
            }
        });
        this.options = options;
        call = Main.call(options, "acquire-time", "acquire");
    }

    public static void main(String[] words) throws Exception {
        Main.run(words, Curator::new);
    }

    private int millis(String option, String standard) {
        return (int) Main.millis(option, options.getOrDefault(option, standard));
    }

    private boolean listens() {
        return options.getOrDefault("listener", "on").equals("on");
    }

    @Override
    public JsonObject hello() {
        List<String> claims = new ArrayList<>(List.of("renewed", "reentrant", "waits"));
        if (listens()) {
            claims.add("watched");
        }
        return Main.hello("curator", "zookeeper", "single-store", claims,
                Main.version(InterProcessMutex.class, "org.apache.curator", "curator-recipes"));
    }

    @Override
    public void open(JsonObject store) {
        // The client would look up the name of each server's address first, which takes seconds where no resolver answers.
        System.setProperty("zookeeper.sasl.client", "false");
        servers = String.join(",", Main.addresses(store.getAsJsonObject("endpoints"), "zookeeper"));
    }

    // adds curator: a client for each session timeout, because a client has one
    private synchronized CuratorFramework client(int session) {
        return clients.computeIfAbsent(session, millis -> {
            CuratorFramework c = CuratorFrameworkFactory.builder()
                    .connectString(servers)
                    .sessionTimeoutMs(millis)
                    .connectionTimeoutMs(millis("connection-timeout", "15s"))
                    .retryPolicy(new ExponentialBackoffRetry(millis("retry", "1s"), 3))
                    .ensembleTracker(false) // it would follow the addresses that the servers use among themselves
                    .build();
            if (listens()) {
                c.getConnectionStateListenable().addListener((of, state) -> {
                    if (state == ConnectionState.SUSPENDED || state == ConnectionState.LOST) {
                        attempts.forEach(a -> a.lost(of, state == ConnectionState.LOST));
                    }
                });
            }
            c.start();
            return c;
        });
    }

    @Override
    public Guest.Lock lock(Guest.Ask ask) {
        if (ask.keys.size() > 1 || ask.shared) {
            throw new UnsupportedOperationException("it takes one key, which it does not share");
        }
        return new Attempt(ask);
    }

    @Override
    public void close() {
        clients.values().forEach(CuratorFramework::close);
    }

    /** Attempt uses the mutex of its key, which all threads share: it belongs to a thread, which may enter again. */
    private final class Attempt implements Guest.Lock {
        private final Guest.Ask ask;
        private final int session;
        private final CuratorFramework client;
        private final InterProcessMutex mutex;
        private volatile boolean granted, suspended, expired;

        Attempt(Guest.Ask ask) {
            this.ask = ask;
            session = ask.ttl > 0 ? (int) ask.ttl : millis("session", "2s");
            client = client(session);
            String path = "/curator-" + ask.keys.get(0).replace("/", "%2F");
            mutex = mutexes.computeIfAbsent(session + path, of -> new InterProcessMutex(client, path));
        }

        // adds curator: without a connection all locks count as lost, as Curator advises (listener=on)
        void lost(CuratorFramework of, boolean session) {
            if (of != client || !granted) {
                return;
            }
            expired |= session;
            suspended = true;
            ask.lost.run();
        }

        @Override
        public boolean waits() {
            return call.equals("acquire");
        }

        @Override
        public boolean acquire() throws Exception {
            attempts.add(this);
            // A connection that went before the grant has come back: the answers came over it.
            if (waits()) {
                mutex.acquire();
                granted = true;
            } else {
                granted = mutex.acquire(ask.wait, TimeUnit.MILLISECONDS);
            }
            if (!granted) {
                attempts.remove(this);
            }
            return granted;
        }

        @Override
        public long renewed() {
            return session;
        }

        // adds curator: a release after a lost connection has an unknown outcome, because Curator does not report it
        @Override
        public boolean release() throws Exception {
            try {
                mutex.release();
            } catch (IllegalMonitorStateException e) { // Curator holds nothing that it knows of
                attempts.remove(this);
                if (granted) {
                    throw e;
                }
                return false;
            }
            attempts.remove(this);
            if (suspended && !expired) {
                throw new IllegalStateException("released after a SUSPENDED, and Curator does not say whether it was held");
            }
            return !expired;
        }
    }
}
