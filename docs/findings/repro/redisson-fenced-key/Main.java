import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** A lock and a fenced lock are taken for 60 s while the only replica is stopped. Both calls throw. */
public class Main {
	public static void main(String[] args) throws Exception {
		String master = args[0], replica = args[1], replicaProcess = args[2];
		run("until redis-cli -p " + master + " info replication | grep -q state=online; do sleep 0.05; done");
		Config config = new Config(); // checkLockSyncedSlaves is true by default
		config.useReplicatedServers().addNodeAddress("redis://127.0.0.1:" + master, "redis://127.0.0.1:" + replica).setRetryAttempts(0);
		RedissonClient client = Redisson.create(config);
		RLock plain = client.getLock("plain");
		RFencedLock fenced = client.getFencedLock("fenced");
		run("kill -STOP " + replicaProcess);

		boolean plainThrows = throwing("tryLock", () -> plain.tryLock(0, 60, TimeUnit.SECONDS));
		boolean fencedThrows = throwing("tryLockAndGetToken", () -> fenced.tryLockAndGetToken(0, 60, TimeUnit.SECONDS));
		long left = left(master, "fenced");
		System.out.println("the key of tryLock " + text(left(master, "plain")) + ", the key of tryLockAndGetToken " + text(left));
		if (!plainThrows || !fencedThrows) {
			System.out.println("could not try: a call that no replica confirmed did not throw");
		} else if (left > 0) {
			System.out.println("exists: tryLockAndGetToken threw, and its key " + text(left) + ", so no client gets the lock");
		} else {
			System.out.println("gone: both calls removed their keys");
		}
		System.exit(0);
	}

	interface Call {
		Object call() throws Exception;
	}

	static boolean throwing(String name, Call call) {
		try {
			System.out.println(name + " returns " + call.call());
			return false;
		} catch (Exception e) {
			System.out.println(name + " throws " + (e.getCause() == null ? e : e.getCause()));
			return true;
		}
	}

	/** Old versions would read from the stopped replica. */
	static long left(String master, String key) throws Exception {
		Process cli = new ProcessBuilder("redis-cli", "-p", master, "pttl", key).start();
		return Long.parseLong(new String(cli.getInputStream().readAllBytes()).trim());
	}

	static String text(long ms) {
		return ms < 0 ? "is removed" : "lives for " + ms + " ms";
	}

	static void run(String command) throws Exception {
		if (new ProcessBuilder("sh", "-c", command).start().waitFor() != 0) {
			throw new IllegalStateException(command);
		}
	}
}
