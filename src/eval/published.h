// The figures published in the paper, shown next to ours for the paper's models and tasks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace counterbeam {

// Accuracies of the paper for one model; rows in the paper's order.
struct PublishedTable {
  struct Row {
    std::string name;                           // its name in the paper
    std::string method;                         // our method with the same settings; may be empty
    std::vector<std::optional<double>> values;  // by column
  };
  std::vector<std::string> columns;  // tasks
  std::vector<Row> rows;
  std::vector<std::string> notes;  // statements without a figure per task
};

// The paper's figures for an experiment (a name of presets(); empty for its main table), a model
// and tasks; empty for other models. `methods` are those of the run, matched by their settings.
PublishedTable published_figures(std::string_view experiment, std::string_view model,
                                 const std::vector<std::string>& tasks,
                                 const std::vector<std::string>& methods);

}  // namespace counterbeam
