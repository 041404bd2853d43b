//! The protocol part of the guest, which docs/guest-protocol.md describes. It serves one request after the other.
mod lock;

use std::collections::HashMap;
use std::error::Error;
use std::io::{stdin, stdout, BufRead, Write};
use std::time::{Duration, Instant};

use lock::{Attempt, MyLock};
use serde_json::{json, Value};

/// Guest is one client of the lock.
#[derive(Default)]
struct Guest {
    lock: Option<MyLock>,
    sessions: HashMap<String, Attempt>,
}

fn main() -> Result<(), Box<dyn Error>> {
    say(json!({"hello": "lockbench-guest/1", "name": "mylock", "version": lock::VERSION, "family": "single-store",
        "claims": {"bounded": true}}))?;
    let mut guest = Guest::default();
    for line in stdin().lock().lines() {
        let read = Instant::now(); // until_ns counts from here
        let request: Value = serde_json::from_str(&line?)?;
        // Without an answer, or with an error in its place, the request may have been executed.
        let mut answer = guest.answer(&request, read).unwrap_or_else(|e| json!({"unknown": e.to_string()}));
        answer["id"] = request["id"].clone();
        say(answer)?;
        if request["op"] == "close" {
            break;
        }
    }
    Ok(())
}

fn say(message: Value) -> std::io::Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{message}")?;
    out.flush()
}

fn leased(attempt: &Attempt, read: Instant) -> Value {
    json!({"ok": true, "until_ns": attempt.end.saturating_duration_since(read).as_nanos() as u64})
}

fn done(held: bool, answer: Value) -> Value {
    if held {
        answer
    } else {
        json!({"fail": "not-held"})
    }
}

fn millis(request: &Value) -> u64 {
    request["ttl_ns"].as_u64().unwrap_or(0) / 1_000_000
}

fn addresses(nodes: &Value) -> Vec<String> {
    let nodes = nodes.as_array().map(Vec::as_slice).unwrap_or_default();
    nodes.iter().filter_map(|node| node["addr"].as_str()).map(str::to_string).collect()
}

impl Guest {
    fn answer(&mut self, request: &Value, read: Instant) -> Result<Value, Box<dyn Error>> {
        let name = request["session"].as_str().unwrap_or("");
        Ok(match request["op"].as_str().unwrap_or("") {
            "open" => return self.open(&request["store"]),
            "acquire" => return self.acquire(request, name, read),
            "check" => match self.sessions.get(name) {
                Some(attempt) if Instant::now() < attempt.end => json!({"ok": true}),
                _ => json!({"fail": "lost"}),
            },
            "renew" => return self.renew(request, name, read),
            // The session is kept, because a release with an unknown outcome is sent again.
            "release" => match (&mut self.lock, self.sessions.get(name)) {
                (Some(lock), Some(attempt)) => done(lock.release(attempt)?, json!({"ok": true})),
                _ => json!({"fail": "not-held"}),
            },
            "touch" | "close" => json!({"ok": true}), // does not check again
            _ => json!({"fail": "bad-request"}),
        })
    }

    /// open connects to one master, directly or through its sentinels.
    fn open(&mut self, store: &Value) -> Result<Value, Box<dyn Error>> {
        let mut lock = match store["topology"].as_str().unwrap_or("") {
            "single" | "replicated" => MyLock::single(addresses(&store["nodes"]).remove(0)),
            "sentinel" => MyLock::sentinel(store["master_name"].as_str().unwrap_or(""), addresses(&store["sentinels"])),
            _ => return Ok(json!({"fail": "unsupported", "text": "it needs one master"})),
        };
        while let Err(e) = lock.connect() {
            eprintln!("connect: {e}"); // lockbench limits the time
            std::thread::sleep(Duration::from_millis(100));
        }
        self.lock = Some(lock);
        Ok(json!({"ok": true}))
    }

    fn renew(&mut self, request: &Value, name: &str, read: Instant) -> Result<Value, Box<dyn Error>> {
        let (Some(lock), Some(attempt)) = (&mut self.lock, self.sessions.get_mut(name)) else {
            return Ok(json!({"fail": "not-held"}));
        };
        Ok(done(lock.renew(attempt, millis(request))?, leased(attempt, read)))
    }

    fn acquire(&mut self, request: &Value, name: &str, read: Instant) -> Result<Value, Box<dyn Error>> {
        let plain = request["owner"].is_null() && request["wait_ns"].is_null() && request["mode"] != "shared";
        let (Some(key), Some(lock), true, 1..) = (request["key"].as_str(), &mut self.lock, plain, millis(request)) else {
            return Ok(json!({"fail": "unsupported", "text": "it takes one key, tries once, and needs a TTL of at least 1 ms"}));
        };
        // The session is kept before the request, so that a release cleans up after an unknown outcome.
        let attempt = self.sessions.entry(name.to_string()).or_insert(Attempt::new(key));
        if lock.acquire(attempt, millis(request))? {
            return Ok(leased(attempt, read));
        }
        self.sessions.remove(name);
        Ok(json!({"fail": "taken"}))
    }
}
