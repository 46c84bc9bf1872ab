#include "backend/cpu/memory.h"

#include <sys/mman.h>

#include <cstdint>

#include "base/error.h"
#include "base/units.h"

namespace counterbeam {

Memory::Memory(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  const bool large = bytes >= kLarge;
  mapped_bytes_ = bytes + (large ? kLargePage : 0);
  mapped_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped_ == MAP_FAILED) {
    mapped_ = nullptr;
    failed(
        "out of memory: {} were refused; use a smaller model, or less for the cache "
        "(--cache-memory)",
        human_bytes(static_cast<std::int64_t>(bytes)));
  }
  data_ = static_cast<std::byte*>(mapped_);
  if (!large) return;
  const std::size_t off = reinterpret_cast<std::uintptr_t>(mapped_) % kLargePage;
  data_ += off == 0 ? 0 : kLargePage - off;
  madvise(data_, bytes, MADV_HUGEPAGE);  // a hint: failure is harmless
}

Memory::~Memory() {
  if (mapped_) munmap(mapped_, mapped_bytes_);
}

}  // namespace counterbeam
