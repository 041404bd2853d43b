import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * A lock without a lease is renewed each 2 s. A proxy delays the first renewal, as a slow connection does: its request until
 * the lock was released, and its answer until the same thread holds the lock again.
 */
public class Main {
	static final CountDownLatch renewing = new CountDownLatch(1); // the request of the renewal is at the proxy
	static final CountDownLatch released = new CountDownLatch(1);
	static final CountDownLatch answered = new CountDownLatch(1); // the answer to the renewal is at the proxy
	static final CountDownLatch again = new CountDownLatch(1);

	public static void main(String[] args) throws Exception {
		int server = Integer.parseInt(args[0]);
		RLock lock = connect(proxy(server)).getLock("lock");
		RLock ofOther = connect(server).getLock("lock");

		lock.lock();
		await(renewing, "no renewal was seen");
		lock.unlock();
		released.countDown();
		await(answered, "the renewal was not answered");
		lock.lock();
		again.countDown();
		System.out.println("the lock was released and taken again during a renewal; the key lives for " + lock.remainTimeToLive() + " ms");

		Thread.sleep(4_500);
		System.out.println("4.5 s and two intervals of renewals later the key lives for " + lock.remainTimeToLive() + " ms");
		if (ofOther.tryLock(5, TimeUnit.SECONDS)) {
			System.out.println("exists: another client was granted the lock; its holder did not release it and was not notified");
		} else {
			System.out.println("gone: the lock was renewed");
		}
		System.exit(0);
	}

	static RedissonClient connect(int port) {
		Config config = new Config();
		config.setLockWatchdogTimeout(6_000);
		config.setUseScriptCache(false); // the proxy recognises the renewal by its script
		config.useSingleServer().setAddress("redis://127.0.0.1:" + port);
		return Redisson.create(config);
	}

	static void await(CountDownLatch latch, String problem) throws InterruptedException {
		if (!latch.await(10, TimeUnit.SECONDS)) {
			System.out.println("could not try: " + problem);
			System.exit(0);
		}
	}

	/** Returns the port of a proxy of the server. */
	static int proxy(int server) throws Exception {
		ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
		start(() -> {
			while (true) {
				Socket client = listener.accept();
				Socket upstream = new Socket(InetAddress.getLoopbackAddress(), server);
				boolean[] renewal = new boolean[1]; // this connection has sent the renewal
				start(() -> forward(client.getInputStream(), upstream.getOutputStream(), renewal, true));
				start(() -> forward(upstream.getInputStream(), client.getOutputStream(), renewal, false));
			}
		});
		return listener.getLocalPort();
	}

	static void forward(InputStream from, OutputStream to, boolean[] renewal, boolean requests) throws Exception {
		byte[] buffer = new byte[1 << 16];
		for (int n = from.read(buffer); n >= 0; n = from.read(buffer)) {
			boolean hold;
			synchronized (renewal) {
				if (requests && renewing.getCount() > 0 && renews(new String(buffer, 0, n, StandardCharsets.ISO_8859_1))) {
					renewal[0] = true;
					renewing.countDown();
				}
				hold = renewal[0];
			}
			if (hold && requests) {
				released.await();
			} else if (hold && answered.getCount() > 0) {
				answered.countDown();
				again.await();
			}
			to.write(buffer, 0, n);
			to.flush();
		}
	}

	/** A renewal checks the owner and sets the lease, and does not count, as scripts of lock and unlock do. */
	static boolean renews(String request) {
		return request.contains("hexists") && request.contains("pexpire") && !request.contains("hincrby");
	}

	interface Task {
		void run() throws Exception;
	}

	static void start(Task task) {
		Thread thread = new Thread(() -> {
			try {
				task.run();
			} catch (Exception e) {
				// The connection is closed.
			}
		});
		thread.setDaemon(true);
		thread.start();
	}
}
