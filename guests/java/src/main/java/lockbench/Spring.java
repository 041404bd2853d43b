package lockbench;

import com.google.gson.JsonObject;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.RedisNode;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.integration.support.locks.RenewableLockRegistry;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/**
 * Spring is a guest of lockbench: RedisLockRegistry and JdbcLockRegistry of Spring Integration, and the lock providers of
 * ShedLock for Redis and JDBC, on Lettuce and on a pool of HikariCP as in an application of Spring Boot.
 */
public final class Spring implements Guest.Library {
    private final String lock, service, call;
    private final boolean shedLock;
    private final Map<String, String> options;
    private RenewableLockRegistry<DistributedLock> registry, renewing;
    private LockProvider provider;
    private LettuceConnectionFactory redis;
    private HikariDataSource pool;

    private Spring(String lock, Map<String, String> options) {
        this.lock = lock;
        this.options = options;
        List<String> known = new ArrayList<>(List.of("timeout"));
        switch (lock) {
            case "spring-redis":
                known.addAll(List.of("lease", "type", "call"));
                service = "redis";
                break;
            case "shedlock-redis":
                known.add("safe-update");
                service = "redis";
                break;
            case "spring-jdbc":
            case "spring-jdbc-mariadb":
            case "shedlock-jdbc":
            case "shedlock-jdbc-mariadb":
                service = lock.endsWith("mariadb") ? "mariadb" : "postgres";
                known.add("pool");
                if (lock.startsWith("spring")) {
                    known.add("call");
                }
                break;
            default:
                throw new IllegalArgumentException("unknown lock");
        }
        shedLock = lock.startsWith("shedlock");
        if (lock.startsWith("shedlock-jdbc")) {
            known.addAll(List.of("db-time", "own-name"));
        }
        call = Main.call(options, "tryLock", "lock");
        options.keySet().forEach(o -> {
            if (!known.contains(o)) {
                throw new IllegalArgumentException("unknown option " + o);
            }
        });
    }

    public static void main(String[] words) throws Exception {
        Main.run(words, Spring::new);
    }

    private long millis(String option, String standard) {
        return Main.millis(option, options.getOrDefault(option, standard));
    }

    @Override
    public JsonObject hello() {
        List<String> claims = new ArrayList<>(List.of("bounded"));
        if (!shedLock) {
            claims.addAll(List.of("reentrant", "waits"));
        }
        if (lock.equals("spring-redis")) {
            claims.add("renewed");
        }
        return Main.hello(lock, service, "single-store", claims, shedLock
                ? Main.version(LockProvider.class, "net.javacrumbs.shedlock", "shedlock-core")
                : "spring-integration " + DistributedLock.class.getPackage().getImplementationVersion());
    }

    @Override
    public void open(JsonObject store) throws Exception {
        if (service.equals("redis")) {
            openRedis(store);
        } else {
            openJdbc(store);
        }
    }

    private void openRedis(JsonObject store) {
        RedisConfiguration servers;
        List<RedisNode> nodes = nodes(store, "nodes");
        switch (store.get("topology").getAsString()) {
            case "sentinel":
                RedisSentinelConfiguration s = new RedisSentinelConfiguration().master(store.get("master_name").getAsString());
                s.setSentinels(nodes(store, "sentinels"));
                servers = s;
                break;
            case "cluster":
                RedisClusterConfiguration c = new RedisClusterConfiguration();
                c.setClusterNodes(nodes);
                servers = c;
                break;
            default:
                servers = new RedisStandaloneConfiguration(nodes.get(0).getRequiredHost(), nodes.get(0).getRequiredPort());
        }
        redis = new LettuceConnectionFactory(servers,
                LettuceClientConfiguration.builder().commandTimeout(Duration.ofMillis(millis("timeout", "60s"))).build());
        redis.afterPropertiesSet();
        redis.start();
        redis.getConnection().ping();
        if (shedLock) {
            provider = new RedisLockProvider.Builder(redis).safeUpdate(options.getOrDefault("safe-update", "off").equals("on")).build();
            return;
        }
        RedisLockRegistry.RedisLockType type = options.getOrDefault("type", "spin").equals("spin")
                ? RedisLockRegistry.RedisLockType.SPIN_LOCK : RedisLockRegistry.RedisLockType.PUB_SUB_LOCK;
        // adds spring-redis: a second registry with a scheduler, whose locks are renewed, because a registry has one lease
        RedisLockRegistry bounded = new RedisLockRegistry(redis, "lockbench");
        RedisLockRegistry watched = new RedisLockRegistry(redis, "lockbench", Duration.ofMillis(millis("lease", "60s")));
        ThreadPoolTaskScheduler scheduler = new ThreadPoolTaskScheduler();
        scheduler.initialize();
        watched.setRenewalTaskScheduler(scheduler);
        bounded.setRedisLockType(type);
        watched.setRedisLockType(type);
        registry = bounded;
        renewing = watched;
    }

