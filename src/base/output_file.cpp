#include "base/output_file.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/list_folder.h"
#include "base/regular_file.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// .counterbeam-PID-NUMBER.part
fs::path partial_beside(const fs::path& path) {
  static std::atomic<int> number = 0;
  return folder_of(path) / fmt::format(".counterbeam-{}-{}.part", ::getpid(), ++number);
}

// The number of a descriptor of this process that the path names: /dev/stdout, /dev/fd/63 and links
// to them. Opening it by its name would begin a regular file anew or replace the name in /dev.
std::optional<int> own_descriptor(const fs::path& path) {
  constexpr int kMostLinks = 40;
  std::error_code error;
  fs::path at = fs::absolute(path, error).lexically_normal();
  for (int i = 0; i < kMostLinks && !error; ++i) {
    const std::string name = at.filename().string(), folder = at.parent_path().string();
    int number = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), number);
    if ((folder == "/dev/fd" || folder == "/proc/self/fd") && bad == std::errc() &&
        end == name.data() + name.size() && number >= 0)
      return number;
    const fs::path target = fs::read_symlink(at, error);
    if (!error) at = (at.parent_path() / target).lexically_normal();
  }
  return std::nullopt;
}

bool is_direct(const fs::path& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

}  // namespace

OutputFile::OutputFile(fs::path path, Target target)
    : path_(std::move(path)), direct_(is_direct(path_)) {
  const std::optional<int> descriptor =
      target == Target::Any ? own_descriptor(path_) : std::nullopt;
  if (descriptor) {
    direct_ = true;
    open_copy_of(*descriptor);
  } else if (direct_) {
    if (target == Target::RegularFile) refuse_irregular(path_);
    open_direct();
  } else {
    open();
  }
  if (!file_) fail();
}

void OutputFile::open_copy_of(int descriptor) {
  const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return;
  file_.reset(::fdopen(copy, "wb"));
  if (!file_) ::close(copy);
}

void OutputFile::open_direct() {
  // O_NONBLOCK, so that opening a FIFO does not wait for a reader; writing may wait for it.
  const int opened = ::open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  std::error_code error;
  if (opened < 0 && errno == ENXIO && fs::is_fifo(path_, error))
    failed("{}: is a FIFO that nobody reads; start its reader first", path_.string());
  if (opened < 0) return;
  const int flags = ::fcntl(opened, F_GETFL);
  if (flags >= 0 && ::fcntl(opened, F_SETFL, flags & ~O_NONBLOCK) == 0)
    file_.reset(::fdopen(opened, "wb"));
  if (!file_) ::close(opened);
}

void OutputFile::open() {
  const int unnamed = ::open(folder_of(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (unnamed >= 0) {
    file_.reset(::fdopen(unnamed, "wb"));
    if (!file_) ::close(unnamed);
    return;
  }
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) return;
  partial_ = partial_beside(path_);
  file_.reset(std::fopen(partial_.c_str(), "wbe"));
  if (!file_) partial_.clear();
}

OutputFile::~OutputFile() {
  if (!file_) return;
  file_.reset();
  if (!partial_.empty()) ::unlink(partial_.c_str());
}

void OutputFile::fail() const {
  failed("{}: cannot be written: {}", path_.string(), std::strerror(errno));
}

void OutputFile::write(const void* data, std::size_t size) {
  if (std::fwrite(data, 1, size, file_.get()) != size) fail();
}

// A link never replaces a file, so a target that exists is replaced by renaming.
void OutputFile::give_name() {
  if (partial_.empty()) {
    const std::string open_file = fmt::format("/proc/self/fd/{}", ::fileno(file_.get()));
    const auto link = [&](const fs::path& name) {
      return ::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
    };
    if (link(path_)) return;
    if (errno != EEXIST) fail();
    const fs::path name = partial_beside(path_);
    if (!link(name)) fail();
    partial_ = name;
  }
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) fail();
  partial_.clear();
}

void OutputFile::finish() {
  if (std::fflush(file_.get()) != 0) fail();
  if (!direct_) {
    if (::fsync(::fileno(file_.get())) != 0) fail();
    give_name();
  }
  file_.reset();
}

void remove_partial_files(const fs::path& folder) {
  for (const fs::path& path : list_folder(folder)) {
    int pid = 0, number = 0, end = 0;
    const std::string name = path.filename().string();
    if (std::sscanf(name.c_str(), ".counterbeam-%d-%d.part%n", &pid, &number, &end) != 2 ||
        end != static_cast<int>(name.size()))
      continue;
    const bool lives = ::kill(pid, 0) == 0 || errno != ESRCH;
    if (!lives || pid == ::getpid()) ::unlink(path.c_str());
  }
}

}  // namespace counterbeam
