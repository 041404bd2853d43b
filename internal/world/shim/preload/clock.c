/* Preloaded into a server, this lets its wall clock be wrong by what a file says
   that the harness writes: four 64 bit numbers, changed while the first one is odd.
   All other clocks, and those of all other programs, are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct wrong {
	int64_t changes; /* odd: one is under way */
	int64_t by;      /* nanoseconds */
	int64_t drift;   /* nanoseconds gained in every second */
	int64_t since;   /* of CLOCK_MONOTONIC, nanoseconds */
};

static volatile struct wrong *wrong;
static int (*real)(clockid_t, struct timespec *);

static void begin(void) {
	if (real)
		return;
	*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	const char *path = getenv("LOCKBENCH_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	void *at = mmap(NULL, sizeof(struct wrong), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (at != MAP_FAILED)
		wrong = at;
}

static int64_t off(void) {
	for (;;) {
		int64_t changes = __atomic_load_n(&wrong->changes, __ATOMIC_ACQUIRE);
		int64_t by = wrong->by, drift = wrong->drift, since = wrong->since;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (changes % 2 || changes != wrong->changes)
			continue;
		if (drift) {
			struct timespec now;
			real(CLOCK_MONOTONIC, &now);
			by += (now.tv_sec * 1000000000LL + now.tv_nsec - since) / 1000000 * drift / 1000;
		}
		return by;
	}
}

int clock_gettime(clockid_t clock, struct timespec *t) {
	begin();
	int failed = real(clock, t);
	if (failed || !wrong || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
		return failed;
	int64_t ns = t->tv_sec * 1000000000LL + t->tv_nsec + off();
	t->tv_sec = ns / 1000000000;
	t->tv_nsec = ns % 1000000000;
	return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
	(void)zone;
	struct timespec now;
	if (clock_gettime(CLOCK_REALTIME, &now))
		return -1;
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *t) {
	struct timespec now;
	if (clock_gettime(CLOCK_REALTIME, &now))
		return -1;
	if (t)
		*t = now.tv_sec;
	return now.tv_sec;
}
