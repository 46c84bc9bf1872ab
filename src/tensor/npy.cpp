#include "tensor/npy.h"

#include <string>

#include "base/error.h"

namespace counterbeam {

NpyWriter::NpyWriter(const std::filesystem::path& path, std::int64_t rows, std::int64_t columns)
    : file_(path, Target::Any), rows_left_(rows), columns_(columns) {
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  // Magic, version and length are 10 bytes; the data begins at a multiple of 64.
  constexpr std::size_t kPrefix = 10;
  header.resize((kPrefix + header.size() + 1 + 63) / 64 * 64 - kPrefix - 1, ' ');
  header += '\n';
  const char prefix[kPrefix] = {'\x93',
                                'N',
                                'U',
                                'M',
                                'P',
                                'Y',
                                1,
                                0,
                                static_cast<char>(header.size() & 0xff),
                                static_cast<char>(header.size() >> 8)};
  file_.write(prefix, kPrefix);
  file_.write(header.data(), header.size());
}

void NpyWriter::row(std::span<const float> values) {
  CB_CHECK(rows_left_ > 0 && static_cast<std::int64_t>(values.size()) == columns_);
  file_.write(values.data(), values.size_bytes());
  --rows_left_;
}

void NpyWriter::finish() {
  CB_CHECK(rows_left_ == 0);
  file_.finish();
}

}  // namespace counterbeam