    private static List<RedisNode> nodes(JsonObject store, String of) {
        List<RedisNode> all = new ArrayList<>();
        Main.addresses(store, of).forEach(addr -> all.add(RedisNode.fromString(addr)));
        return all;
    }

    private void openJdbc(JsonObject store) throws SQLException {
        JsonObject params = store.getAsJsonObject("params");
        String addr = Main.addresses(store.getAsJsonObject("endpoints"), service).get(0);
        long timeout = millis("timeout", "0s");
        pool = new HikariDataSource();
        pool.setJdbcUrl("jdbc:" + (service.equals("mariadb") ? "mariadb" : "postgresql") + "://" + addr + "/" + params.get("database").getAsString());
        pool.setUsername(params.get("user").getAsString());
        if (params.has("password")) {
            pool.setPassword(params.get("password").getAsString());
        }
        pool.setMaximumPoolSize(Integer.parseInt(options.getOrDefault("pool", "10")));
        pool.setMinimumIdle(1);
        if (service.equals("mariadb")) {
            pool.addDataSourceProperty("sslMode", "disable");
            pool.addDataSourceProperty("socketTimeout", Long.toString(timeout));
        } else {
            pool.addDataSourceProperty("sslmode", "disable");
            if (params.has("schema")) {
                pool.setSchema(params.get("schema").getAsString());
            }
            pool.addDataSourceProperty("socketTimeout", Long.toString((timeout + 999) / 1000));
        }
        table(shedLock ? SHEDLOCK : INT_LOCK);
        if (shedLock) {
            JdbcTemplateLockProvider.Configuration.Builder c =
                    JdbcTemplateLockProvider.Configuration.builder().withJdbcTemplate(new JdbcTemplate(pool));
            if (options.getOrDefault("db-time", "on").equals("on")) {
                c.usingDbTime();
            }
            if (options.getOrDefault("own-name", "off").equals("on")) {
                c.withLockedByValue(UUID.randomUUID().toString());
            }
            provider = new JdbcTemplateLockProvider(c.build());
            return;
        }
        DefaultLockRepository repository = new DefaultLockRepository(pool);
        repository.setTransactionManager(new JdbcTransactionManager(pool));
        repository.afterPropertiesSet();
        repository.afterSingletonsInstantiated();
        repository.start();
        registry = new JdbcLockRegistry(repository);
    }

    // adds spring-jdbc*, shedlock-jdbc*: the tables of the documentation (DATETIME(6) for TIMESTAMP in MariaDB), and a pool of HikariCP
    private static final String INT_LOCK = "CREATE TABLE IF NOT EXISTS INT_LOCK (LOCK_KEY CHAR(36) NOT NULL, REGION VARCHAR(100) NOT NULL, "
            + "CLIENT_ID CHAR(36), CREATED_DATE %1$s NOT NULL, EXPIRED_AFTER %1$s NOT NULL, constraint INT_LOCK_PK primary key (LOCK_KEY, REGION))";
    private static final String SHEDLOCK = "CREATE TABLE IF NOT EXISTS shedlock (name VARCHAR(64) NOT NULL, lock_until %1$s NOT NULL, "
            + "locked_at %1$s NOT NULL, locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))";

