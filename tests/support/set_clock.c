/* Shifts the wall clock of a process by the seconds in a file: LD_PRELOAD=set_clock.so CLOCK_SHIFT=FILE.

   The file holds one int64, mapped, so that a change is seen at once by every process. Monotonic clocks stay as they
   are, and so do the times of files, which are the kernel's. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *shift_of_clock;

__attribute__((constructor)) static void map_shift(void)
{
    const char *path = getenv("CLOCK_SHIFT");
    int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        void *found = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
        if (found != MAP_FAILED)
            shift_of_clock = found;
        close(file);
    }
}

static int64_t shift(void)
{
    return shift_of_clock == NULL ? 0 : *shift_of_clock;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int code = (int)syscall(SYS_clock_gettime, clock, now);
    if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += shift();
    return code;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    (void)zone;
    int code = clock_gettime(CLOCK_REALTIME, &exact);
    if (code == 0) {
        now->tv_sec = exact.tv_sec;
        now->tv_usec = exact.tv_nsec / 1000;
    }
    return code;
}

time_t time(time_t *result)
{
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (result != NULL)
        *result = exact.tv_sec;
    return exact.tv_sec;
}

/* The kernel waits by its own clock: a deadline of ours must be told in its terms. */
int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until)
{
    static int (*original)(sem_t *, const struct timespec *);
    struct timespec exact = *until;
    if (original == NULL)
        original = (int (*)(sem_t *, const struct timespec *))dlsym(RTLD_NEXT, "sem_timedwait");
    exact.tv_sec -= shift();
    return original(semaphore, &exact);
}
