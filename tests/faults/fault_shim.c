/* Preloaded into a program, makes the k-th call of one kind fail, once or from then on:
 *   FAULT_KIND   malloc, mmap, thread, open, read, write, fsync or rename
 *   FAULT_AT     k, counted from 1 over all threads; 0 or absent: nothing fails
 *   FAULT_ALWAYS every later call fails too
 *   FAULT_CLOCK  seconds by which the calendar clock is set back at its fifth reading
 *   FAULT_COUNT  a file that gets the number of calls when the program ends
 * Sockets count as files: accept is an opening, recv a reading, send a writing.
 * Calls count from the start of main: what happens before is the business of the C library.
 * Standard error is left alone, so that the message of a failure can be read. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum Kind { kMalloc, kMmap, kThread, kOpen, kRead, kWrite, kFsync, kRename, kKinds };
static const char* const kNames[kKinds] = {"malloc", "mmap",  "thread", "open",
                                           "read",   "write", "fsync",  "rename"};
static int chosen = -1, always;
static long fail_at;
static atomic_long calls;
static atomic_int in_main;

/* Whether this call is to fail. */
static int strikes(enum Kind kind) {
  if (!atomic_load_explicit(&in_main, memory_order_relaxed) || (int)kind != chosen) return 0;
  const long number = atomic_fetch_add(&calls, 1) + 1;
  return fail_at > 0 && (number == fail_at || (always && number > fail_at));
}

static void write_count(void) {
  const char* path = getenv("FAULT_COUNT");
  if (!path) return;
  const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  char text[32];
  const int size = snprintf(text, sizeof text, "%ld\n", atomic_load(&calls));
  if (file >= 0) syscall(SYS_write, file, text, (size_t)size);
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

#define REAL(name) ((__typeof__(&name))real(#name))
static void* real(const char* name) {
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

static int refused(enum Kind kind, int reason) {
  if (!strikes(kind)) return 0;
  errno = reason;
  return 1;
}

static int open_at(int folder, const char* path, int flags, va_list rest) {
  const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  return refused(kOpen, EMFILE) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int file = open_at(AT_FDCWD, path, flags, rest);
  va_end(rest);
  return file;
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int file = open_at(AT_FDCWD, path, flags, rest);
  va_end(rest);
  return file;
}
int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int file = open_at(folder, path, flags, rest);
  va_end(rest);
  return file;
}
int socket(int family, int type, int protocol) {
  return refused(kOpen, EMFILE) ? -1 : (int)syscall(SYS_socket, family, type, protocol);
}
int accept(int file, struct sockaddr* address, socklen_t* size) {
  return refused(kOpen, EMFILE) ? -1 : (int)syscall(SYS_accept4, file, address, size, 0);
}
int accept4(int file, struct sockaddr* address, socklen_t* size, int flags) {
  return refused(kOpen, EMFILE) ? -1 : (int)syscall(SYS_accept4, file, address, size, flags);
}
int eventfd(unsigned int count, int flags) {
  return refused(kOpen, EMFILE) ? -1 : (int)syscall(SYS_eventfd2, count, flags);
}
FILE* fopen(const char* path, const char* mode) {
  return refused(kOpen, EMFILE) ? NULL : REAL(fopen)(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  return refused(kOpen, EMFILE) ? NULL : REAL(fopen64)(path, mode);
}

/* A stream remembers that an operation failed; glibc's flag for it. */
static void mark(FILE* stream) {
  stream->_flags |= 0x20;
}

/* The pipe by which a program wakes itself (a signal, a full queue): it cannot fail by itself. */
static int wakes(int file) {
  struct stat status;
  return fstat(file, &status) == 0 && S_ISFIFO(status.st_mode) &&
         (fcntl(file, F_GETFL) & O_NONBLOCK) != 0;
}

ssize_t read(int file, void* to, size_t size) {
  return !wakes(file) && refused(kRead, EIO) ? -1 : (ssize_t)syscall(SYS_read, file, to, size);
}
ssize_t recv(int file, void* to, size_t size, int flags) {
  return refused(kRead, EIO) ? -1 : (ssize_t)syscall(SYS_recvfrom, file, to, size, flags, 0, 0);
}
ssize_t recvmsg(int file, struct msghdr* message, int flags) {
  return refused(kRead, EIO) ? -1 : (ssize_t)syscall(SYS_recvmsg, file, message, flags);
}
size_t fread(void* to, size_t size, size_t count, FILE* stream) {
  if (!refused(kRead, EIO)) return REAL(fread)(to, size, count, stream);
  mark(stream);
  return 0;
}
ssize_t getline(char** line, size_t* room, FILE* stream) {
  if (!refused(kRead, EIO)) return REAL(getline)(line, room, stream);
  mark(stream);
  return -1;
}

ssize_t write(int file, const void* from, size_t size) {
  if (file != STDERR_FILENO && !wakes(file) && refused(kWrite, ENOSPC)) return -1;
  return (ssize_t)syscall(SYS_write, file, from, size);
}
ssize_t writev(int file, const struct iovec* parts, int count) {
  if (file != STDERR_FILENO && refused(kWrite, ENOSPC)) return -1;
  return (ssize_t)syscall(SYS_writev, file, parts, count);
}
ssize_t send(int file, const void* from, size_t size, int flags) {
  return refused(kWrite, EPIPE) ? -1 : (ssize_t)syscall(SYS_sendto, file, from, size, flags, 0, 0);
}
ssize_t sendmsg(int file, const struct msghdr* message, int flags) {
  return refused(kWrite, EPIPE) ? -1 : (ssize_t)syscall(SYS_sendmsg, file, message, flags);
}
size_t fwrite(const void* from, size_t size, size_t count, FILE* stream) {
  if (stream == stderr || !refused(kWrite, ENOSPC)) return REAL(fwrite)(from, size, count, stream);
  mark(stream);
  return 0;
}
int fflush(FILE* stream) {
  if (stream == stderr || !refused(kWrite, ENOSPC)) return REAL(fflush)(stream);
  if (stream) mark(stream);
  return EOF;
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

int fsync(int file) {
  return refused(kFsync, EIO) ? -1 : (int)syscall(SYS_fsync, file);
}
int fdatasync(int file) {
  return refused(kFsync, EIO) ? -1 : (int)syscall(SYS_fdatasync, file);
}
int rename(const char* from, const char* to) {
  return refused(kRename, EIO) ? -1 : (int)syscall(SYS_rename, from, to);
}
