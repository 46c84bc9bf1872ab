/* Preloaded into a program, makes the k-th call of one kind fail, once or from then on:
 *   FAULT_KIND   malloc, mmap, thread, open, read, write, fsync, rename, short-read or short-write
 *   FAULT_AT     k, counted from 1 over all threads; 0 or absent: nothing fails
 *   FAULT_ALWAYS every later call fails too
 *   FAULT_CLOCK  seconds by which the calendar clock is set back at its fifth reading
 *   FAULT_COUNT  a file that gets the number of calls of every kind when the program ends
 * Sockets count as files: accept is an opening, recv a reading, send a writing. So do pipes, files
 * in memory, folders and what waits for files (epoll). What makes a file longer is a writing, and a
 * link or a folder that gets its name counts as renamed. A short call transfers half of its bytes
 * (files and pipes only). Calls count from the start of main: what happens before is the business
 * of the C library. Standard error is left alone, so that the message of a failure can be read. */
#define _GNU_SOURCE
#include "fault_shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char* const kNames[kKinds] = {"malloc",     "mmap",       "thread", "open",
                                           "read",       "write",      "fsync",  "rename",
                                           "short-read", "short-write"};
static int chosen = -1, always;
static long fail_at;
static atomic_long calls[kKinds];
static atomic_int in_main;

/* Whether this call is to fail. */
int strikes(enum Kind kind) {
  if (!atomic_load_explicit(&in_main, memory_order_relaxed)) return 0;
  const long number = atomic_fetch_add(&calls[kind], 1) + 1;
  return (int)kind == chosen && fail_at > 0 && (number == fail_at || (always && number > fail_at));
}

static void write_count(void) {
  const char* path = getenv("FAULT_COUNT");
  if (!path) return;
  const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  for (int i = 0; i < kKinds && file >= 0; ++i) {
    char text[64];
    const int size = snprintf(text, sizeof text, "%s %ld\n", kNames[i], atomic_load(&calls[i]));
    syscall(SYS_write, file, text, (size_t)size);
  }
}

int refused(enum Kind kind, int reason) {
  if (!strikes(kind)) return 0;
  errno = reason;
  return 1;
}

static int (*real_main)(int, char**, char**);
static int counted_main(int argc, char** argv, char** environment) {
  const char *kind = getenv("FAULT_KIND"), *at = getenv("FAULT_AT");
  for (int i = 0; kind && i < kKinds; ++i)
    if (strcmp(kind, kNames[i]) == 0) chosen = i;
  fail_at = at ? atol(at) : 0;
  always = getenv("FAULT_ALWAYS") != NULL;
  atomic_store(&in_main, 1);
  const int code = real_main(argc, argv, environment);
  atomic_store(&in_main, 0);
  write_count();
  return code;
}

void* real(const char* name) {
  return dlsym(RTLD_NEXT, name);
}

typedef int Start(int (*)(int, char**, char**), int, char**, void (*)(void), void (*)(void),
                  void (*)(void), void*);
int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void* stack_end) {
  real_main = main;
  return ((Start*)real("__libc_start_main"))(counted_main, argc, argv, init, fini, rtld_fini,
                                             stack_end);
}

/* The C library's own names: dlsym would allocate. */
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

static int no_memory(void) {
  if (!strikes(kMalloc)) return 0;
  errno = ENOMEM;
  return 1;
}
void* malloc(size_t size) {
  return no_memory() ? NULL : __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  return no_memory() ? NULL : __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  return no_memory() ? NULL : __libc_realloc(old, size);
}
void* memalign(size_t alignment, size_t size) {
  return no_memory() ? NULL : __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  return no_memory() ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  if (no_memory()) return ENOMEM;
  void* memory = __libc_memalign(alignment, size);
  if (!memory) return ENOMEM;
  *out = memory;
  return 0;
}

void* mmap(void* at, size_t size, int protection, int flags, int file, off_t offset) {
  if (strikes(kMmap)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return (void*)syscall(SYS_mmap, at, size, protection, flags, file, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
  if (strikes(kThread)) return EAGAIN;
  return REAL(pthread_create)(thread, attributes, start, argument);
}

/* The clock of durations is left alone, as the system leaves it. */
static long set_back(void) {
  static atomic_long readings;
  static atomic_long seconds = -1;
  if (atomic_load(&seconds) < 0) {
    const char* text = getenv("FAULT_CLOCK");
    atomic_store(&seconds, text ? atol(text) : 0);
  }
  return atomic_fetch_add(&readings, 1) >= 4 ? atomic_load(&seconds) : 0;
}
int clock_gettime(clockid_t clock, struct timespec* now) {
  const int code = (int)syscall(SYS_clock_gettime, clock, now);
  if (code == 0 && clock == CLOCK_REALTIME) now->tv_sec -= set_back();
  return code;
}
time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
