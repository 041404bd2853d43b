import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.config.Config;

/** A fenced lock is taken for 2 s. The watchdog of 6 s would renew it after 2 s and after 4 s. */
public class Main {
	public static void main(String[] args) throws Exception {
		Config config = new Config();
		config.setLockWatchdogTimeout(6_000);
		config.useSingleServer().setAddress("redis://127.0.0.1:" + args[0]);
		RFencedLock lock = Redisson.create(config).getFencedLock("lock");

		lock.lockAndGetToken(2, TimeUnit.SECONDS);
		System.out.println("lockAndGetToken(2, SECONDS): the key lives for " + lock.remainTimeToLive() + " ms");
		Thread.sleep(9_000);
		long left = lock.remainTimeToLive();
		if (left > 0) {
			System.out.println("exists: 9 s after lockAndGetToken(2, SECONDS) the lock is held, with " + left + " ms left: it is renewed");
		} else {
			System.out.println("gone: the lock expired");
		}
		System.exit(0);
	}
}
