package lockbench;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

// adds redisson*, spring-*, shedlock-*, curator: a thread for each owner, and a thread of a pool for each attempt without an owner
// adds redisson*, spring-*, shedlock-*, curator: no second release, because its thread may have another attempt then
/**
 * Guest is lockbench's protocol (docs/guest-protocol.md) around a library whose locks belong to threads. Each
 * owner has a thread of its own. Attempts without an owner take a free thread, as in a server's pool: a thread
 * is free again when its attempt ended and the library said that nothing of it is left.
 */
final class Guest {
    /** Library is what an adapter implements. Its exceptions become unknown outcomes. */
    interface Library {
        JsonObject hello();
        void open(JsonObject store) throws Exception;
        /** lock makes the lock of one attempt. It asks no server. */
        Lock lock(Ask ask);
        void close();
    }

    /** Ask is what one attempt asks for. ttl and wait are in milliseconds; 0 means none. */
    static final class Ask {
        final List<String> keys = new ArrayList<>();
        boolean shared;
        long ttl, wait;
        Runnable lost; // the adapter runs it when the library says that the lock is lost
    }

    /** Lock is one attempt. Its calls run on one thread. release and renew are false if nothing was held. */
    interface Lock {
        boolean acquire() throws Exception;
        /** waits is true if acquire cannot give up. Its outcome is unknown when the wait of the request is over. */
        default boolean waits() {
            return false;
        }
        boolean release() throws Exception;
        /** tells is false if the library's unlock does not tell whether the lock was held. */
        default boolean tells() {
            return true;
        }
        default boolean renew(long ttl) throws Exception {
            throw new UnsupportedOperationException("the library has nothing for renew");
        }
        /** renewed is the length of the lease in milliseconds if the library renews it, or else 0. */
        default long renewed() {
            return 0;
        }
        /** token is the fencing token of the grant, or null. */
        default Long token() {
            return null;
        }
    }

    /** Session is a Lock in the protocol. All but held, end and lost belong to its thread. */
    private static final class Session {
        ExecutorService thread;
        Lock lock;
        boolean owned, ended, lost, answered;
        volatile boolean held;
        volatile Long end; // of the lease, as System.nanoTime; null: it is renewed
    }

    private final PrintStream out;
    private final Library library;
    private final Map<String, Session> sessions = new ConcurrentHashMap<>();
    private final Map<String, ExecutorService> owners = new ConcurrentHashMap<>();
    private final ConcurrentLinkedDeque<ExecutorService> free = new ConcurrentLinkedDeque<>();
    private final ScheduledExecutorService alarms = Executors.newSingleThreadScheduledExecutor();
    private boolean opened;

    Guest(PrintStream out, Library library) {
        this.out = out;
        this.library = library;
    }

