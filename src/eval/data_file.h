// Reads the rows of a data file: JSON Lines or CSV, plain or gzip. Byte-order marks and CRLF are
// accepted. Every error names the file, the row and, if there is one, the field.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace counterbeam {

// Reads a file and decompresses it if it is gzip. Throws Error if it is damaged or truncated.
std::string read_maybe_gzip(const std::filesystem::path& path);

struct DataRow {
  struct Field {
    std::string name;
    std::string value;    // a string as is, anything else as JSON
    bool is_text = true;  // always true in CSV
  };
  std::string place;          // "FILE: row 3"
  std::vector<Field> fields;  // in order

  // Both throw Error if the field is absent; text() also if it is not a string.
  const std::string& text(const std::string& field) const;
  const std::string& value(const std::string& field) const;
  const Field* find(const std::string& field) const;
};

// Short rows take far more memory than their text, and their text far more than an archive of it,
// so that counts are limited too. They are checked while reading, before a row is kept.
struct DataLimits {
  std::size_t rows = std::size_t{1} << 20;
  std::size_t columns = 1024;                    // fields of a row
  std::size_t values = std::size_t{1} << 23;     // fields of all rows
  std::size_t row_bytes = std::size_t{1} << 24;  // of a JSON object
};

// One object per line.
std::vector<DataRow> read_json_lines(const std::filesystem::path& path,
                                     const DataLimits& limits = {});

// The first record is the header. Quoted fields may contain line ends.
std::vector<DataRow> read_csv(const std::filesystem::path& path, const DataLimits& limits = {});

}  // namespace counterbeam
