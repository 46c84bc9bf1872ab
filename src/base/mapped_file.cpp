#include "base/mapped_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/refuse_opening.h"

namespace counterbeam {

// A signal handler may neither lock nor allocate, so the mappings stand in a table of fixed size.
// An entry is free where begin is 0; end is written before begin.
struct MappedPlace {
  std::atomic<std::uintptr_t> begin{0}, end{0};
  std::atomic<bool> lost{false};  // a page was missing
};

namespace {

constinit std::array<MappedPlace, 4096> mapped_places;
struct sigaction former_action;

// Puts zeros in place of the missing pages, so that the reader goes on and finds out by check().
void fill_missing_pages(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (MappedPlace& place : mapped_places) {
    const std::uintptr_t begin = place.begin.load(), end = place.end.load();
    if (begin == 0 || address < begin || address >= end) continue;
    const std::uintptr_t page = address & ~std::uintptr_t{0xfff};
    const int reason = errno;
    const void* zeros = ::mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    errno = reason;
    if (zeros == MAP_FAILED) break;
    place.lost.store(true);
    return;
  }
  // Not ours: what would have happened without us, when the instruction is repeated.
  if ((former_action.sa_flags & SA_SIGINFO) != 0 && former_action.sa_sigaction != nullptr)
    return former_action.sa_sigaction(signal, info, context);
  ::sigaction(SIGBUS, &former_action, nullptr);
}

bool handle_missing_pages() {
  struct sigaction action {};
  action.sa_sigaction = fill_missing_pages;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  return ::sigaction(SIGBUS, &action, &former_action) == 0;
}

// Null if the table is full: such a mapping is not watched.
MappedPlace* claim_place(const void* data, std::size_t size) {
  static const bool handled = handle_missing_pages();
  if (!handled) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  for (MappedPlace& place : mapped_places) {
    std::uintptr_t free = 0;
    if (place.begin.load() != 0 || !place.begin.compare_exchange_strong(free, 1)) continue;
    place.lost.store(false);
    place.end.store(begin + size);
    place.begin.store(begin);
    return &place;
  }
  return nullptr;
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path)
    // O_NONBLOCK, so that opening a FIFO does not wait for a writer.
    : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (file_ < 0) refuse_opening(path, errno);
  const bool known = ::fstat(file_, &opened_) == 0;
  const bool regular = known && S_ISREG(opened_.st_mode);
  void* mapped = nullptr;
  if (regular && opened_.st_size > 0)
    mapped = ::mmap(nullptr, static_cast<std::size_t>(opened_.st_size), PROT_READ, MAP_PRIVATE,
                    file_, 0);
  const int reason = errno;
  if (!regular || mapped == MAP_FAILED) ::close(file_);
  if (!regular) bad_input("{}: is not a regular file", path.string());
  if (mapped == MAP_FAILED)
    failed("{}: cannot be mapped: {}", path.string(), std::strerror(reason));
  data_ = static_cast<const std::byte*>(mapped);
  size_ = static_cast<std::size_t>(opened_.st_size);
  if (data_) place_ = claim_place(data_, size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      opened_(other.opened_),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      place_(std::exchange(other.place_, nullptr)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(opened_, other.opened_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(place_, other.place_);
  return *this;
}

MappedFile::~MappedFile() {
  if (place_) {
    place_->end.store(0);  // first, so that an entry never covers memory of others
    place_->begin.store(0);
  }
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
  if (file_ >= 0) ::close(file_);
}

void MappedFile::check(const std::filesystem::path& name) const {
  struct stat now {};
  const bool known = ::fstat(file_, &now) == 0;
  if ((place_ && place_->lost.load()) || !known || now.st_size < opened_.st_size)
    failed(
        "{}: a part of the file disappeared while it was read: it became shorter, or the disk "
        "failed; wait until nothing writes to it, or download it again",
        name.string());
  if (now.st_size != opened_.st_size || now.st_mtim.tv_sec != opened_.st_mtim.tv_sec ||
      now.st_mtim.tv_nsec != opened_.st_mtim.tv_nsec)
    failed(
        "{}: the file was written to while it was read, so that what was read may be a mixture; "
        "wait until nothing writes to it, or download it again",
        name.string());
}

void MappedFile::advise(std::size_t first, std::size_t count, int advice) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t begin = std::min(first, size_) / page * page;
  const std::size_t end = std::min(first + count, size_);
  // Only a hint, so a failure does not matter.
  if (begin < end) (void)::madvise(const_cast<std::byte*>(data_) + begin, end - begin, advice);
}

void MappedFile::will_need(std::size_t first, std::size_t count) const {
  advise(first, count, MADV_WILLNEED);
}

void MappedFile::done_with(std::size_t first, std::size_t count) const {
  advise(first, count, MADV_DONTNEED);
}

}  // namespace counterbeam
