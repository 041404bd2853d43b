import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * A holder has a fair lock. A process that waits for it is killed. Then the holder releases it, while another client waits,
 * which asks again when the lease of the holder would have ended. The lease is 6 s, and fairLockWaitTimeout its default.
 */
public class Main {
	static String port;

	public static void main(String[] args) throws Exception {
		port = args[0];
		RLock lock = connect().getFairLock("lock");
		if (args[1].equals("wait")) {
			Thread waiting = new Thread(lock::lock);
			waiting.setDaemon(true);
			waiting.start();
			System.in.read(); // until this process is killed, or the process that has started it has ended
			System.exit(0);
		}
		lock.lock();
		Process waiter = new ProcessBuilder("java", "-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"),
				args[1], port, "wait").start();
		awaitQueue("1");
		waiter.destroyForcibly().waitFor();
		System.out.println("a process that waited for the lock is killed");

		RLock ofOther = connect().getFairLock("lock");
		Thread other = new Thread(ofOther::lock);
		other.setDaemon(true);
		other.start();
		awaitQueue("2");
		lock.unlock();
		long released = System.nanoTime();
		boolean flooding = false;
		for (int i = 0; i < 20 && other.isAlive(); i++) { // it sleeps until the lease of the holder would have ended
			long before = scripts(), began = System.nanoTime();
			other.join(2_000);
			long perSecond = (scripts() - before) * 1_000_000_000 / (System.nanoTime() - began);
			boolean begun = flooding;
			flooding = other.isAlive() && perSecond > 20;
			if (!begun || !flooding) {
				continue;
			}
			System.out.println((System.nanoTime() - released) / 1_000_000_000 + " s after the release the other client has not got the lock, and sends "
					+ perSecond + " requests a second");
			System.out.println("exists: one waiter sends " + perSecond + " requests a second for a lock that is free, because a dead one is before it");
			System.exit(0);
		}
		System.out.println("gone: a dead waiter does not make the other one flood the server"
				+ (other.isAlive() ? ", which waits quietly" : ", which has got the lock"));
		System.exit(0);
	}

	static RedissonClient connect() {
		Config config = new Config();
		config.setLockWatchdogTimeout(6_000);
		config.useSingleServer().setAddress("redis://127.0.0.1:" + port).setConnectionMinimumIdleSize(2);
		return Redisson.create(config);
	}

	static void awaitQueue(String length) throws Exception {
		for (int i = 0; i < 200; i++) {
			if (redis("llen", "redisson_lock_queue:{lock}").equals(length)) {
				return;
			}
			Thread.sleep(100);
		}
		System.out.println("could not try: the queue did not have " + length + " waiters");
		System.exit(0);
	}

	/** Returns how many scripts clients have sent. */
	static long scripts() throws Exception {
		long sum = 0;
		Matcher calls = Pattern.compile("cmdstat_eval(?:sha)?:calls=(\\d+)").matcher(redis("info", "commandstats"));
		while (calls.find()) {
			sum += Long.parseLong(calls.group(1));
		}
		return sum;
	}

	static String redis(String... args) throws Exception {
		String[] command = new String[args.length + 3];
		command[0] = "redis-cli";
		command[1] = "-p";
		command[2] = port;
		System.arraycopy(args, 0, command, 3, args.length);
		return new String(new ProcessBuilder(command).start().getInputStream().readAllBytes()).trim();
	}
}
