// delay NETNS NETNS MILLISECONDS MBIT: a line between two network namespaces, given by their paths: a TUN
// device "line" in each. What goes in at one end comes out at the other so much later and at that rate.
// (netem would do it in the kernel, but many kernels come without.)
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 65536           // in flight one way: 1 Gbit/s for 700 ms in packets of 1400 bytes
#define ROOM 2048             // for one; the MTU is 1500
#define LONGEST_WAIT 50000000 // ns that the buffer in front of the line holds; beyond, it drops

struct packet {
	uint64_t due; // ns
	int length;
	char bytes[ROOM - 16];
};

struct way {
	int from, to;
	struct packet *queue;
	unsigned head, tail; // counted without end
	uint64_t line_free;  // when the last packet has left
};

static void give_up(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static int device(const char *netns)
{
	struct ifreq request = { .ifr_name = "line", .ifr_flags = IFF_TUN | IFF_NO_PI };
	int ns = open(netns, O_RDONLY | O_CLOEXEC), fd;

	if (ns < 0 || setns(ns, CLONE_NEWNET))
		give_up(netns);
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &request))
		give_up("/dev/net/tun");
	close(ns);
	return fd;
}

// Takes what has come and gives what is due. Returns when the next is due, at the latest in a second.
static uint64_t carry(struct way *w, uint64_t delay, double ns_per_byte)
{
	uint64_t time = now();

	// A few at a time, so that the other way has its turn.
	for (int i = 0; i < 64 && w->head - w->tail < SLOTS; i++) {
		struct packet *p = &w->queue[w->head % SLOTS];

		p->length = read(w->from, p->bytes, sizeof p->bytes);
		if (p->length <= 0)
			break;
		if (w->line_free < time)
			w->line_free = time;
		if (w->line_free - time > LONGEST_WAIT)
			continue;
		w->line_free += (uint64_t)(p->length * ns_per_byte);
		p->due = w->line_free + delay;
		w->head++;
	}
	for (; w->tail != w->head; w->tail++) {
		struct packet *p = &w->queue[w->tail % SLOTS];

		if (p->due > time)
			return p->due;
		if (write(w->to, p->bytes, p->length) < 0)
			continue; // a device that is down or full loses it, as a line may
	}
	return time + 1000000000;
}

int main(int count, char **arguments)
{
	if (count != 5) {
		fprintf(stderr, "usage: delay NETNS NETNS MILLISECONDS MBIT\n");
		return 2;
	}
	uint64_t delay = atof(arguments[3]) * 1e6;
	double ns_per_byte = 8000 / atof(arguments[4]);
	int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), a = device(arguments[1]), b = device(arguments[2]);
	struct way there = { .from = a, .to = b }, back = { .from = b, .to = a };
	struct pollfd fds[] = { { .fd = a, .events = POLLIN }, { .fd = b, .events = POLLIN } };

	if (setns(here, CLONE_NEWNET)) // not to be found among those who live at an end
		give_up("netns");
	there.queue = calloc(SLOTS, sizeof *there.queue);
	back.queue = calloc(SLOTS, sizeof *back.queue);
	if (!there.queue || !back.queue)
		give_up("memory");
	for (;;) {
		uint64_t next = carry(&there, delay, ns_per_byte), other = carry(&back, delay, ns_per_byte), time = now();

		if (other < next)
			next = other;
		if (next > time) {
			struct timespec wait = { (next - time) / 1000000000, (next - time) % 1000000000 };
			ppoll(fds, 2, &wait, NULL);
		}
	}
}
