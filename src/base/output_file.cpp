#include "base/output_file.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/list_folder.h"

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

bool is_direct(const fs::path& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

}  // namespace

OutputFile::OutputFile(fs::path path) : path_(std::move(path)), direct_(is_direct(path_)) {
  open();
  if (!file_) fail();
}

void OutputFile::open() {
  if (direct_) {
    file_.reset(std::fopen(path_.c_str(), "wb"));
    return;
  }
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
