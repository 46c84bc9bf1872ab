#include "quantise/out_folder.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/list_folder.h"
#include "base/output_file.h"
#include "base/units.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRecord = "counterbeam_quantize.json";
constexpr const char* kWork = ".counterbeam-quantize";

fs::path made(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    bad_input("{}: is a file; name a folder that is new or empty", folder.string());
  fs::create_directories(folder, error);
  if (error) failed("{}: cannot be made: {}", folder.string(), error.message());
  return folder;
}

// Which member of two records differs first; empty: none.
std::string difference(const Json& a, const Json& b) {
  for (const auto& [key, value] : a.items())
    if (!b.is_object() || !b.contains(key) || b[key] != value) return key;
  return "";
}

// Weights in other formats, which would be of another model.
bool is_weights(const std::string& name) {
  constexpr std::string_view kEnds[] = {".safetensors", ".safetensors.index.json",
                                        ".bin",         ".bin.index.json",
                                        ".pt",          ".pth",
                                        ".ckpt",        ".h5",
                                        ".msgpack",     ".onnx",
                                        ".gguf"};
  return std::any_of(std::begin(kEnds), std::end(kEnds),
                     [&](std::string_view end) { return name.ends_with(end); });
}

}  // namespace

OutFolder::OutFolder(const fs::path& folder, const Json& given)
    : path_(made(folder)), work_(path_ / kWork), lock_(path_, "folder") {
  // In the form that a later run reads back: bytes of folder names that are not UTF-8 are replaced.
  const Json record = parse_json(to_line(given), kRecord);
  remove_partial_files(path_);
  const fs::path file = path_ / kRecord;
  std::error_code error;
  if (fs::exists(file, error)) {
    if (const std::string key = difference(record, read_json_file(file)); !key.empty())
      bad_input(
          "{}: was begun with other options or another source ({} differs); give the same ones, or "
          "name another folder",
          file.string(), key);
  } else if (!list_folder(path_).empty()) {
    bad_input("{}: holds files already; name a folder that is new or empty", path_.string());
  } else {
    write_json_file(file, record);
  }
  if (complete()) return;
  fs::create_directory(work_, error);
  if (error) failed("{}: cannot be made: {}", work_.string(), error.message());
  remove_partial_files(work_);
}

bool OutFolder::complete() const {
  std::error_code error;
  return fs::exists(path_ / "config.json", error);
}

void OutFolder::expect_space(std::int64_t bytes) const {
  for (const fs::path& folder : {path_, work_})
    for (const fs::path& file : list_folder(folder)) {
      std::error_code error;
      const auto size = fs::file_size(file, error);
      if (!error && file.extension() == ".safetensors") bytes -= static_cast<std::int64_t>(size);
    }
  std::error_code error;
  const fs::space_info space = fs::space(path_, error);
  if (!error && static_cast<std::int64_t>(space.available) < bytes)
    failed("{}: needs {} of disk space, but {} are free; make room or name a folder elsewhere",
           path_.string(), human_bytes(bytes),
           human_bytes(static_cast<std::int64_t>(space.available)));
}

void OutFolder::complete_with(const Json& config) {
  write_json_file(path_ / "config.json", config);
  remove_work();
}

void OutFolder::remove_work() const {
  std::error_code error;
  fs::remove_all(work_, error);
  if (error) failed("{}: cannot be removed: {}", work_.string(), error.message());
}

void copy_small_files(const fs::path& from, const fs::path& to) {
  for (const fs::path& file : list_folder(from)) {
    const std::string name = file.filename().string();
    std::error_code error;
    if (name.starts_with('.') || name == "config.json" || name == kRecord || is_weights(name))
      continue;
    const fs::file_status status = fs::status(file, error);
    if (status.type() == fs::file_type::none)  // not even whether it exists is known
      failed("{}: cannot be read: {}", file.string(), error.message());
    if (fs::is_regular_file(status)) write_file(to / name, read_file(file));
  }
}

}  // namespace counterbeam
