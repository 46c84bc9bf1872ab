#include "base/line_reader.h"

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace counterbeam {

LineReader::LineReader(std::filesystem::path path, std::size_t most_bytes_of_a_line)
    : path_(std::move(path)),
      most_(most_bytes_of_a_line),
      file_(open_regular_file(path_)),
      buffer_(1 << 16) {}

std::string LineReader::place() const {
  return fmt::format("{}: line {}", path_.string(), number_);
}

bool LineReader::refill() {
  at_ = 0;
  filled_ = std::fread(buffer_.data(), 1, buffer_.size(), file_.get());
  if (filled_ == 0 && std::ferror(file_.get()))
    failed("{}: cannot be read: {}", path_.string(), std::strerror(errno));
  return filled_ > 0;
}

void LineReader::append(std::string& line, const char* text, std::size_t size) const {
  if (size > most_ - line.size())
    bad_input("{}: is longer than {} bytes; is the file damaged?", place(), most_);
  line.append(text, size);
}

bool LineReader::next(std::string& line) {
  line.clear();
  ++number_;
  while (at_ < filled_ || refill()) {
    const char* const start = buffer_.data() + at_;
    const auto* const end = static_cast<const char*>(std::memchr(start, '\n', filled_ - at_));
    const auto size = end ? static_cast<std::size_t>(end - start) : filled_ - at_;
    append(line, start, size);
    at_ += size + (end ? 1 : 0);
    if (end) return true;
  }
  rest_ = line.size();
  return false;
}

}  // namespace counterbeam
