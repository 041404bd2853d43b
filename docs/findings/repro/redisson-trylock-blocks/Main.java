import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.config.Config;

/** A lock is tried with a wait of 0 while the only replica is stopped. All settings have their defaults. */
public class Main {
	public static void main(String[] args) throws Exception {
		String master = args[0], replica = args[1], replicaProcess = args[2];
		run("until redis-cli -p " + master + " info replication | grep -q state=online; do sleep 0.05; done");
		Config config = new Config();
		config.useReplicatedServers().addNodeAddress("redis://127.0.0.1:" + master, "redis://127.0.0.1:" + replica);
		RLock lock = Redisson.create(config).getLock("lock");
		run("kill -STOP " + replicaProcess);

		long start = System.nanoTime();
		String result;
		try {
			result = "returns " + lock.tryLock(0, 8, TimeUnit.SECONDS);
		} catch (RuntimeException e) {
			result = "throws " + (e.getCause() == null ? e : e.getCause());
		}
		long ms = (System.nanoTime() - start) / 1_000_000;
		System.out.println("tryLock(0, 8, SECONDS) " + result + " after " + ms + " ms");
		if (ms > 5_000) {
			System.out.println("exists: a tryLock that must not wait blocked for " + ms + " ms");
		} else {
			System.out.println("gone: tryLock answered after " + ms + " ms");
		}
		System.exit(0);
	}

	static void run(String command) throws Exception {
		if (new ProcessBuilder("sh", "-c", command).start().waitFor() != 0) {
			throw new IllegalStateException(command);
		}
	}
}
