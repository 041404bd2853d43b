import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.StringJoiner;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * A guest of lockbench: Apache Curator's own InterProcessMutex. A mutex of Curator's belongs to a
 * thread, so each attempt has one. A client of Curator's has one session timeout, so there is a
 * client for each ttl that is asked for.
 */
public class CuratorGuest {
    static final ObjectMapper JSON = new ObjectMapper();
    static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    static final boolean LISTENS = System.getProperty("listener", "on").equals("on");
    static final int SESSION = Integer.getInteger("session", 2000);
    static final int CONNECTION = Integer.getInteger("connection-timeout", 15000);
    static final int RETRY = Integer.getInteger("retry", 1000);

    static String servers;
    static final Map<Integer, CuratorFramework> clients = new HashMap<>();
    static final Map<String, Attempt> attempts = new ConcurrentHashMap<>();

    // adds zk-curator: a client for each session timeout, because a client has one; and a thread for each attempt
    // adds zk-curator: without a connection all locks count as lost, as Curator advises (listener=on)
    static class Attempt {
        final ExecutorService thread = Executors.newSingleThreadExecutor(r -> {
            Thread t = new Thread(r);
            t.setDaemon(true);
            return t;
        });
        InterProcessMutex mutex;
        CuratorFramework client;
        // Guarded by this: what was granted and not given back is told of a loss, once.
        boolean granted, told, expired, releasing;
    }

    static synchronized void say(ObjectNode answer) {
        OUT.println(answer);
        OUT.flush();
    }

    static ObjectNode object() {
        return JSON.createObjectNode();
    }

    /** The connection of a client is gone, or its session is: so are all locks, as Curator advises. */
    static void lost(CuratorFramework client, boolean expired) {
        attempts.forEach((session, a) -> {
            synchronized (a) {
                if (a.client != client || !a.granted) {
                    return;
                }
                a.expired |= expired;
                if (a.told || a.releasing) {
                    return;
                }
                a.told = true;
            }
            say(object().put("notice", "lost").put("session", session));
        });
    }

    static synchronized CuratorFramework client(int millis) {
        return clients.computeIfAbsent(millis, m -> {
            CuratorFramework c = CuratorFrameworkFactory.builder()
                    .connectString(servers)
                    .sessionTimeoutMs(m)
                    .connectionTimeoutMs(CONNECTION)
                    .retryPolicy(new ExponentialBackoffRetry(RETRY, 3))
                    // It would follow the addresses that the servers use among themselves.
                    .ensembleTracker(false)
                    .build();
            if (LISTENS) {
                c.getConnectionStateListenable().addListener((of, state) -> {
                    if (state == ConnectionState.SUSPENDED || state == ConnectionState.LOST) {
                        lost(of, state == ConnectionState.LOST);
                    }
                });
            }
            c.start();
            return c;
        });
    }

    static void acquire(JsonNode request, ObjectNode answer) {
        if (!request.has("key") || !request.path("mode").asText("exclusive").equals("exclusive") || request.has("owner")) {
            say(answer.put("fail", "unsupported").put("text", "requests must have one key, exclusive mode and no owner"));
            return;
        }
        if (request.get("key").asText().isEmpty() || request.path("ttl_ns").asLong() < 0 || request.path("wait_ns").asLong() < 0) {
            say(answer.put("fail", "bad-request"));
            return;
        }
        long ttl = request.path("ttl_ns").asLong() / 1_000_000, wait = request.path("wait_ns").asLong() / 1_000_000;
        int session = ttl > 0 ? (int) ttl : SESSION;
        Attempt a = new Attempt();
        attempts.put(request.get("session").asText(), a);
        a.client = client(session);
        a.mutex = new InterProcessMutex(a.client, "/curator-" + request.get("key").asText().replace("/", "%2F"));
        a.thread.submit(() -> {
            try {
                if (!a.mutex.acquire(wait, TimeUnit.MILLISECONDS)) {
                    forget(request);
                    say(answer.put("fail", "taken"));
                    return;
                }
                // A connection that went before this has come back: the answers came over it.
                synchronized (a) {
                    a.granted = true;
                }
                say(answer.put("ok", true).put("renewed", true).put("lease_ns", session * 1_000_000L));
            } catch (Throwable e) {
                say(answer.put("unknown", e.toString()));
            }
        });
    }

    static void release(JsonNode request, ObjectNode answer) {
        Attempt a = attempts.get(request.get("session").asText());
        if (a == null) {
            say(answer.put("fail", "not-held"));
            return;
        }
        a.thread.submit(() -> {
            synchronized (a) {
                a.releasing = true;
            }
            try {
                a.mutex.release();
                forget(request);
                // Curator deletes a node and does not say whether it was there. That only its
                // listener may know.
                synchronized (a) {
                    if (a.expired) {
                        answer.put("fail", "not-held");
                    } else if (a.told) {
                        answer.put("unknown", "released after a SUSPENDED, and nobody knows whether it was held");
                    } else {
                        answer.put("ok", true);
                    }
                }
                say(answer);
            } catch (IllegalMonitorStateException e) {
                // The acquire has failed, or a release has: Curator holds nothing that it knows of.
                forget(request);
                say(a.granted ? answer.put("unknown", e.toString()) : answer.put("fail", "not-held"));
            } catch (Throwable e) {
                say(answer.put("unknown", e.toString()));
            }
        });
    }

    static void forget(JsonNode request) {
        Attempt a = attempts.remove(request.get("session").asText());
        if (a != null) {
            a.thread.shutdown();
        }
    }

    static void check(JsonNode request, ObjectNode answer) {
        Attempt a = attempts.get(request.get("session").asText());
        boolean holds = false;
        if (a != null) {
            synchronized (a) {
                holds = a.granted && !a.told;
            }
        }
        say(holds ? answer.put("ok", true) : answer.put("fail", "lost"));
    }

    static void handle(JsonNode request) {
        ObjectNode answer = object();
        answer.set("id", request.get("id"));
        try {
            switch (request.get("op").asText()) {
                case "open":
                    StringJoiner all = new StringJoiner(",");
                    request.get("store").get("endpoints").get("zookeeper").forEach(n -> all.add(n.get("addr").asText()));
                    servers = all.toString();
                    say(answer.put("ok", true));
                    break;
                case "acquire":
                    acquire(request, answer);
                    break;
                case "check":
                    check(request, answer);
                    break;
                case "release":
                    release(request, answer);
                    break;
                case "touch":
                    say(answer.put("ok", true));
                    break;
                case "close":
                    clients.values().forEach(CuratorFramework::close);
                    say(answer.put("ok", true));
                    break;
                default:
                    say(answer.put("fail", "unsupported"));
            }
        } catch (Throwable e) {
            say(answer.put("unknown", e.toString()));
        }
    }

    public static void main(String[] args) throws Exception {
        System.setOut(System.err);
        ObjectNode hello = object().put("hello", "lockbench-guest/1").put("name", "zk-curator").put("family", "single-store");
        ObjectNode claims = hello.putObject("claims").put("renewed", true).put("waits", true);
        if (LISTENS) {
            claims.put("watched", true);
        }
        say(hello.put("service", "zookeeper"));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            handle(JSON.readTree(line));
        }
        System.exit(0);
    }
}
