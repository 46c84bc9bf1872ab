#include "eval/data_file.h"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <new>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/quote.h"
#include "base/utf8.h"

namespace counterbeam {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of an uncompressed data file

std::string without_mark(std::string text, const std::filesystem::path& path) {
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    bad_input("{}: is UTF-16; save the file as UTF-8", path.string());
  return text;
}

std::string names_of(const std::vector<DataRow::Field>& fields) {
  std::string names;
  for (const DataRow::Field& field : fields)
    names += (names.empty() ? "" : ", ") + printable(field.name, 60);
  return names.size() > 300 ? names.substr(0, 300) + " ..." : names;
}

[[noreturn]] void no_rows(const std::filesystem::path& path) {
  bad_input("{}: has no rows; is the file truncated? Download it again", path.string());
}

[[noreturn]] void too_many_columns(const std::string& place, const DataLimits& limits) {
  bad_input("{}: has more than {} fields, the limit; leave out those that no prompt shows", place,
            limits.columns);
}

// Refuses the next row, of `fields` fields, if it is one too many; else counts its fields.
void check_room(const std::filesystem::path& path, std::size_t rows, std::size_t fields,
                std::size_t& values, const DataLimits& limits) {
  if (rows >= limits.rows)
    bad_input("{}: has more than {} rows, the limit; give a part of the file", path.string(),
              limits.rows);
  values += fields;
  if (values > limits.values)
    bad_input(
        "{}: has more than {} fields in all its rows, the limit; leave out fields that no prompt "
        "shows, or give a part of the file",
        path.string(), limits.values);
}

// Parses one line, which must be a JSON object.
Json json_row(std::string_view line, const std::string& place) {
  if (!is_valid_utf8(line)) bad_input("{}: is not UTF-8; save the file as UTF-8", place);
  Json json;
  try {
    json = parse_json(line, place);
  } catch (const Error& error) {
    throw_error(error.kind(),
                fmt::format("{}; a row is one JSON object on one line", error.what()));
  }
  if (!json.is_object())
    bad_input("{}: a JSON object is needed, one on each line; found {}", place,
              printable(to_line(json), 60));
  return json;
}

// Parses the CSV record at `at` and moves `at` past its line end.
std::vector<std::string> csv_record(std::string_view text, std::size_t& at,
                                    const std::string& place, const DataLimits& limits) {
  std::vector<std::string> fields(1);
  bool quoted = false, opened = false;  // inside quotes; the field started with a quote
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c != '"') {
        fields.back() += c;
      } else if (at + 1 < text.size() && text[at + 1] == '"') {
        fields.back() += '"';
        ++at;
      } else {
        quoted = false;
      }
    } else if (c == '"' && fields.back().empty() && !opened) {
      quoted = opened = true;
    } else if (c == ',') {
      if (fields.size() >= limits.columns) too_many_columns(place, limits);
      fields.emplace_back();
      opened = false;
    } else if (c == '\n') {
      ++at;
      return fields;
    } else if (c != '\r' || at + 1 == text.size() || text[at + 1] != '\n') {
      if (opened)
        bad_input("{}: field {} continues after its closing quote; double the quotes inside it",
                  place, fields.size());
      fields.back() += c;
    }
  }
  if (quoted) bad_input("{}: a quoted field is not closed; is the file truncated?", place);
  return fields;
}

}  // namespace

