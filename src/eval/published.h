// The figures published in the paper, shown next to ours for the paper's models and tasks. What the
// paper says without figures stands only beside the models and tasks that it says it of.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "eval/summary.h"

namespace counterbeam {

// Accuracies of the paper for one model; rows in the paper's order.
struct PublishedTable {
  struct Row {
    std::string name;                           // its name in the paper
    std::string method;                         // our method with the same settings; may be empty
    std::vector<std::optional<double>> values;  // by column
  };
  std::string model;                 // its name in the paper; empty if the paper has no such model
  std::vector<std::string> columns;  // tasks
  std::vector<Row> rows;
  std::vector<std::string> notes;  // statements without a figure per task

  // The paper's accuracy for a method of ours; empty if it has none.
  std::optional<double> value(std::string_view task, std::string_view method) const;
};

// A run as far as it matters here.
struct PublishedQuery {
  std::string experiment;  // a name of presets(); empty for the paper's main table
  std::string model;       // ORG/NAME or NAME; NAME must be that of the paper, in any case
  std::vector<std::string> tasks;
  std::vector<std::string> methods;
  // The resolved settings of methods, as to_json(Settings) gives them, on one line. A method that
  // is not in it has the settings that its text says.
  std::map<std::string, std::string> settings;
};

// The tasks and methods of a summary.
PublishedQuery published_query(const EvalSummary& summary, std::string experiment,
                               std::string model, std::map<std::string, std::string> settings = {});

// Methods are matched by their settings, however they are spelled. A derived model (-Instruct, a
// quantised copy) is not the paper's.
PublishedTable published_figures(const PublishedQuery& query);

Json to_json(const PublishedTable& table);

// For the terminal: ours with its interval beside the paper's, per task, then the notes. Empty
// without rows and notes.
std::string to_table(const PublishedTable& table, const EvalSummary& summary);

}  // namespace counterbeam
