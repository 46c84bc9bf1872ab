// The tables of `bench --profile`.
#include <fmt/format.h>

#include <algorithm>

#include "cli/bench_run.h"

namespace counterbeam::cli {
namespace {

// A share of the threads' time in the loops of an operation, in percent.
double percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

std::string table_of(const BenchFigure& figure) {
  std::vector<std::pair<std::string, OperationTimes>> rows(figure.profile.operations.begin(),
                                                           figure.profile.operations.end());
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  const double all = figure.profiled_seconds;
  std::string text = fmt::format(
      "\n{}: {:.1f} ms in all rounds\n{:<32} {:>7} {:>10} {:>7} {:>9} {:>7} {:>7} {:>7} {:>8}\n",
      figure.name, all * 1e3, "", "calls", "ms", "share", "us/call", "GB/s", "busy", "alone",
      "late us");
  double inside = 0;
  for (const auto& [name, times] : rows) {
    inside += times.seconds;
    text += fmt::format(
        "{:<32} {:>7} {:>10.2f} {:>6.1f}% {:>9.1f} {:>7.1f} {:>6.1f}% {:>6.1f}% {:>8.2f}\n", name,
        times.calls, times.seconds * 1e3, percent(times.seconds, all),
        times.seconds * 1e6 / static_cast<double>(times.calls),
        times.weight_bytes / times.seconds / 1e9,
        percent(times.busy_seconds, times.loop_seconds * figure.profile.threads),
        percent(times.seconds - times.loop_seconds, times.seconds),
        times.joined > 0 ? times.late_seconds * 1e6 / static_cast<double>(times.joined) : 0);
  }
  return text + fmt::format("{:<32} {:>7} {:>10.2f} {:>6.1f}%\n", "outside operations", "",
                            (all - inside) * 1e3, percent(all - inside, all));
}

}  // namespace

std::string profile_tables(const BenchReport& report) {
  std::string text =
      "\nbusy: threads at work within shared loops; alone: time of the operation outside of them; "
      "late: how long a thread took to join a loop\n";
  for (const BenchFigure& figure : report.figures) text += table_of(figure);
  return text;
}

Json profile_json(const BenchFigure& figure) {
  Json operations = Json::object();
  for (const auto& [name, times] : figure.profile.operations) {
    operations[name] = {{"calls", times.calls},
                        {"seconds", times.seconds},
                        {"weight_bytes", times.weight_bytes},
                        {"loops", times.loops},
                        {"loop_seconds", times.loop_seconds},
                        {"busy_seconds", times.busy_seconds},
                        {"late_seconds", times.late_seconds},
                        {"joined", times.joined}};
  }
  return operations;
}

}  // namespace counterbeam::cli
