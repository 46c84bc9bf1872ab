// The Python interpreter of the sandbox, and the folders that it needs.
#pragma once

#include <string>
#include <vector>

namespace counterbeam {

struct Interpreter {
  std::string path;                  // symbolic links resolved
  std::vector<std::string> folders;  // its library and the system's
  std::vector<std::pair<std::string, std::string>>
      links;  // (target, name), such as (usr/lib, /lib)
};

// Searches /usr/bin, /usr/local/bin and PATH in this order. The path is empty if there is none.
Interpreter find_interpreter();

}  // namespace counterbeam
