//! A guest of lockbench: rslock of crates.io. guest LOCK [OPTION=VALUE ...]; docs/guest-protocol.md describes the protocol.
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::process::exit;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rslock::{Lock, LockError, LockManager};
use serde_json::{json, Value};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Session is one attempt to get a lock, and what it got. It is locked by the call that is under way.
struct Session {
    lock: Option<Lock>,
    released: bool,
    end: End,
}

/// End is when a lease ends, which a check reads while another call is under way.
type End = Arc<std::sync::Mutex<Option<Instant>>>;

fn say(answer: Value) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{answer}").and_then(|()| out.flush()).unwrap_or_else(|_| exit(0));
}

fn nanos(request: &Value, name: &str) -> Duration {
    Duration::from_nanos(request[name].as_u64().unwrap_or(0))
}

/// milliseconds reads a duration such as 200ms or 5s.
fn milliseconds(text: &str) -> Option<u64> {
    for (unit, factor) in [("ms", 1), ("s", 1000), ("m", 60_000)] {
        if let Some(Ok(n)) = text.strip_suffix(unit).map(str::parse::<u64>) {
            return Some(n * factor);
        }
    }
    None
}

/// granted is the answer to an acquire or an extension, which returned a lock that is valid from now on.
fn granted(session: &mut Session, lock: Lock, read: Instant) -> Value {
    let end = Instant::now() + Duration::from_millis(lock.validity_time as u64);
    session.lock = Some(lock);
    *session.end.lock().unwrap() = Some(end);
    json!({"ok": true, "until_ns": end.saturating_duration_since(read).as_nanos() as u64})
}

fn manager(store: &Value) -> LockManager {
    let nodes = store["nodes"].as_array().cloned().unwrap_or_default();
    LockManager::new(nodes.iter().map(|n| format!("redis://{}", n["addr"].as_str().unwrap_or(""))).collect())
}

async fn acquire(mut locks: LockManager, r: &Value, delay: u64, session: &mut Session, read: Instant) -> Value {
    let (ttl, wait) = (nanos(r, "ttl_ns"), nanos(r, "wait_ns"));
    if [&r["ttl_ns"], &r["wait_ns"]].iter().any(|time| time.as_i64().unwrap_or(0) < 0) {
        return json!({"fail": "bad-request", "text": "a time is not negative"});
    }
    if r["keys"].is_array() || r["owner"].is_string() || r["mode"] == "shared" || ttl.is_zero() {
        return json!({"fail": "unsupported", "text": "it takes one key and a ttl, and is neither shared nor re-entrant"});
    }
    let Some(key) = r["key"].as_str().filter(|key| !key.is_empty()) else {
        return json!({"fail": "bad-request", "text": "a lock has a name"});
    };
    // adds rslock: the library waits by a number of retries, so a wait is as many as fit in it on average
    locks.set_retry(1 + (2 * wait.as_millis() as u64).div_ceil(delay) as u32, Duration::from_millis(delay));
    match locks.lock(key, ttl).await {
        Ok(lock) => granted(session, lock, read),
        Err(LockError::Unavailable) => json!({"fail": "taken"}),
        Err(e) => json!({"unknown": e.to_string()}),
    }
}

async fn renew(r: &Value, session: &mut Session, read: Instant) -> Value {
    let Some(lock) = session.lock.as_ref() else {
        return json!({"fail": "not-held"});
    };
    match lock.lock_manager.extend(lock, nanos(r, "ttl_ns")).await {
        Ok(lock) => granted(session, lock, read),
        Err(LockError::Unavailable) => json!({"fail": "not-held"}),
        Err(e) => json!({"unknown": e.to_string()}),
    }
}

// adds rslock: no second release, because the guest forgets the lock
/// release: the library does not tell whether the lock was held.
async fn release(session: &mut Session) -> Value {
    match session.lock.take() {
        Some(lock) => {
            lock.release().await;
            session.released = true;
            json!({"done": true})
        }
        None if session.released => json!({"fail": "not-held"}),
        None => json!({"unknown": "the library returned no lock that could be released"}),
    }
}

fn main() {
    tokio::runtime::Runtime::new().expect("a runtime needs threads").block_on(serve());
}

async fn serve() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut delay = 200;
    if words.first().map(String::as_str) != Some("rslock") {
        eprintln!("guest: no lock {}; there is rslock", words.first().map_or("", String::as_str));
        exit(64);
    }
    for word in &words[1..] {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        if name != "retry-delay" {
            eprintln!("guest: rslock has no option {name}; it has retry-delay");
            exit(64);
        }
        delay = milliseconds(value).filter(|&d| d > 0).unwrap_or_else(|| {
            eprintln!("guest: option {name} of rslock: {value:?} is not a duration such as 200ms or 5s");
            exit(64);
        });
    }
    say(json!({"hello": "lockbench-guest/1", "name": "rslock", "version": "rslock 0.10.0", "family": "majority",
        "claims": {"bounded": true, "waits": true}, "model": ["mutex"]}));

    let mut sessions: HashMap<String, (Arc<Mutex<Session>>, End)> = HashMap::new();
    let mut locks = None;
    for line in std::io::stdin().lock().lines() {
        let read = Instant::now(); // before anything else: until_ns counts from here
        let Ok(r) = line.map_err(|_| ()).and_then(|l| serde_json::from_str::<Value>(&l).map_err(|_| ())) else { break };
        let answer = move |mut answer: Value, id: &Value| {
            answer["id"] = id.clone();
            say(answer);
        };
        let name = r["session"].as_str().unwrap_or("").to_string();
        match r["op"].as_str().unwrap_or("") {
            "open" => {
                locks = Some(manager(&r["store"]));
                answer(json!({"ok": true}), &r["id"]);
            }
            "acquire" => {
                let end = End::default();
                let session = Arc::new(Mutex::new(Session { lock: None, released: false, end: end.clone() }));
                let mut busy: OwnedMutexGuard<Session> = session.clone().lock_owned().await; // a release waits for the acquire
                sessions.insert(name, (session, end));
                let locks: LockManager = locks.clone().expect("an acquire comes after open");
                tokio::spawn(async move { answer(acquire(locks, &r, delay, &mut busy, read).await, &r["id"]) });
            }
            op @ ("renew" | "release") => {
                let renews = op == "renew";
                let Some((session, _)) = sessions.get(&name).cloned() else {
                    answer(json!({"fail": "not-held"}), &r["id"]);
                    continue;
                };
                tokio::spawn(async move {
                    let mut session = session.lock().await;
                    let result = if renews { renew(&r, &mut session, read).await } else { release(&mut session).await };
                    answer(result, &r["id"]);
                });
            }
            "check" => {
                let end = sessions.get(&name).and_then(|(_, end)| *end.lock().unwrap());
                let holds = end.is_some_and(|end| Instant::now() < end);
                answer(if holds { json!({"ok": true}) } else { json!({"fail": "lost"}) }, &r["id"]);
            }
            "touch" => answer(json!({"ok": true}), &r["id"]),
            "close" => {
                answer(json!({"ok": true}), &r["id"]);
                exit(0);
            }
            op => answer(json!({"fail": "bad-request", "text": format!("no operation {op}")}), &r["id"]),
        }
    }
    exit(0);
}
