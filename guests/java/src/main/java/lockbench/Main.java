package lockbench;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Main starts a guest from the words of its command line: the name of a lock, and OPTION=VALUE. */
final class Main {
    private Main() {}

    /** Maker makes a library from the name of a lock and its options. It throws IllegalArgumentException for what it does not know. */
    interface Maker {
        Guest.Library make(String lock, Map<String, String> options) throws Exception;
    }

    static void run(String[] words, Maker maker) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        boolean archive = words.length > 0 && words[0].equals("--archive");
        if (archive) {
            words = Arrays.copyOfRange(words, 1, words.length);
        }
        if (words.length == 0) {
            System.err.println("usage: run LOCK [OPTION=VALUE ...], for example run redisson watchdog=3s");
            System.exit(64);
        }
        Guest.Library library = null;
        try {
            library = maker.make(words[0], options(words));
            library.hello();
        } catch (IllegalArgumentException | ReflectiveOperationException e) {
            System.err.println(words[0] + ": " + e.getMessage());
            System.exit(64);
        }
        try {
            if (archive) {
                archive(library);
            } else {
                new Guest(out, library).serve();
            }
        } finally {
            System.exit(0); // threads of the library and of sessions are left
        }
    }

    /** archive loads the classes that a client needs, for the archive of classes that the JVM writes at its end. */
    private static void archive(Guest.Library library) throws InterruptedException {
        Thread tries = new Thread(() -> {
            try {
                library.open(JsonParser.parseString("{topology:single,nodes:[{addr:'127.0.0.1:1'}],"
                        + "endpoints:{zookeeper:[{addr:'127.0.0.1:1'}],apiserver:[{addr:'127.0.0.1:1'}]}}").getAsJsonObject());
                Guest.Ask ask = new Guest.Ask();
                ask.keys.add("a");
                ask.ttl = 1000;
                ask.wait = 100;
                library.lock(ask).acquire();
            } catch (Exception e) {
                System.err.println("as expected without a server: " + e);
            }
        });
        tries.start();
        tries.join(5000); // a client may try for longer
    }

    private static Map<String, String> options(String[] words) {
        Map<String, String> options = new TreeMap<>();
        for (int i = 1; i < words.length; i++) {
            String[] word = words[i].split("=", 2);
            if (word.length == 2 && word[1].equals("default") || word[0].equals("version")) {
                continue; // left to the library; decided by the program that starts this one
            }
            options.put(word[0], word.length == 2 ? word[1] : "");
        }
        return options;
    }

    /** call is the option call: the method that acquires, of which the first one is the default. */
    static String call(Map<String, String> options, String... calls) {
        String call = options.getOrDefault("call", calls[0]);
        if (!List.of(calls).contains(call)) {
            throw new IllegalArgumentException("option call: \"" + call + "\" is not " + String.join(" or ", calls));
        }
        return call;
    }

    /** millis reads a duration as Go writes it, 1m30s. */
    static long millis(String option, String value) {
        if (!value.matches("([0-9.]+(ms|s|m|h))+")) {
            throw new IllegalArgumentException("option " + option + ": " + value + " is not a duration such as 2s");
        }
        double sum = 0;
        Matcher part = Pattern.compile("([0-9.]+)(ms|s|m|h)").matcher(value);
        while (part.find()) {
            sum += Double.parseDouble(part.group(1)) * Map.of("ms", 1, "s", 1000, "m", 60_000, "h", 3_600_000).get(part.group(2));
        }
        return Math.round(sum);
    }

    /** hello is the greeting of a guest, which claims what is in the list claims. */
    static JsonObject hello(String lock, String service, String family, List<String> claims, String version) {
        JsonObject hello = new JsonObject(), made = new JsonObject();
        hello.addProperty("hello", "lockbench-guest/1");
        hello.addProperty("name", lock);
        hello.addProperty("version", version);
        hello.addProperty("service", service);
        hello.addProperty("family", family);
        claims.forEach(claim -> made.addProperty(claim, true));
        hello.add("claims", made);
        JsonArray model = new JsonArray();
        model.add(claims.contains("shared") ? "rw" : "mutex");
        for (String kind : List.of("reentrant", "fenced")) {
            if (claims.contains(kind)) {
                model.add(kind);
            }
        }
        hello.add("model", model);
        return hello;
    }

    /** version is an artifact of Maven with the version that its jar has. */
    static String version(Class<?> of, String group, String artifact) {
        Properties p = new Properties();
        try (InputStream in = of.getResourceAsStream("/META-INF/maven/" + group + "/" + artifact + "/pom.properties")) {
            p.load(in);
        } catch (IOException | RuntimeException e) {
            System.err.println("the version of " + artifact + " is not known: " + e);
        }
        return group + ":" + artifact + ":" + p.getProperty("version");
    }

    /** addresses are those of a list in the store. */
    static List<String> addresses(JsonObject store, String of) {
        List<String> all = new ArrayList<>();
        JsonArray nodes = store.has(of) ? store.getAsJsonArray(of) : new JsonArray();
        nodes.forEach(n -> all.add(n.getAsJsonObject().get("addr").getAsString()));
        return all;
    }
}
