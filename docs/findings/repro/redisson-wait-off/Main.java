import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Two clients take a lock while the only replica is stopped, so no replica can confirm the grant. The first client has taken
 * a lock before, while the master had no replica. The second client began after the replica was there.
 */
public class Main {
	public static void main(String[] args) throws Exception {
		String master = args[0], replica = args[1], replicaProcess = args[2];
		RedissonClient first = connect(master);
		RLock early = first.getLock("early");
		System.out.println("the master has no replica: the first client's tryLock returns " + early.tryLock(0, 8, TimeUnit.SECONDS));
		early.unlock();

		run("redis-cli -p " + replica + " replicaof 127.0.0.1 " + master);
		run("until redis-cli -p " + master + " info replication | grep -q state=online; do sleep 0.05; done");
		RedissonClient second = connect(master);
		run("kill -STOP " + replicaProcess);
		System.out.println("a replica is connected and then stopped");

		String ofSecond = tryLock("second", second.getLock("b"));
		String ofFirst = tryLock("first", first.getLock("a"));
		if (!ofSecond.startsWith("refused")) {
			System.out.println("could not try: without the early lock, tryLock was not refused, either: " + ofSecond);
		} else if (ofFirst.equals("granted")) {
			System.out.println("exists: tryLock was granted without a confirmation by the client that took a lock while the master had no replica");
		} else {
			System.out.println("gone: both clients refuse a grant that no replica confirmed");
		}
		System.exit(0);
	}

	static RedissonClient connect(String port) {
		Config config = new Config(); // checkLockSyncedSlaves is true by default
		config.useReplicatedServers().addNodeAddress("redis://127.0.0.1:" + port).setRetryAttempts(0);
		return Redisson.create(config);
	}

	static String tryLock(String client, RLock lock) throws InterruptedException {
		long start = System.nanoTime();
		String result;
		try {
			result = lock.tryLock(0, 8, TimeUnit.SECONDS) ? "granted" : "not granted";
		} catch (RuntimeException e) {
			result = "refused: " + (e.getCause() == null ? e : e.getCause());
		}
		System.out.println("the " + client + " client's tryLock is " + result + " after " + (System.nanoTime() - start) / 1_000_000 + " ms");
		return result;
	}

	static void run(String command) throws Exception {
		if (new ProcessBuilder("sh", "-c", command).start().waitFor() != 0) {
			throw new IllegalStateException(command);
		}
	}
}