std::string read_maybe_gzip(const std::filesystem::path& path) {
  std::string packed = read_file(path);
  if (!packed.starts_with("\x1f\x8b")) return without_mark(std::move(packed), path);
  if (packed.size() > kMostBytes)
    bad_input("{}: is larger than {} bytes", path.string(), kMostBytes);
  z_stream stream{};
  const int ready = inflateInit2(&stream, 16 + MAX_WBITS);
  if (ready == Z_MEM_ERROR) throw std::bad_alloc();
  if (ready != Z_OK) failed("{}: zlib cannot be initialised", path.string());
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  int status = Z_OK;
  while (status == Z_OK) {
    char buffer[1 << 16];
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof buffer;
    status = inflate(&stream, Z_NO_FLUSH);
    const std::size_t got = sizeof buffer - stream.avail_out;
    if (text.size() + got > kMostBytes)  // before the text grows further
      bad_input("{}: decompresses to more than {} bytes", path.string(), kMostBytes);
    text.append(buffer, got);
    // A gzip file may consist of several members.
    if (status == Z_STREAM_END && stream.avail_in > 0) status = inflateReset(&stream);
  }
  if (status == Z_MEM_ERROR) throw std::bad_alloc();  // the archive is not to blame
  if (status != Z_STREAM_END)
    bad_input("{}: the gzip archive is damaged or truncated; download it again", path.string());
  return without_mark(std::move(text), path);
}

const DataRow::Field* DataRow::find(const std::string& field) const {
  for (const Field& candidate : fields)
    if (candidate.name == field) return &candidate;
  return nullptr;
}

const std::string& DataRow::value(const std::string& field) const {
  if (const Field* found = find(field)) return found->value;
  bad_input("{}: field \"{}\" is missing; the row has {}", place, field, names_of(fields));
}

const std::string& DataRow::text(const std::string& field) const {
  const std::string& text = value(field);
  if (!find(field)->is_text)
    bad_input("{}: field \"{}\" is {}, but a text is needed; write it as a JSON string", place,
              field, printable(text, 60));
  return text;
}

std::vector<DataRow> read_json_lines(const std::filesystem::path& path, const DataLimits& limits) {
  const std::string text = read_maybe_gzip(path);
  std::vector<DataRow> rows;
  std::size_t start = 0, values = 0;
  for (int number = 1; start < text.size(); ++number) {
    std::size_t end = text.find('\n', start);
    if (end == text.npos) end = text.size();
    std::string_view line = std::string_view(text).substr(start, end - start);
    if (line.ends_with('\r')) line.remove_suffix(1);
    start = end + 1;
    if (line.find_first_not_of(" \t") == line.npos) continue;
    DataRow row{fmt::format("{}: row {}", path.string(), number), {}};
    if (line.size() > limits.row_bytes)
      bad_input("{}: has {} bytes; a row may have {}", row.place, line.size(), limits.row_bytes);
    const Json json = json_row(line, row.place);
    if (json.size() > limits.columns) too_many_columns(row.place, limits);
    check_room(path, rows.size(), json.size(), values, limits);
    row.fields.reserve(json.size());
    for (const auto& [name, value] : json.items())
      row.fields.push_back(
          {name, value.is_string() ? value.get<std::string>() : to_line(value), value.is_string()});
    rows.push_back(std::move(row));
  }
  if (rows.empty()) no_rows(path);
  return rows;
}

std::vector<DataRow> read_csv(const std::filesystem::path& path, const DataLimits& limits) {
  const std::string text = read_maybe_gzip(path);
  std::size_t at = 0, kept = 0;
  const std::vector<std::string> names = csv_record(text, at, path.string() + ": row 1", limits);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i))
      bad_input("{}: row 1: column \"{}\" is named twice; rename one", path.string(),
                printable(names[i], 60));
  std::vector<DataRow> rows;
  for (int number = 2; at < text.size(); ++number) {
    DataRow row{fmt::format("{}: row {}", path.string(), number), {}};
    std::vector<std::string> values = csv_record(text, at, row.place, limits);
    if (values.size() == 1 && values[0].empty()) continue;
    if (values.size() != names.size())
      bad_input("{}: {} fields, but the first row names {}; is a comma or line end not quoted?",
                row.place, values.size(), names.size());
    check_room(path, rows.size(), values.size(), kept, limits);
    row.fields.reserve(values.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!is_valid_utf8(values[i]))
        bad_input("{}: field \"{}\" is not UTF-8; save the file as UTF-8", row.place, names[i]);
      row.fields.push_back({names[i], std::move(values[i])});
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) no_rows(path);
  return rows;
}

}  // namespace counterbeam
