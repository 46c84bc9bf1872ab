/* What the two halves of the shim share: the kinds of calls, and whether one is to fail. */
#pragma once

enum Kind {
  kMalloc,
  kMmap,
  kThread,
  kOpen,
  kRead,
  kWrite,
  kFsync,
  kRename,
  kShortRead,
  kShortWrite,
  kKinds
};

/* Counts the call. Whether it is to fail. */
__attribute__((visibility("hidden"))) int strikes(enum Kind kind);
/* The same, and then sets errno. */
__attribute__((visibility("hidden"))) int refused(enum Kind kind, int reason);
/* The function that the program would have called. */
__attribute__((visibility("hidden"))) void* real(const char* name);
#define REAL(name) ((__typeof__(&name))real(#name))
