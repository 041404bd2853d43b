package lockbench;

import com.google.gson.JsonObject;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.redisson.RedissonMultiLock;
import org.redisson.RedissonRedLock;
import org.redisson.api.RFuture;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.BaseConfig;
import org.redisson.config.BaseMasterSlaveServersConfig;
import org.redisson.config.ClusterServersConfig;
import org.redisson.config.Config;
import org.redisson.config.SentinelServersConfig;
import org.redisson.config.SingleServerConfig;

/**
 * Redisson is a guest of lockbench: the locks of org.redisson:redisson. The words of its command line are the
 * name of a lock and OPTION=VALUE. What only some versions have is called by its name, so that all versions are
 * built from this file.
 */
public final class Redisson implements Guest.Library {
    private final String lock;
    private final Map<String, String> options;
    private final List<RedissonClient> clients = new ArrayList<>();
    private final String call;
    private long watchdog = 30_000;

    private Redisson(String lock, Map<String, String> options) throws ReflectiveOperationException {
        this.lock = lock;
        this.options = options;
        call = lock.equals("redisson-fenced")
                ? Main.call(options, "tryLockAndGetToken", "lockAndGetToken", "tryLockAndGetTokenAsync", "lockAndGetTokenAsync")
                : Main.call(options, "tryLock", "lock", "tryLockAsync", "lockAsync");
        config();
    }

    public static void main(String[] words) throws Exception {
        Main.run(words, Redisson::new);
    }

    @Override
    public JsonObject hello() {
        List<String> claims = new ArrayList<>(List.of("bounded", "renewed", "reentrant", "waits"));
        switch (lock) {
            case "redisson":
            case "redisson-spin":
            case "redisson-redlock":
                break;
            case "redisson-fair":
                claims.add("fair");
                break;
            case "redisson-rw":
                claims.add("shared");
                break;
            case "redisson-fenced":
                claims.add("fenced");
                break;
            case "redisson-multi":
                claims.add("several");
                break;
            default:
                throw new IllegalArgumentException("unknown lock");
        }
        return Main.hello(lock, "redis", lock.endsWith("-multi") || lock.endsWith("-redlock") ? "majority" : "single-store", claims,
                Main.version(RLock.class, "org.redisson", "redisson"));
    }

    /** config is the part of the configuration that does not depend on where the servers are. */
    private Config config() throws ReflectiveOperationException {
        Config c = new Config();
        // adds redisson*: StringCodec, four threads, and as many idle connections as option pool says, so that a client starts fast
        c.setCodec(StringCodec.INSTANCE);
        c.setThreads(4).setNettyThreads(4);
        for (Map.Entry<String, String> o : options.entrySet()) {
            switch (o.getKey()) {
                case "watchdog":
                    watchdog = millis(o);
                    c.setLockWatchdogTimeout(watchdog);
                    break;
                case "synced-slaves":
                    set(c, o, "setCheckLockSyncedSlaves", boolean.class, o.getValue().equals("on"));
                    break;
                case "sync-timeout":
                    set(c, o, "setSlavesSyncTimeout", long.class, millis(o));
                    break;
                case "call":
                case "timeout":
                case "retries":
                case "retry-interval":
                case "pool":
                case "scan-interval":
                case "ping-interval":
                    break;
                default:
                    throw new IllegalArgumentException("unknown option " + o.getKey());
            }
        }
        return c;
    }

    /** set calls a method that not all versions of Redisson have. */
    private static void set(Config c, Map.Entry<String, String> option, String method, Class<?> type, Object value)
            throws ReflectiveOperationException {
        try {
            Config.class.getMethod(method, type).invoke(c, value);
        } catch (NoSuchMethodException e) {
            throw new IllegalArgumentException("this version of Redisson has no option " + option.getKey());
        }
    }

    private static long millis(Map.Entry<String, String> option) {
        return Main.millis(option.getKey(), option.getValue());
    }