    /** table makes a table. In PostgreSQL, one of several clients that make it at once may fail, and finds it then. */
    private void table(String create) throws SQLException {
        String text = String.format(create, service.equals("mariadb") ? "DATETIME(6)" : "TIMESTAMP");
        for (int tries = 0; ; tries++) {
            try (Connection c = pool.getConnection()) {
                c.createStatement().execute(text);
                return;
            } catch (SQLException e) {
                if (tries == 5) {
                    throw e;
                }
            }
        }
    }

    @Override
    public Guest.Lock lock(Guest.Ask ask) {
        if (ask.keys.size() > 1 || ask.shared) {
            throw new UnsupportedOperationException("it takes one key, which it does not share");
        }
        if (ask.ttl == 0 && renewing == null) {
            throw new UnsupportedOperationException("it renews no lease, and needs a ttl");
        }
        if (shedLock && ask.wait > 0) {
            throw new UnsupportedOperationException("it does not wait");
        }
        return shedLock ? new Provided(ask) : new Registered(ask);
    }

    @Override
    public void close() {
        if (redis != null) {
            redis.destroy();
        }
        if (pool != null) {
            pool.close();
        }
    }

    /** Registered is a lock of a registry of Spring Integration. */
    private final class Registered implements Guest.Lock {
        private final Guest.Ask ask;
        private final RenewableLockRegistry<DistributedLock> of;
        private final String key;
        private final DistributedLock lock;

        Registered(Guest.Ask ask) {
            this.ask = ask;
            of = ask.ttl > 0 ? registry : renewing;
            key = ask.keys.get(0);
            lock = of.obtain(key);
        }

        @Override
        public boolean acquire() throws Exception {
            if (waits() && ask.ttl > 0) {
                lock.lock(Duration.ofMillis(ask.ttl));
                return true;
            }
            if (waits()) {
                lock.lock();
                return true;
            }
            if (ask.ttl > 0) {
                return lock.tryLock(Duration.ofMillis(ask.wait), Duration.ofMillis(ask.ttl));
            }
            return lock.tryLock(ask.wait, TimeUnit.MILLISECONDS);
        }

        @Override
        public boolean waits() {
            return call.equals("lock");
        }

        @Override
        public long renewed() {
            return ask.ttl > 0 ? 0 : millis("lease", "60s");
        }

        @Override
        public boolean renew(long ttl) {
            try {
                of.renewLock(key, Duration.ofMillis(ttl));
            } catch (IllegalStateException e) { // "could not renew": the store has another holder, or none
                return false;
            }
            return true;
        }

        @Override
        public boolean release() {
            try {
                lock.unlock();
            } catch (ConcurrentModificationException e) { // "released in the store due to expiration"
                return false;
            }
            return true;
        }
    }

    /** Provided is a lock of ShedLock. Its unlock does not say whether it was held. */
    private final class Provided implements Guest.Lock {
        private final Guest.Ask ask;
        private SimpleLock lock;

        Provided(Guest.Ask ask) {
            this.ask = ask;
        }

        private boolean got(Optional<SimpleLock> answer) {
            answer.ifPresent(l -> lock = l);
            return answer.isPresent();
        }

        @Override
        public boolean acquire() {
            return got(provider.lock(new LockConfiguration(Instant.now(), ask.keys.get(0), Duration.ofMillis(ask.ttl), Duration.ZERO)));
        }

        @Override
        public boolean renew(long ttl) {
            return got(lock.extend(Duration.ofMillis(ttl), Duration.ZERO));
        }

        @Override
        public boolean release() {
            if (lock == null) {
                throw new IllegalStateException("the library returned no lock that could be released");
            }
            lock.unlock();
            return true;
        }

        @Override
        public boolean tells() {
            return false;
        }
    }
}
