#include "base/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace counterbeam {

OutputFile::OutputFile(std::filesystem::path path)
    : path_(std::move(path)),
      partial_(path_.string() + fmt::format(".{}.part", ::getpid())),
      file_(std::fopen(partial_.c_str(), "wb")) {
  if (!file_) fail();
}

OutputFile::~OutputFile() {
  if (!file_) return;
  file_.reset();
  std::remove(partial_.c_str());
}

void OutputFile::fail() const {
  failed("{}: cannot be written: {}", path_.string(), std::strerror(errno));
}

void OutputFile::write(const void* data, std::size_t size) {
  if (std::fwrite(data, 1, size, file_.get()) != size) fail();
}

void OutputFile::finish() {
  if (std::fflush(file_.get()) != 0 || ::fsync(::fileno(file_.get())) != 0 ||
      std::rename(partial_.c_str(), path_.c_str()) != 0)
    fail();
  file_.reset();
}

}  // namespace counterbeam
