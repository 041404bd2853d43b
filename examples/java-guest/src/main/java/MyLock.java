import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisPoolConfig;
import redis.clients.jedis.JedisSentinelPool;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.util.Pool;

/** MyLock is SET NX PX with a token on one master of Redis. Replace it by your lock. */
final class MyLock {
    static final String VERSION = "jedis 7.5.3";
    private static final String IF_MINE = "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end ";
    // A Jedis connection sends each command once. A library that sends SET NX again after a lost answer gets
    // the answer "taken", although its first SET NX has taken the lock.
    private static final JedisClientConfig CONFIG =
            DefaultJedisClientConfig.builder().connectionTimeoutMillis(500).socketTimeoutMillis(500).build();

    private final Pool<Jedis> servers;

    private MyLock(Pool<Jedis> servers) {
        this.servers = servers;
    }

    static MyLock single(String address) {
        return new MyLock(new JedisPool(new JedisPoolConfig(), HostAndPort.from(address), CONFIG));
    }

    static MyLock sentinel(String master, List<String> sentinels) {
        Set<HostAndPort> addresses = sentinels.stream().map(HostAndPort::from).collect(Collectors.toSet());
        return new MyLock(new JedisSentinelPool(master, addresses, new JedisPoolConfig(), CONFIG, CONFIG));
    }

    Attempt attempt(String key) {
        return new Attempt(key);
    }

    /** Attempt is one attempt to get a lock. Its methods return whether the server did it, and throw if that is unknown. */
    final class Attempt {
        long end; // of the lease, as System.nanoTime(); counted from before the request
        private final String key, token = UUID.randomUUID().toString();

        private Attempt(String key) {
            this.key = key;
        }

        boolean acquire(long ttl) {
            end = System.nanoTime() + ttl * 1_000_000;
            try (Jedis redis = servers.getResource()) {
                return "OK".equals(redis.set(key, token, SetParams.setParams().nx().px(ttl)));
            }
        }

        boolean renew(long ttl) {
            long renewed = System.nanoTime() + ttl * 1_000_000;
            boolean done = run("return redis.call('pexpire', KEYS[1], ARGV[2])", Long.toString(ttl));
            end = done ? renewed : end;
            return done;
        }

        boolean release() {
            return run("return redis.call('del', KEYS[1])", "");
        }

        private boolean run(String script, String argument) {
            try (Jedis redis = servers.getResource()) {
                return (long) redis.eval(IF_MINE + script, List.of(key), List.of(token, argument)) == 1;
            }
        }
    }
}
