// Which Python the sandbox runs, and the few places of this machine it must see for that.
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

// Debian's own first, then /usr/local, then PATH. The path is empty when there is none.
Interpreter find_interpreter();

}  // namespace counterbeam
