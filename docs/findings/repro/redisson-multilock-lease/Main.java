import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** A MultiLock of two locks is taken for 2 s, after another client held one of the two for 4 s. */
public class Main {
	public static void main(String[] args) throws Exception {
		Config config = new Config();
		config.useSingleServer().setAddress("redis://127.0.0.1:" + args[0]);
		RedissonClient client = Redisson.create(config);
		RedissonClient other = Redisson.create(config);

		other.getLock("b").lock(4, TimeUnit.SECONDS);
		RLock a = client.getLock("a");
		RLock b = client.getLock("b");
		client.getMultiLock(a, b).lock(2, TimeUnit.SECONDS);
		long left = Math.min(a.remainTimeToLive(), b.remainTimeToLive());

		System.out.println("lock(2, SECONDS) was granted after it was refused for 4 s; its keys live for " + left + " ms");
		if (left < 1_000 || left > 2_000) {
			System.out.println("exists: a lease of 2,000 ms became " + left + " ms because the lock was contended");
		} else {
			System.out.println("gone: the lease is " + left + " ms of 2,000 ms");
		}
		System.exit(0);
	}
}