    /** serve answers requests until standard input ends. */
    void serve() throws Exception {
        say(library.hello());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            JsonObject request = JsonParser.parseString(line).getAsJsonObject(), answer = new JsonObject();
            answer.add("id", request.get("id"));
            try {
                handle(request, answer);
                continue;
            } catch (UnsupportedOperationException | IllegalArgumentException e) {
                answer.addProperty("fail", e instanceof IllegalArgumentException ? "bad-request" : "unsupported");
                answer.addProperty("text", e.getMessage());
            } catch (Exception e) {
                answer.addProperty("unknown", e.toString());
            }
            say(answer);
        }
    }

    /** say writes a line. An answer without another outcome is ok. */
    private synchronized void say(JsonObject line) {
        if (line.has("id") && !line.has("fail") && !line.has("unknown") && !line.has("done")) {
            line.addProperty("ok", true);
        }
        out.println(line);
        out.flush();
    }

    private void handle(JsonObject request, JsonObject answer) throws Exception {
        String op = text(request, "op");
        Session s = sessions.get(text(request, "session"));
        check(s != null || !List.of("check", "touch", "release", "renew").contains(op), "unknown session");
        switch (op) {
            case "open":
                library.open(request.getAsJsonObject("store"));
                opened = true;
                break;
            case "acquire":
                acquire(request, answer);
                return;
            case "check":
                if (!s.held || s.end != null && System.nanoTime() - s.end >= 0) {
                    answer.addProperty("fail", "lost");
                }
                break;
            case "touch":
                break;
            case "renew":
                long ttl = millis(request, "ttl_ns");
                s.thread.execute(() -> renew(s, ttl, answer));
                return;
            case "release":
                s.thread.execute(() -> release(s, answer));
                return;
            case "close":
                library.close();
                say(answer);
                System.exit(0);
                return;
            default:
                throw new UnsupportedOperationException("the library has nothing for " + op);
        }
        say(answer);
    }

    private static String text(JsonObject request, String name) {
        return request.has(name) ? request.get(name).getAsString() : "";
    }

    private static long millis(JsonObject request, String name) {
        long nanos = request.has(name) ? request.get(name).getAsLong() : 0;
        check(nanos >= 0, name + " is negative");
        return (nanos + 999_999) / 1_000_000;
    }

    private static void check(boolean right, String text) {
        if (!right) throw new IllegalArgumentException(text);
    }

    private void acquire(JsonObject request, JsonObject answer) {
        Ask ask = new Ask();
        String key = text(request, "key"), name = text(request, "session"), mode = text(request, "mode"), owner = text(request, "owner");
        if (request.has("keys")) request.getAsJsonArray("keys").forEach(k -> ask.keys.add(k.getAsString()));
        check(opened, "an acquire comes after open");
        check(key.isEmpty() != ask.keys.isEmpty() && !ask.keys.contains(""), "an acquire has either a key or keys");
        check(List.of("", "shared", "exclusive").contains(mode), "mode is exclusive or shared");
        if (!key.isEmpty()) ask.keys.add(key);
        ask.shared = mode.equals("shared");
        ask.ttl = millis(request, "ttl_ns");
        ask.wait = millis(request, "wait_ns");
        Session s = new Session();
        ask.lost = () -> lost(name, s);
        s.lock = library.lock(ask);
        boolean waits = s.lock.waits();
        if (waits && ask.wait == 0) throw new UnsupportedOperationException("this call waits until it is granted");
        s.owned = !owner.isEmpty();
        check(!name.isEmpty() && sessions.putIfAbsent(name, s) == null, "an acquire has a new session");
        s.thread = s.owned ? owners.computeIfAbsent(owner, o -> Executors.newSingleThreadExecutor()) : free.poll();
        s.thread = s.thread == null ? Executors.newSingleThreadExecutor() : s.thread;
        s.thread.execute(() -> acquire(name, s, ask.ttl, answer));
        if (waits) alarms.schedule(() -> overdue(s, request), ask.wait, TimeUnit.MILLISECONDS);
    }

    private void acquire(String name, Session s, long ttl, JsonObject answer) {
        boolean granted = false;
        try {
            granted = s.lock.acquire();
            if (granted) {
                granted(s, ttl, answer);
                if (s.lock.token() != null) answer.addProperty("token", s.lock.token());
            } else {
                end(s);
                answer.addProperty("fail", "taken");
            }
        } catch (Throwable e) {
            answer.addProperty("unknown", e.toString());
        }
        synchronized (this) { // a notice of a loss comes after the answer
            if (s.answered) return; // the release that follows an unknown outcome waits for this thread
            s.answered = true;
            s.held = granted;
            say(answer);
            if (s.lost) lost(name, s);
        }
    }

    private synchronized void overdue(Session s, JsonObject request) {
        if (s.answered) return;
        s.answered = true;
        JsonObject answer = new JsonObject();
        answer.add("id", request.get("id"));
        answer.addProperty("unknown", "the call is still waiting");
        say(answer);
    }

    /** granted: no library here reports when a lease ends that it does not renew, so the client counts it from the answer. */
    private static void granted(Session s, long ttl, JsonObject answer) {
        long renewed = s.lock.renewed();
        if (renewed > 0) {
            answer.addProperty("renewed", true);
            answer.addProperty("lease_ns", TimeUnit.MILLISECONDS.toNanos(renewed));
            return;
        }
        s.end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ttl);
    }

    private synchronized void lost(String name, Session s) {
        s.lost = true;
        if (!s.held) return;
        s.held = false;
        JsonObject notice = new JsonObject();
        notice.addProperty("notice", "lost");
        notice.addProperty("session", name);
        say(notice);
    }

    private void renew(Session s, long ttl, JsonObject answer) {
        try {
            if (!s.ended && s.lock.renew(ttl)) {
                granted(s, ttl, answer);
            } else {
                answer.addProperty("fail", "not-held");
            }
        } catch (UnsupportedOperationException e) {
            answer.addProperty("fail", "unsupported");
        } catch (Throwable e) {
            answer.addProperty("unknown", e.toString());
        }
        say(answer);
    }

    /** release runs on the thread of the session, so one that comes early waits for the acquire. */
    private void release(Session s, JsonObject answer) {
        synchronized (this) {
            s.held = false;
        }
        try {
            boolean released = !s.ended && s.lock.release();
            if (!released) {
                answer.addProperty("fail", "not-held");
            } else if (!s.lock.tells()) {
                answer.addProperty("done", true);
            }
            end(s);
        } catch (Throwable e) {
            answer.addProperty("unknown", e.toString());
        }
        say(answer);
    }

    private void end(Session s) {
        if (!s.ended && !s.owned) free.push(s.thread);
        s.ended = true;
        s.lock = null;
    }
}
