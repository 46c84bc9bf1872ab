#include "model/hub.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/list_folder.h"
#include "base/quote.h"
#include "tensor/checkpoint.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostRevisionBytes = 4096;

// As in huggingface_hub, an empty variable counts as unset and "~/" is expanded.
std::string environment(const char* name) {
  const char* value = std::getenv(name);
  std::string path = value ? value : "";
  if (path.starts_with("~/"))
    if (const char* home = std::getenv("HOME")) path.replace(0, 1, home);
  return path;
}

bool is_part(std::string_view part) {
  constexpr std::string_view kOther = "-_.";
  return !part.empty() && part != "." && part != ".." &&
         std::all_of(part.begin(), part.end(), [&](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  kOther.find(c) != kOther.npos;
         });
}

// Whether the name is ORG/NAME and cannot refer to anything outside of the cache folder.
bool is_model_id(const std::string& name) {
  const std::size_t slash = name.find('/');
  return slash != name.npos && is_part(name.substr(0, slash)) && is_part(name.substr(slash + 1));
}

fs::path checked(const fs::path& folder) {
  check_model_folder(folder);
  return folder;
}

// The folder of the program, or of the shared library that holds this code: the module of the
// Python package has the shipped files beside it, wherever the interpreter lies.
fs::path program_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  Dl_info here{};
  static const char kMark = 0;
  if (dladdr(&kMark, &here) != 0 && here.dli_fname) {
    const fs::path library = fs::canonical(here.dli_fname, error);
    if (!error && library.extension() == ".so" && library != program) return library.parent_path();
  }
  return program.parent_path();
}

std::vector<fs::path> subfolders(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::path& path : list_folder(folder))
    if (fs::is_directory(path, error)) found.push_back(path);
  return found;
}

// The snapshot that refs/main names or, without that file, the only snapshot.
fs::path snapshot_of(const fs::path& repository, const std::string& name) {
  std::error_code error;
  const fs::path reference = repository / "refs" / "main";
  if (fs::exists(reference, error)) {
    std::string revision = read_file(reference, kMostRevisionBytes);
    while (!revision.empty() && (revision.back() == '\n' || revision.back() == ' '))
      revision.pop_back();
    if (!is_part(revision))
      bad_input("{}: holds {}, not a revision; download the model again: hf download {}",
                reference.string(), in_quotes(revision), name);
    if (fs::is_directory(repository / "snapshots" / revision, error))
      return repository / "snapshots" / revision;
  }
  const std::vector<fs::path> snapshots = subfolders(repository / "snapshots");
  if (snapshots.size() == 1) return snapshots.front();
  bad_input(
      "{}: has {} snapshots and refs/main names none of them; download the model again: "
      "hf download {}, or give the snapshot's folder as --model",
      repository.string(), snapshots.size(), name);
}

// The models beside a program: folders with a config.json, by name.
std::vector<fs::path> shipped_models(const fs::path& program) {
  std::vector<fs::path> models;
  std::error_code error;
  for (const char* place : {"../../models", "../share/counterbeam/models"})
    for (const fs::path& folder : subfolders((program / place).lexically_normal()))
      if (fs::exists(folder / "config.json", error)) models.push_back(folder);
  return models;
}

std::string names_of_shipped_models() {
  std::string names;
  for (const fs::path& folder : shipped_models(program_folder()))
    names += fmt::format("{}{}", names.empty() ? "; models that ship: " : ", ",
                         folder.filename().string());
  return names;
}

