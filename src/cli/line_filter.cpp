#include "cli/line_filter.h"

#include <fmt/format.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/output.h"
#include "base/start_thread.h"
#include "base/trim.h"
#include "cli/input.h"

namespace counterbeam::cli {
namespace {

class LineFilter {
 public:
  using Work = std::function<std::string(const std::string&, const std::string&)>;
  explicit LineFilter(const Work& answer) : answer_(answer) {}

  void run(int threads) {
    {
      std::vector<std::jthread> others;
      try {
        for (int i = 1; i < threads; ++i) others.push_back(start_thread([this] { work(); }));
        work();
      } catch (...) {
        give_up(std::current_exception());
      }
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void work() {
    std::string line;
    while (const int number = next(line)) {
      std::string result;
      std::exception_ptr failure;
      try {
        if (!trim(line).empty())
          result = answer_(line, fmt::format("line {} of standard input", number)) + "\n";
      } catch (...) {
        failure = std::current_exception();
      }
      std::unique_lock lock(printing_);
      turn_.wait(lock, [&] { return failure_ || printed_ == number - 1; });
      if (failure_) return;
      if (!failure) failure = print(result);
      failure_ = failure;
      printed_ = number;
      turn_.notify_all();
    }
  }

  static std::exception_ptr print(const std::string& result) {
    try {
      write_result(result);
      flush_results();
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  // The line's number; 0 at the end and after a failure.
  int next(std::string& line) {
    const std::lock_guard lock(reading_);
    try {
      if (!ended_ && read_input_line(line)) return ++read_;
    } catch (...) {
      give_up(std::current_exception());
    }
    ended_ = true;
    return 0;
  }

  void give_up(std::exception_ptr why) {
    const std::lock_guard printing(printing_);
    if (!failure_) failure_ = why;
    turn_.notify_all();
  }

  const Work& answer_;
  std::mutex reading_, printing_;
  std::condition_variable turn_;
  bool ended_ = false;
  int read_ = 0, printed_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

void filter_lines(
    int threads, const std::function<std::string(const std::string&, const std::string&)>& answer) {
  LineFilter(answer).run(threads);
}

}  // namespace counterbeam::cli
