import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.h2.jdbcx.JdbcConnectionPool;
import org.springframework.jdbc.core.JdbcTemplate;

/** A client unlocks after its lockAtMostFor has passed and a second client on its host has the lock. A third client asks for it. */
public class Main {
	public static void main(String[] args) throws Exception {
		JdbcTemplate database = new JdbcTemplate(JdbcConnectionPool.create("jdbc:h2:mem:locks", "", ""));
		database.execute("create table shedlock(name varchar(64) primary key, lock_until timestamp, locked_at timestamp, locked_by varchar(255))");
		LockProvider one = client(database);
		LockProvider two = client(database);
		LockProvider three = client(database);

		Optional<SimpleLock> late = one.lock(during(Duration.ofSeconds(1)));
		Thread.sleep(1_500); // longer than lockAtMostFor
		Optional<SimpleLock> held = two.lock(during(Duration.ofSeconds(60)));
		boolean refused = three.lock(during(Duration.ofSeconds(60))).isEmpty();
		System.out.println("the first client's lock expired: the second client is granted it: " + held.isPresent() + ", the third is refused: " + refused);
		if (late.isEmpty() || held.isEmpty() || !refused) {
			System.out.println("could not try: the lock does not exclude the third client");
			System.exit(0);
		}
		late.get().unlock();
		System.out.println("the first client unlocks, too late");
		if (three.lock(during(Duration.ofSeconds(60))).isPresent()) {
			System.out.println("exists: the third client is granted the lock while the second client holds it for 60 s");
		} else {
			System.out.println("gone: the lock of the second client is still there");
		}
		System.exit(0);
	}

	static LockConfiguration during(Duration lockAtMostFor) {
		return new LockConfiguration(Instant.now(), "job", lockAtMostFor, Duration.ZERO);
	}

	static LockProvider client(JdbcTemplate database) {
		return new JdbcTemplateLockProvider(
				JdbcTemplateLockProvider.Configuration.builder().withJdbcTemplate(database).usingDbTime().build());
	}
}
