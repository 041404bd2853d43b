import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** A lock and a fenced lock are taken for 60 s while the only replica is stopped. Both calls throw. */
public class Main {
	public static void main(String[] args) throws Exception {
		String master = args[0], replicaProcess = args[1];
		run("until redis-cli -p " + master + " info replication | grep -q state=online; do sleep 0.05; done");
		Config config = new Config(); // checkLockSyncedSlaves is true by default
		config.useReplicatedServers().addNodeAddress("redis://127.0.0.1:" + master).setRetryAttempts(0);
		RedissonClient client = Redisson.create(config);
		RLock plain = client.getLock("plain");
		RFencedLock fenced = client.getFencedLock("fenced");
		run("kill -STOP " + replicaProcess);

		boolean plainThrows = throwing("tryLock", () -> plain.tryLock(0, 60, TimeUnit.SECONDS));
		boolean fencedThrows = throwing("tryLockAndGetToken", () -> fenced.tryLockAndGetToken(0, 60, TimeUnit.SECONDS));
		System.out.println("the key of tryLock " + left(plain) + ", the key of tryLockAndGetToken " + left(fenced));
		if (!plainThrows || !fencedThrows) {
			System.out.println("could not try: a call that no replica confirmed did not throw");
		} else if (fenced.isLocked()) {
			System.out.println("exists: tryLockAndGetToken threw, and its key " + left(fenced) + ", so no client gets the lock");
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

	static String left(RLock lock) {
		long ms = lock.remainTimeToLive();
		return ms < 0 ? "is removed" : "lives for " + ms + " ms";
	}

	static void run(String command) throws Exception {
		if (new ProcessBuilder("sh", "-c", command).start().waitFor() != 0) {
			throw new IllegalStateException(command);
		}
	}
}
