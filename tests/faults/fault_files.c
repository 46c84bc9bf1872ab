/* The calls of the shim that touch files, sockets, pipes and folders; see fault_shim.c. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fault_shim.h"

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
int pipe2(int ends[2], int flags) {
  return refused(kOpen, EMFILE) ? -1 : (int)syscall(SYS_pipe2, ends, flags);
}
int pipe(int ends[2]) {
  return pipe2(ends, 0);
}
int socketpair(int family, int type, int protocol, int ends[2]) {
  return refused(kOpen, EMFILE) ? -1 : (int)syscall(SYS_socketpair, family, type, protocol, ends);
}
int memfd_create(const char* name, unsigned int flags) {
  return refused(kOpen, EMFILE) ? -1 : (int)syscall(SYS_memfd_create, name, flags);
}
int epoll_create1(int flags) {
  return refused(kOpen, EMFILE) ? -1 : (int)syscall(SYS_epoll_create1, flags);
}
int epoll_create(int size) {
  (void)size;
  return epoll_create1(0);
}
int timerfd_create(int clock, int flags) {
  return refused(kOpen, EMFILE) ? -1 : (int)syscall(SYS_timerfd_create, clock, flags);
}
DIR* opendir(const char* path) {
  return refused(kOpen, EMFILE) ? NULL : REAL(opendir)(path);
}
struct dirent* readdir(DIR* folder) {
  return refused(kRead, EIO) ? NULL : REAL(readdir)(folder);
}
FILE* fdopen(int file, const char* mode) {
  return refused(kOpen, EMFILE) ? NULL : REAL(fdopen)(file, mode);
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

/* The size that is transferred of a file or a pipe. A counter (eventfd, timerfd) takes no half,
 * what the program sends to itself arrives whole, and a socket that takes less than it is given is
 * full: epoll promises that, and libraries wait for it to become ready. */
static size_t shortened(enum Kind kind, int file, size_t size) {
  struct stat status;
  const int halves = size > 1 && !wakes(file) && fstat(file, &status) == 0 &&
                     (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode));
  return halves && strikes(kind) ? size / 2 : size;
}

/* The same for several parts: how many remain. If the call is to be short, only `one` does, which
 * is half of the first part that is not empty. */
static size_t shortened_parts(enum Kind kind, int file, const struct iovec** parts, size_t count,
                              struct iovec* one) {
  size_t first = 0;
  while (first + 1 < count && (*parts)[first].iov_len == 0) ++first;
  if (count == 0) return 0;
  *one = (*parts)[first];
  one->iov_len = shortened(kind, file, one->iov_len);
  if (one->iov_len == (*parts)[first].iov_len) return count;
  *parts = one;
  return 1;
}

ssize_t read(int file, void* to, size_t size) {
  if (!wakes(file) && refused(kRead, EIO)) return -1;
  return (ssize_t)syscall(SYS_read, file, to, shortened(kShortRead, file, size));
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
/* What getc_unlocked and getline become where they are expanded in place. */
int __uflow(FILE* stream) {
  if (!refused(kRead, EIO)) return REAL(__uflow)(stream);
  mark(stream);
  return EOF;
}
ssize_t __getdelim(char** line, size_t* room, int end, FILE* stream) {
  if (!refused(kRead, EIO)) return REAL(__getdelim)(line, room, end, stream);
  mark(stream);
  return -1;
}

ssize_t write(int file, const void* from, size_t size) {
  if (file == STDERR_FILENO) return (ssize_t)syscall(SYS_write, file, from, size);
  if (!wakes(file) && refused(kWrite, ENOSPC)) return -1;
  return (ssize_t)syscall(SYS_write, file, from, shortened(kShortWrite, file, size));
}
ssize_t writev(int file, const struct iovec* parts, int count) {
  if (file == STDERR_FILENO) return (ssize_t)syscall(SYS_writev, file, parts, count);
  if (refused(kWrite, ENOSPC)) return -1;
  struct iovec one;
  const size_t taken = shortened_parts(kShortWrite, file, &parts, (size_t)count, &one);
  return (ssize_t)syscall(SYS_writev, file, parts, taken);
}
ssize_t pwrite(int file, const void* from, size_t size, off_t at) {
  if (refused(kWrite, ENOSPC)) return -1;
  return (ssize_t)syscall(SYS_pwrite64, file, from, shortened(kShortWrite, file, size), at);
}
int ftruncate(int file, off_t size) {
  return refused(kWrite, ENOSPC) ? -1 : (int)syscall(SYS_ftruncate, file, size);
}
int fallocate(int file, int mode, off_t at, off_t size) {
  return refused(kWrite, ENOSPC) ? -1 : (int)syscall(SYS_fallocate, file, mode, at, size);
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

int fsync(int file) {
  return refused(kFsync, EIO) ? -1 : (int)syscall(SYS_fsync, file);
}
int fdatasync(int file) {
  return refused(kFsync, EIO) ? -1 : (int)syscall(SYS_fdatasync, file);
}
int rename(const char* from, const char* to) {
  return refused(kRename, EIO) ? -1 : (int)syscall(SYS_rename, from, to);
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  if (refused(kRename, EIO)) return -1;
  return (int)syscall(SYS_renameat, from_folder, from, to_folder, to);
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  if (refused(kRename, EIO)) return -1;
  return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}
int mkdir(const char* path, mode_t mode) {
  return refused(kRename, EIO) ? -1 : (int)syscall(SYS_mkdir, path, mode);
}
