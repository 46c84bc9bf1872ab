#include "quantise/shard_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <tuple>

#include "base/error.h"
#include "base/file.h"

namespace counterbeam {
namespace {

constexpr std::uint64_t kMostJournalBytes = std::uint64_t{256} << 20;  // a line per tensor

// REQUIRES a regular file, which takes everything or fails.
bool write_at(int file, std::size_t offset, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t wrote = ::pwrite(file, data, size, static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    data += wrote;
    offset += static_cast<std::size_t>(wrote);
    size -= static_cast<std::size_t>(wrote);
  }
  return true;
}

std::filesystem::path journal_path(const std::filesystem::path& work, const std::string& name) {
  return work / (name + ".journal");
}

// "NAME ERROR ENERGY": whether the line is the entry of that tensor.
bool read_entry(std::string_view line, const std::string& name, CodeError& entry) {
  if (!line.starts_with(name + ' ')) return false;
  const std::string rest(line.substr(name.size() + 1));
  int end = 0;
  return std::sscanf(rest.c_str(), "%la %la%n", &entry.error, &entry.energy, &end) == 2 &&
         end == static_cast<int>(rest.size());
}

// The entries up to the first that is torn or of another tensor, and the bytes they take.
std::pair<std::vector<CodeError>, std::size_t> read_entries(const std::string& text,
                                                            std::span<const std::string> names) {
  std::vector<CodeError> entries;
  std::size_t at = 0;
  for (const std::string& name : names) {
    const std::size_t end = text.find('\n', at);
    CodeError entry;
    if (end == text.npos || !read_entry(std::string_view(text).substr(at, end - at), name, entry))
      break;
    entries.push_back(entry);
    at = end + 1;
  }
  return {std::move(entries), at};
}

}  // namespace

void cannot_write(const std::filesystem::path& path, int error) {
  failed("{}: cannot be written: {}; {}the same command continues where this one stopped",
         path.string(), std::strerror(error),
         error == ENOSPC || error == EDQUOT ? "make room on the disk, then " : "");
}

std::vector<CodeError> journal_of(const std::filesystem::path& work, const std::string& name,
                                  std::span<const std::string> names) {
  std::error_code error;
  const std::filesystem::path path = journal_path(work, name);
  if (!std::filesystem::exists(path, error)) return {};
  return read_entries(read_file(path, kMostJournalBytes), names).first;
}

ShardFile::Descriptor::Descriptor(const std::filesystem::path& path)
    : number(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (number < 0) cannot_write(path, errno);
}

ShardFile::Descriptor::~Descriptor() {
  ::close(number);
}

ShardFile::ShardFile(const std::filesystem::path& work, const std::string& name,
                     const SafetensorsLayout& layout, std::vector<std::string> names,
                     std::size_t flush_bytes)
    : path_(work / name),
      journal_path_(journal_path(work, name)),
      names_(std::move(names)),
      flush_bytes_(flush_bytes),
      file_(path_),
      journal_(journal_path_) {
  const auto size = static_cast<off_t>(layout.bytes);
  struct stat before;
  if (::fstat(file_.number, &before) != 0) fail();
  // Space that is missing shows now and not hours later; some file systems cannot reserve it.
  if (::ftruncate(file_.number, size) != 0 ||
      (::fallocate(file_.number, 0, 0, size) != 0 && (errno == ENOSPC || errno == EDQUOT)) ||
      !write_at(file_.number, 0, layout.head.data(), layout.head.size()))
    fail();
  if (before.st_size != size) return;  // new, or not the file that the journal is of
  std::tie(done_, journal_bytes_) =
      read_entries(read_file(journal_path_, kMostJournalBytes), names_);
  entered_ = done_.size();
}

void ShardFile::fail() const {
  cannot_write(path_, errno);
}

void ShardFile::write(std::size_t offset, std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const char*>(bytes.data());
  if (!write_at(file_.number, offset, data, bytes.size())) fail();
  unflushed_ += bytes.size();
}

void ShardFile::enter(const CodeError& error) {
  CB_CHECK(entered_ < names_.size());
  pending_ += fmt::format("{} {:a} {:a}\n", names_[entered_++], error.error, error.energy);
  if (unflushed_ >= flush_bytes_) flush();
}

// Writing after the last whole entry replaces a torn one.
void ShardFile::flush() {
  if (::fdatasync(file_.number) != 0) fail();
  if (::ftruncate(journal_.number, static_cast<off_t>(journal_bytes_)) != 0 ||
      !write_at(journal_.number, journal_bytes_, pending_.data(), pending_.size()) ||
      ::fdatasync(journal_.number) != 0)
    cannot_write(journal_path_, errno);
  journal_bytes_ += pending_.size();
  pending_.clear();
  unflushed_ = 0;
}

void ShardFile::finish(const std::filesystem::path& target) {
  CB_CHECK(entered_ == names_.size());
  flush();
  if (::fsync(file_.number) != 0 || std::rename(path_.c_str(), target.c_str()) != 0) fail();
}

}  // namespace counterbeam
