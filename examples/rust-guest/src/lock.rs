//! A lock by SET NX PX with a token on one master of Redis. Replace this file by your lock.
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use redis::{Client, Connection, FromRedisValue, RedisError, RedisResult, Value};

pub const VERSION: &str = "redis 1.8.1";
const LIMIT: Duration = Duration::from_millis(500);
const IF_MINE: &str = "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end ";

/// MyLock is one client. Its methods return whether the server did it, or an error if that is unknown.
pub struct MyLock {
    address: String, // of the master, without sentinels
    master: String,
    sentinels: Vec<String>,
    connection: Option<Connection>,
}

/// Attempt is one attempt to get a lock.
pub struct Attempt {
    key: String,
    token: String,
    pub end: Instant, // of the lease, counted from before the request
}

impl Attempt {
    pub fn new(key: &str) -> Attempt {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        Attempt { key: key.into(), token: format!("{}-{time}", std::process::id()), end: Instant::now() }
    }
}

fn dial(address: &str) -> RedisResult<Connection> {
    let connection = Client::open(format!("redis://{address}"))?.get_connection_with_timeout(LIMIT)?;
    connection.set_read_timeout(Some(LIMIT))?;
    connection.set_write_timeout(Some(LIMIT))?;
    Ok(connection)
}

impl MyLock {
    pub fn single(address: String) -> MyLock {
        MyLock { address, master: String::new(), sentinels: Vec::new(), connection: None }
    }

    pub fn sentinel(master: &str, sentinels: Vec<String>) -> MyLock {
        MyLock { address: String::new(), master: master.into(), sentinels, connection: None }
    }

    /// connect asks the sentinels for the master, if there are sentinels.
    pub fn connect(&mut self) -> RedisResult<()> {
        for sentinel in &self.sentinels {
            let mut ask = redis::cmd("SENTINEL");
            ask.arg("get-master-addr-by-name").arg(&self.master);
            if let Ok((host, port)) = dial(sentinel).and_then(|mut c| ask.query::<(String, String)>(&mut c)) {
                self.address = format!("{host}:{port}");
                break;
            }
        }
        self.connection = Some(dial(&self.address)?);
        Ok(())
    }

    /// send sends a command once. A SET NX that is sent again after a lost answer gets the answer "taken", although the
    /// first SET NX has taken the lock. After an error the connection is closed, so that no late answer is taken for another.
    fn send<T: FromRedisValue>(&mut self, command: &redis::Cmd) -> RedisResult<T> {
        if self.connection.is_none() {
            self.connect()?;
        }
        let connection = self.connection.as_mut().ok_or_else(|| RedisError::from(std::io::Error::other("no connection")))?;
        let answer = command.query(connection);
        if answer.is_err() {
            self.connection = None;
        }
        answer
    }

    pub fn acquire(&mut self, attempt: &mut Attempt, ttl: u64) -> RedisResult<bool> {
        attempt.end = Instant::now() + Duration::from_millis(ttl);
        let mut set = redis::cmd("SET");
        set.arg(&attempt.key).arg(&attempt.token).arg("NX").arg("PX").arg(ttl);
        Ok(self.send::<Value>(&set)? == Value::Okay)
    }

    pub fn renew(&mut self, attempt: &mut Attempt, ttl: u64) -> RedisResult<bool> {
        let end = Instant::now() + Duration::from_millis(ttl);
        let done = self.run(attempt, "return redis.call('pexpire', KEYS[1], ARGV[2])", ttl)?;
        if done {
            attempt.end = end;
        }
        Ok(done)
    }

    pub fn release(&mut self, attempt: &Attempt) -> RedisResult<bool> {
        self.run(attempt, "return redis.call('del', KEYS[1])", 0)
    }

    fn run(&mut self, attempt: &Attempt, script: &str, argument: u64) -> RedisResult<bool> {
        let mut eval = redis::cmd("EVAL");
        eval.arg(format!("{IF_MINE}{script}")).arg(1).arg(&attempt.key).arg(&attempt.token).arg(argument);
        Ok(self.send::<i64>(&eval)? == 1)
    }
}