    /** tune applies the options that each way to connect has. */
    private <T extends BaseConfig<T>> T tune(T c) {
        for (Map.Entry<String, String> o : options.entrySet()) {
            switch (o.getKey()) {
                case "timeout":
                    c.setTimeout((int) millis(o));
                    break;
                case "retries":
                    c.setRetryAttempts(Integer.parseInt(o.getValue()));
                    break;
                case "retry-interval":
                    c.setRetryInterval((int) millis(o));
                    break;
                case "ping-interval":
                    c.setPingConnectionInterval((int) millis(o));
                    break;
                case "scan-interval":
                    if (c instanceof ClusterServersConfig) {
                        ((ClusterServersConfig) c).setScanInterval((int) millis(o));
                    } else if (c instanceof SentinelServersConfig) {
                        ((SentinelServersConfig) c).setScanInterval((int) millis(o));
                    }
                    break;
                default:
            }
        }
        int pool = Integer.parseInt(options.getOrDefault("pool", "4"));
        if (c instanceof SingleServerConfig) {
            ((SingleServerConfig) c).setConnectionMinimumIdleSize(pool);
        } else if (c instanceof BaseMasterSlaveServersConfig) {
            ((BaseMasterSlaveServersConfig<?>) c).setMasterConnectionMinimumIdleSize(pool).setSlaveConnectionMinimumIdleSize(pool);
        }
        return c;
    }

    private static List<String> addresses(JsonObject store, String of) {
        List<String> all = new ArrayList<>();
        Main.addresses(store, of).forEach(addr -> all.add("redis://" + addr));
        return all;
    }

    @Override
    public void open(JsonObject store) throws Exception {
        String topology = store.get("topology").getAsString();
        List<String> nodes = addresses(store, "nodes");
        switch (topology) {
            case "sentinel": {
                Config c = config();
                SentinelServersConfig s = tune(c.useSentinelServers()).setMasterName(store.get("master_name").getAsString());
                addresses(store, "sentinels").forEach(s::addSentinelAddress);
                clients.add(org.redisson.Redisson.create(c));
                return;
            }
            case "cluster": {
                Config c = config();
                tune(c.useClusterServers()).addNodeAddress(nodes.toArray(new String[0]));
                clients.add(org.redisson.Redisson.create(c));
                return;
            }
            case "single":
            case "replicated":
            case "independent":
                for (String node : nodes) {
                    Config c = config();
                    tune(c.useSingleServer()).setAddress(node);
                    clients.add(org.redisson.Redisson.create(c));
                }
                return;
            default:
                throw new UnsupportedOperationException("topology " + topology);
        }
    }

    @Override
    public Guest.Lock lock(Guest.Ask ask) {
        if (ask.keys.size() > 1 && !lock.equals("redisson-multi")) {
            throw new UnsupportedOperationException("one key at a time; redisson-multi takes several");
        }
        if (ask.shared && !lock.equals("redisson-rw")) {
            throw new UnsupportedOperationException("this lock cannot be shared; redisson-rw can");
        }
        String key = ask.keys.get(0);
        RedissonClient c = clients.get(0);
        switch (lock) {
            case "redisson-fair":
                return new Attempt(c.getFairLock(key), ask);
            case "redisson-rw":
                return new Attempt(ask.shared ? c.getReadWriteLock(key).readLock() : c.getReadWriteLock(key).writeLock(), ask);
            case "redisson-spin":
                return new Attempt(named(c, "getSpinLock", key), ask);
            case "redisson-fenced":
                return new Fenced(named(c, "getFencedLock", key), ask);
            case "redisson-multi":
                return new Attempt(new RedissonMultiLock(all(ask.keys)), ask);
            case "redisson-redlock":
                return new Attempt(new RedissonRedLock(all(ask.keys)), ask);
            default:
                return new Attempt(c.getLock(key), ask);
        }
    }

    /** all are the locks of each key on each master. */
    private RLock[] all(List<String> keys) {
        List<RLock> all = new ArrayList<>();
        for (String key : keys) {
            for (RedissonClient c : clients) {
                all.add(c.getLock(key));
            }
        }
        return all.toArray(new RLock[0]);
    }

    /** named calls a method that not all versions of Redisson have. */
    private static RLock named(RedissonClient c, String method, String key) {
        try {
            return (RLock) RedissonClient.class.getMethod(method, String.class).invoke(c, key);
        } catch (ReflectiveOperationException e) {
            throw new UnsupportedOperationException("this version of Redisson has no " + method);
        }
    }

