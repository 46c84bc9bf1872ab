#include "cuda_emulated/fibers.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstring>
#include <stdexcept>
#include <vector>

namespace counterbeam::emulated {

struct Fiber {
  std::byte* stack = nullptr;
  bool begun = false;
  ucontext_t context;  // where it begins
  jmp_buf here;        // where it goes on: faster than a context, which keeps signals too
  const std::function<void()>* body = nullptr;
};

namespace {

constexpr std::size_t kStackBytes = 64 * 1024, kStacksAtOnce = 1024;
constexpr std::uint64_t kLastWord = 0x5ca1ab1e5ca1ab1e;  // at the end of every stack

std::vector<Fiber*> g_idle;
jmp_buf g_resumer;
Fiber* g_entering = nullptr;
bool g_returned = false;

void enter() {
  Fiber& fiber = *g_entering;
  for (;;) {
    (*fiber.body)();
    g_returned = true;
    pause(fiber);
  }
}

void make_fibers() {
  void* stacks = mmap(nullptr, kStackBytes * kStacksAtOnce, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stacks == MAP_FAILED) throw std::runtime_error("no memory for stacks");
  for (std::size_t i = 0; i < kStacksAtOnce; ++i) {
    g_idle.push_back(new Fiber);
    g_idle.back()->stack = static_cast<std::byte*>(stacks) + i * kStackBytes;
    std::memcpy(g_idle.back()->stack, &kLastWord, sizeof(kLastWord));
  }
}

// The only frame between the stacks, so that no variable changes under a jump.
__attribute__((noinline)) void switch_to(Fiber& fiber) {
  if (_setjmp(g_resumer) != 0) return;
  if (fiber.begun) _longjmp(fiber.here, 1);
  fiber.begun = true;
  g_entering = &fiber;
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack + sizeof(kLastWord);
  fiber.context.uc_stack.ss_size = kStackBytes - sizeof(kLastWord);
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, enter, 0);
  setcontext(&fiber.context);
}

}  // namespace

Fiber* take_fiber(const std::function<void()>& body) {
  if (g_idle.empty()) make_fibers();
  Fiber* fiber = g_idle.back();
  g_idle.pop_back();
  fiber->body = &body;
  return fiber;
}

bool resume(Fiber& fiber) {
  g_returned = false;
  switch_to(fiber);
  if (std::memcmp(fiber.stack, &kLastWord, sizeof(kLastWord)) != 0)
    throw std::runtime_error("a thread needs a larger stack");
  return g_returned;
}

__attribute__((noinline)) void pause(Fiber& fiber) {
  if (_setjmp(fiber.here) == 0) _longjmp(g_resumer, 1);
}

void give_back(Fiber* fiber, bool returned) {
  if (!returned) fiber->begun = false;
  g_idle.push_back(fiber);
}

}  // namespace counterbeam::emulated
