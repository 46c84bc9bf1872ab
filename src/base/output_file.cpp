#include "base/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace counterbeam {

namespace {

std::filesystem::path partial_of(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  const bool direct = std::filesystem::exists(status) &&
                      !std::filesystem::is_regular_file(status) &&
                      !std::filesystem::is_directory(status);
  return direct ? path.string() : path.string() + fmt::format(".{}.part", ::getpid());
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path path)
    : path_(std::move(path)),
      partial_(partial_of(path_)),
      file_(std::fopen(partial_.c_str(), "wb")) {
  if (!file_) fail();
}

OutputFile::~OutputFile() {
  if (!file_) return;
  file_.reset();
  if (partial_ != path_) std::remove(partial_.c_str());
}

void OutputFile::fail() const {
  failed("{}: cannot be written: {}", path_.string(), std::strerror(errno));
}

void OutputFile::write(const void* data, std::size_t size) {
  if (std::fwrite(data, 1, size, file_.get()) != size) fail();
}

void OutputFile::finish() {
  if (std::fflush(file_.get()) != 0) fail();
  if (partial_ != path_ &&
      (::fsync(::fileno(file_.get())) != 0 || std::rename(partial_.c_str(), path_.c_str()) != 0))
    fail();
  file_.reset();
}

}  // namespace counterbeam
