import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Guest is the protocol part of the guest, which docs/guest-protocol.md describes. It serves one request after the other. */
public final class Guest {
    private static final Map<String, MyLock.Attempt> sessions = new HashMap<>();
    private static MyLock lock;

    private Guest() {}

    public static void main(String[] args) throws IOException {
        PrintStream out = System.out;
        System.setOut(System.err); // a library that prints does not disturb the protocol
        out.println("{\"hello\":\"lockbench-guest/1\",\"name\":\"mylock\",\"version\":\"" + MyLock.VERSION
                + "\",\"family\":\"single-store\",\"claims\":{\"bounded\":true}}");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            long read = System.nanoTime(); // until_ns counts from here
            JsonObject request = JsonParser.parseString(line).getAsJsonObject();
            JsonObject answer;
            try {
                answer = answer(request, read);
            } catch (Exception e) { // no answer, or an error in its place: the request may have been executed
                answer = answer("unknown", e.toString());
            }
            answer.add("id", request.get("id"));
            out.println(answer);
            out.flush();
            if (text(request, "op").equals("close")) {
                break;
            }
        }
        System.exit(0); // threads of the client library are left
    }

    private static JsonObject answer(JsonObject request, long read) throws Exception {
        MyLock.Attempt attempt = sessions.get(text(request, "session"));
        switch (text(request, "op")) {
            case "open":
                lock = open(request.getAsJsonObject("store"));
                return lock == null ? answer("fail", "unsupported") : ok();
            case "acquire":
                return acquire(request, read);
            case "check":
                return attempt != null && System.nanoTime() - attempt.end < 0 ? ok() : answer("fail", "lost");
            case "renew":
                return attempt != null && attempt.renew(millis(request)) ? leased(attempt, read) : answer("fail", "not-held");
            case "release": // keeps the session, because a release with an unknown outcome is sent again
                return attempt != null && attempt.release() ? ok() : answer("fail", "not-held");
            case "touch": // does not check again
            case "close":
                return ok();
            default:
                return answer("fail", "bad-request");
        }
    }

    private static JsonObject acquire(JsonObject request, long read) throws Exception {
        String session = text(request, "session"), mode = text(request, "mode");
        boolean plain = request.has("key") && !request.has("owner") && !request.has("wait_ns") && !mode.equals("shared");
        if (!plain || millis(request) < 1) {
            return answer("fail", "unsupported"); // it takes one key, tries once, and needs a TTL of at least 1 ms
        }
        MyLock.Attempt attempt = lock.attempt(text(request, "key"));
        sessions.put(session, attempt); // before the request, so that a release cleans up after an unknown outcome
        if (!attempt.acquire(millis(request))) {
            sessions.remove(session);
            return answer("fail", "taken");
        }
        return leased(attempt, read);
    }

    /** open connects to one master, directly or through its sentinels. Other topologies are unsupported. */
    private static MyLock open(JsonObject store) throws InterruptedException {
        switch (text(store, "topology")) {
            case "single":
            case "replicated":
                return MyLock.single(addresses(store, "nodes").get(0));
            case "sentinel":
                for (; ; ) {
                    try {
                        return MyLock.sentinel(text(store, "master_name"), addresses(store, "sentinels"));
                    } catch (RuntimeException e) { // lockbench limits the time
                        System.err.println(e);
                        Thread.sleep(100);
                    }
                }
            default:
                return null;
        }
    }

    private static List<String> addresses(JsonObject store, String list) {
        List<String> all = new ArrayList<>();
        JsonArray nodes = store.getAsJsonArray(list);
        nodes.forEach(node -> all.add(text(node.getAsJsonObject(), "addr")));
        return all;
    }

    private static JsonObject leased(MyLock.Attempt attempt, long read) {
        JsonObject answer = ok();
        answer.addProperty("until_ns", attempt.end - read);
        return answer;
    }

    private static JsonObject ok() {
        JsonObject answer = new JsonObject();
        answer.addProperty("ok", true);
        return answer;
    }

    private static JsonObject answer(String outcome, String text) {
        JsonObject answer = new JsonObject();
        answer.addProperty(outcome, text);
        return answer;
    }

    private static String text(JsonObject object, String field) {
        return object.has(field) ? object.get(field).getAsString() : "";
    }

    private static long millis(JsonObject request) {
        return request.has("ttl_ns") ? request.get("ttl_ns").getAsLong() / 1_000_000 : 0;
    }
}
