import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Six clients take a fair lock in turn and hold it for 300 ms. No client fails, and the queue is never empty. The lock is
 * taken for 3 s, and fairLockWaitTimeout is 2 s, so the queue has been busy for one lease plus one wait after 5 s.
 */
public class Main {
	static final Map<Integer, Long> waiting = new ConcurrentHashMap<>(); // when a client asked for the lock
	static final List<String> overtaken = new ArrayList<>();
	static final long began = System.currentTimeMillis();

	public static void main(String[] args) throws Exception {
		List<Thread> clients = new ArrayList<>();
		for (int i = 1; i <= 6; i++) {
			int client = i;
			Thread thread = new Thread(() -> run(args[0], client));
			clients.add(thread);
			thread.start();
			Thread.sleep(100);
		}
		for (Thread client : clients) {
			client.join();
		}
		if (overtaken.isEmpty()) {
			System.out.println("gone: for 15 s each client was granted the lock in its turn");
		} else {
			System.out.println("exists: " + overtaken.size() + " times a client was granted the lock before one that had asked for it more than a second earlier");
		}
		System.exit(0);
	}

	static void run(String port, int client) {
		Config config = new Config();
		config.setFairLockWaitTimeout(2_000);
		config.useSingleServer().setAddress("redis://127.0.0.1:" + port)
				.setConnectionMinimumIdleSize(1).setConnectionPoolSize(2);
		RedissonClient redisson = Redisson.create(config);
		RLock lock = redisson.getFairLock("lock");
		while (System.currentTimeMillis() - began < 15_000) {
			long asked = System.currentTimeMillis();
			waiting.put(client, asked);
			lock.lock(3, TimeUnit.SECONDS);
			waiting.remove(client);
			granted(client, asked);
			sleep(300);
			lock.unlock();
		}
		redisson.shutdown();
	}

	static synchronized void granted(int client, long asked) {
		long now = System.currentTimeMillis();
		waiting.forEach((other, since) -> {
			if (asked - since > 1_000) {
				String line = "after " + (now - began) + " ms client " + client + " is granted the lock after " + (now - asked)
						+ " ms, while client " + other + " has waited for " + (now - since) + " ms";
				if (overtaken.size() < 5) {
					System.out.println(line);
				}
				overtaken.add(line);
			}
		});
	}

	static void sleep(long ms) {
		try {
			Thread.sleep(ms);
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}
}
