// The live view of `ask` on a terminal: a status line that is redrawn after every block, and above
// it the lines of the answer that all living beams already agree on.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "search/search.h"

namespace counterbeam::cli {

class LiveAnswer {
 public:
  // Shows nothing unless standard error is a terminal; streams the answer only where standard
  // output is one too.
  explicit LiveAnswer(bool quiet);

  // `agreed` is the text of report.agreed.
  void update(const BlockReport& report, std::string_view agreed);
  // Clears the status and prints what of the answer has not been printed yet.
  void finish(std::string_view answer);

 private:
  void clear();

  bool status_ = false;
  bool stream_ = false;
  std::size_t printed_ = 0;  // bytes of the answer
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace counterbeam::cli
