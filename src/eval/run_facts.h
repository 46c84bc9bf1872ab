// What the run.json of a folder says about its samples.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace counterbeam {

// Fields are empty where run.json does not say.
struct RunFacts {
  std::string experiment, model;
  std::string fingerprint;  // of the model's files, as JSON on one line
  std::string dtype, device, seed,
      version;  // dtype: with the activations; several versions: "0.1.0, 0.2.0"
  std::map<std::string, std::string> settings;  // by method: to_json(Settings) on one line
  struct Task {
    std::string problems, digest, grader, extract;
    std::string asking;  // raw, template arguments, stop texts and the like, on one line
  };
  std::map<std::string, Task> tasks;
};

// Without run.json everything is empty. Throws Error if the file is not a JSON object.
RunFacts read_run_facts(const std::filesystem::path& folder);

}  // namespace counterbeam
