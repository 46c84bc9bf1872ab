// An interpreter at PREFIX/bin/python3.x needs PREFIX/lib/python3.x (all of PREFIX/lib if the
// prefix is not the system's), the system's shared libraries, and the dynamic linker in /lib64.
#include "eval/sandbox_interpreter.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/list_folder.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> places_to_look() {
  std::vector<fs::path> places = {"/usr/bin", "/usr/local/bin"};
  const char* search = std::getenv("PATH");
  std::istringstream folders(search ? search : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (folder.starts_with('/')) places.emplace_back(folder);
  return places;
}

// pyenv and similar tools install a shell script instead of the interpreter.
bool is_program(const fs::path& file) {
  char start[4] = {};
  std::ifstream(file, std::ios::binary).read(start, sizeof start);
  return std::string_view(start, sizeof start) == "\177ELF";
}

fs::path first_interpreter() {
  for (const fs::path& place : places_to_look()) {
    std::error_code absent;
    const fs::path real = fs::canonical(place / "python3", absent);
    if (!absent && access(real.c_str(), X_OK) == 0 && is_program(real)) return real;
  }
  return {};
}

// /usr/lib/x86_64-linux-gnu on Debian; all of /usr/lib and /usr/lib64 elsewhere.
std::vector<std::string> system_libraries() {
  std::vector<std::string> found;
  std::error_code absent;
  for (const fs::path& path : list_folder("/usr/lib"))
    if (path.filename().string().find("-linux-gnu") != std::string::npos &&
        fs::exists(path / "libc.so.6", absent))
      found.push_back(path);
  if (found.empty()) found.push_back("/usr/lib");
  if (fs::is_directory("/usr/lib64", absent)) found.push_back("/usr/lib64");
  return found;
}

}  // namespace

Interpreter find_interpreter() {
  Interpreter interpreter;
  const fs::path real = first_interpreter();
  if (real.empty()) return interpreter;
  interpreter.path = real;
  interpreter.folders = system_libraries();
  const fs::path prefix = real.parent_path().parent_path();
  const bool own_prefix = prefix != "/usr";
  interpreter.folders.push_back(own_prefix ? prefix / "lib" : prefix / "lib" / real.filename());
  for (const char* name : {"/lib", "/lib64"}) {
    std::error_code absent;
    if (const fs::path target = fs::read_symlink(name, absent); !absent)
      interpreter.links.emplace_back(target, name);
    else if (fs::is_directory(name, absent))
      interpreter.folders.push_back(name);
  }
  return interpreter;
}

}  // namespace counterbeam