    @Override
    public void close() {
        clients.forEach(c -> c.shutdown(0, 1, TimeUnit.SECONDS));
    }

    /** Attempt is an RLock as an application uses it. */
    private class Attempt implements Guest.Lock {
        final RLock lock;
        final Guest.Ask ask;

        Attempt(RLock lock, Guest.Ask ask) {
            this.lock = lock;
            this.ask = ask;
        }

        @Override
        public boolean waits() {
            return call.startsWith("lock");
        }

        /** unit is that in which an application states the lease: seconds, if they are whole. */
        final TimeUnit unit() {
            return ask.ttl % 1000 == 0 ? TimeUnit.SECONDS : TimeUnit.MILLISECONDS;
        }

        final long lease() {
            return unit().convert(ask.ttl, TimeUnit.MILLISECONDS);
        }

        final boolean async() {
            return call.endsWith("Async");
        }

        /** result waits for the result of an asynchronous call. */
        final <T> T result(RFuture<T> future) throws Exception {
            try {
                return future.get();
            } catch (ExecutionException e) {
                throw e.getCause() instanceof Exception ? (Exception) e.getCause() : e;
            }
        }

        @Override
        public boolean acquire() throws Exception {
            if (async()) {
                return acquireAsync();
            }
            if (waits() && ask.ttl > 0) {
                lock.lock(lease(), unit());
                return true;
            }
            if (waits()) {
                lock.lock();
                return true;
            }
            if (ask.ttl > 0) {
                return lock.tryLock(ask.wait, ask.ttl, TimeUnit.MILLISECONDS);
            }
            return ask.wait > 0 ? lock.tryLock(ask.wait, TimeUnit.MILLISECONDS) : lock.tryLock();
        }

        private boolean acquireAsync() throws Exception {
            if (waits()) {
                result(ask.ttl > 0 ? lock.lockAsync(lease(), unit()) : lock.lockAsync());
                return true;
            }
            if (ask.ttl > 0) {
                return result(lock.tryLockAsync(ask.wait, ask.ttl, TimeUnit.MILLISECONDS));
            }
            return result(ask.wait > 0 ? lock.tryLockAsync(ask.wait, TimeUnit.MILLISECONDS) : lock.tryLockAsync());
        }

        @Override
        public boolean release() throws Exception {
            try {
                if (async()) {
                    result(lock.unlockAsync());
                } else {
                    lock.unlock();
                }
                return true;
            } catch (IllegalMonitorStateException e) {
                return false;
            }
        }

        @Override
        public long renewed() {
            return ask.ttl > 0 ? 0 : watchdog;
        }
    }

    /** Fenced is an RFencedLock. */
    private final class Fenced extends Attempt {
        private Long token;

        Fenced(RLock lock, Guest.Ask ask) {
            super(lock, ask);
        }

        @Override
        public boolean acquire() throws Exception {
            if (waits()) {
                token = ask.ttl > 0 ? call(new Class<?>[] {long.class, TimeUnit.class}, lease(), unit()) : call(new Class<?>[0]);
            } else if (ask.ttl > 0) {
                token = call(new Class<?>[] {long.class, long.class, TimeUnit.class}, ask.wait, ask.ttl, TimeUnit.MILLISECONDS);
            } else if (ask.wait > 0) {
                token = call(new Class<?>[] {long.class, TimeUnit.class}, ask.wait, TimeUnit.MILLISECONDS);
            } else {
                token = call(new Class<?>[0]);
            }
            return token != null;
        }

        @SuppressWarnings("unchecked")
        private Long call(Class<?>[] types, Object... args) throws Exception {
            try {
                Object answer = Class.forName("org.redisson.api.RFencedLock").getMethod(call, types).invoke(lock, args);
                return async() ? result((RFuture<Long>) answer) : (Long) answer;
            } catch (InvocationTargetException e) {
                throw e.getCause() instanceof Exception ? (Exception) e.getCause() : e;
            }
        }

        @Override
        public Long token() {
            return token;
        }
    }
}
