// Rows of a data file: JSON lines and CSV, plain or gzip. Byte-order marks and CRLF are taken as
// they come; every error names the file, the row and where there is one the field.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace counterbeam {

// The content of a file, unpacked where it is gzip. Error for a damaged or truncated archive.
std::string read_maybe_gzip(const std::filesystem::path& path);

struct DataRow {
  struct Field {
    std::string name;
    std::string value;    // a text as it is, anything else as JSON
    bool is_text = true;  // in CSV everything is
  };
  std::string place;          // "FILE: row 3"
  std::vector<Field> fields;  // in order

  // Error when absent, and for text() when the value is not one.
  const std::string& text(const std::string& field) const;
  const std::string& value(const std::string& field) const;
  const Field* find(const std::string& field) const;
};

// One object a line.
std::vector<DataRow> read_json_lines(const std::filesystem::path& path);

// The first record names the columns; fields may be quoted and hold line ends.
std::vector<DataRow> read_csv(const std::filesystem::path& path);

}  // namespace counterbeam