// ORG/NAME if the path leads through models--ORG--NAME/snapshots/HASH, followed by the folders
// below the snapshot; empty if it does not.
std::string hub_name(const fs::path& path) {
  constexpr std::string_view kModels = "models--", kBetween = "--";
  const std::vector<fs::path> parts(path.begin(), path.end());
  for (std::size_t i = 0; i + 2 < parts.size(); ++i) {
    std::string name = parts[i].string();
    if (!name.starts_with(kModels) || name.size() == kModels.size()) continue;
    if (parts[i + 1] != "snapshots" || parts[i + 2].empty()) continue;
    name.erase(0, kModels.size());
    if (const std::size_t at = name.find(kBetween); at != name.npos)
      name.replace(at, kBetween.size(), "/");
    for (std::size_t below = i + 3; below < parts.size(); ++below)
      if (!parts[below].empty()) name += "/" + parts[below].string();
    return name;
  }
  return "";
}

// The last name in a path that has one: "DIR/" is DIR.
std::string last_name(const fs::path& path) {
  return (path / "").parent_path().filename().string();
}

}  // namespace

std::string model_name(const fs::path& folder) {
  std::error_code error;
  const fs::path given = fs::absolute(folder, error).lexically_normal();
  fs::path real = fs::weakly_canonical(folder, error);
  if (error) real = given;
  for (const fs::path& path : {given, real})
    if (std::string name = hub_name(path); !name.empty()) return name;
  // "." and ".." say nothing about the model; links are followed only to get past them.
  const std::string own = last_name(folder);
  if (!own.empty() && own != "." && own != "..") return own;
  const std::string name = last_name(real);
  return name.empty() ? real.string() : name;
}

void check_model_folder(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder / "config.json", error))
    bad_input("{}: has no config.json, so it is not a Hugging Face model folder; {}",
              folder.string(), weights_remedy(folder));
}

fs::path hub_cache() {
  if (const std::string cache = environment("HF_HUB_CACHE"); !cache.empty()) return cache;
  if (const std::string cache = environment("HUGGINGFACE_HUB_CACHE"); !cache.empty()) return cache;
  if (const std::string home = environment("HF_HOME"); !home.empty()) return fs::path(home) / "hub";
  std::string base = environment("XDG_CACHE_HOME");
  if (base.empty()) base = environment("HOME") + "/.cache";
  return fs::path(base) / "huggingface" / "hub";
}

fs::path find_model(const std::string& name) {
  std::error_code error;
  if (fs::is_directory(name, error)) return checked(name);
  if (fs::is_regular_file(name, error))
    bad_input(
        "{}: is a file, but not GGUF; --model takes a GGUF file or the folder that holds "
        "config.json",
        printable(name));
  for (const fs::path& folder : shipped_models(program_folder()))
    if (folder.filename() == name) return folder;
  if (!is_model_id(name))
    bad_input("--model {}: is neither a folder nor a model id of the form ORG/NAME{}",
              in_quotes(name), names_of_shipped_models());
  const std::size_t slash = name.find('/');
  const fs::path repository =
      hub_cache() / fmt::format("models--{}--{}", name.substr(0, slash), name.substr(slash + 1));
  if (!fs::is_directory(repository, error))
    bad_input("model {} is neither a folder nor in {}; download it: hf download {}", name,
              hub_cache().string(), name);
  return checked(snapshot_of(repository, name));
}

fs::path shipped_folder(const std::string& name) {
  std::error_code error;
  for (const char* place : {"../..", "../share/counterbeam"}) {
    fs::path folder = (program_folder() / place / name).lexically_normal();
    if (fs::is_directory(folder, error)) return folder;
  }
  bad_input("the folder {} that ships with Counterbeam was not found next to the program", name);
}

fs::path shipped_model(const fs::path& program) {
  const std::vector<fs::path> models = shipped_models(program);
  if (models.empty())
    bad_input(
        "no model was found next to the program; name one with --model DIR or --model ORG/NAME");
  return models.front();
}

fs::path find_model_or_shipped(const std::string& name) {
  return name.empty() ? shipped_model(program_folder()) : find_model(name);
}

bool is_shipped_model(const fs::path& folder) {
  std::error_code error;
  for (const fs::path& shipped : shipped_models(program_folder()))
    if (fs::equivalent(folder, shipped, error)) return true;
  return false;
}

}  // namespace counterbeam
