// The figures that the paper published, to stand beside ours where model and task are its own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace counterbeam {

// Accuracies of the paper for one model; rows in the paper's order.
struct PublishedTable {
  struct Row {
    std::string name;                           // as the paper calls it
    std::string method;                         // of ours with the same settings; may be empty
    std::vector<std::optional<double>> values;  // by column
  };
  std::vector<std::string> columns;  // tasks
  std::vector<Row> rows;
  std::vector<std::string> notes;  // what it says without a figure for each task
};

// What the paper has on an experiment (a name of presets(); empty: its main table) for a model and
// tasks; empty for other models. `methods` are those of the run, matched by their settings.
PublishedTable published_figures(std::string_view experiment, std::string_view model,
                                 const std::vector<std::string>& tasks,
                                 const std::vector<std::string>& methods);

}  // namespace counterbeam
