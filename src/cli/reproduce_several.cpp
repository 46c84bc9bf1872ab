#include "cli/reproduce_several.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/json.h"
#include "base/output.h"
#include "cli/loading.h"
#include "cli/report.h"
#include "eval/comparison_report.h"
#include "eval/run_folder.h"
#include "model/model_source.h"

namespace counterbeam::cli {
namespace {

namespace fs = std::filesystem;

// One experiment on one model.
struct ReproducedPart {
  std::string model, experiment;
  fs::path folder;
  std::string error{};
};

// "Qwen--Qwen2.5-7B", as the hub cache calls its folders.
std::string folder_name(const std::string& model) {
  std::string name;
  for (const char c : model) name += c == '/' ? std::string("--") : std::string(1, c);
  return name;
}

class Reproduction {
 public:
  Reproduction(std::vector<PreparedExperiment> experiments, std::vector<std::string> models,
               fs::path out, const Globals& globals)
      : experiments_(std::move(experiments)),
        models_(std::move(models)),
        out_(std::move(out)),
        globals_(globals) {}

  void run() {
    plan();
    const std::vector<TaskData> tasks = experiments_.front().eval.choice.load(globals_.seed);
    for (std::size_t i = 0; i < models_.size(); ++i) run_model(i, tasks);
    report();
  }

 private:
  // Names and folders of all parts. A model that cannot be opened fails now, without the others.
  void plan() {
    std::map<std::string, std::string> names;
    for (const std::string& model : models_) {
      std::string name = model, error;
      try {
        name = open_model(model)->name();
      } catch (const Error& cause) {
        error = cause.what();
      }
      const auto [other, fresh] = names.emplace(folder_name(name), model);
      if (!fresh)
        bad_input(
            "--model: {} and {} are both called {}, so their runs would share a folder; run "
            "them apart, each with an --out of its own",
            other->second, model, name);
      for (const PreparedExperiment& experiment : experiments_) {
        fs::path folder = out_;
        if (models_.size() > 1) folder /= folder_name(name);
        if (experiments_.size() > 1) folder /= experiment.name;
        parts_.push_back({name, experiment.name, folder, error});
        refuse_used(folder, experiment.eval.run.resume);
      }
    }
  }

  void refuse_used(const fs::path& folder, bool resume) const {
    if (!resume && has_samples(folder))
      bad_input(
          "{}: has samples of an earlier run; add --resume to continue, or name another --out",
          folder.string());
  }

  ReproducedPart& part(std::size_t model, std::size_t experiment) {
    return parts_[model * experiments_.size() + experiment];
  }

  void fail(ReproducedPart& failed, const std::string& error) {
    failed.error = error;
    print_message("counterbeam: {} on {}: {}\n", failed.experiment, failed.model, error);
  }

  void run_model(std::size_t index, const std::vector<TaskData>& tasks) {
    const auto fail_all = [&](const std::string& error) {
      for (std::size_t i = 0; i < experiments_.size(); ++i) part(index, i).error = error;
      print_message("counterbeam: {}: {}\n", part(index, 0).model, error);
    };
    if (!part(index, 0).error.empty()) return fail_all(std::string(part(index, 0).error));
    try {
      Globals globals = globals_;
      globals.model = models_[index];
      const LoadedModel model = load_model(globals, experiments_.front().eval.choice.stop.at);
      for (std::size_t i = 0; i < experiments_.size(); ++i)
        run_part(part(index, i), model, tasks, experiments_[i].eval);
    } catch (const ResultsLost&) {
      throw;  // those of the other parts would be lost too
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Cancelled) throw;
      fail_all(error.what());
    }
  }

  void run_part(ReproducedPart& one, const LoadedModel& model, const std::vector<TaskData>& tasks,
                EvalCommand eval) {
    if (!globals_.quiet && !globals_.json)
      print_message("[{}/{}: {} on {}, in {}]\n", &one - parts_.data() + 1, parts_.size(),
                    one.experiment, one.model, one.folder.string());
    eval.run.out = one.folder;
    try {
      const EvalSummary summary = eval.run_and_report(model, tasks, globals_, one.experiment);
      if (!globals_.json) {
        print_result("{} on {}\n", one.experiment, one.model);
        print_summary(summary, one.folder, globals_);
        print_result("\n");
        flush_results();
      }
      if (!eval.run.allow_failures) refuse_failures(summary);
    } catch (const ResultsLost&) {
      throw;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Cancelled)
        throw Cancelled(
            fmt::format("stopped in {}; what is done is in {}; go on with the same "
                        "command and --resume",
                        one.experiment, out_.string()));
      fail(one, error.what());
    }
  }

  void report() {
    std::vector<std::string> folders;
    Json json = {{"parts", Json::array()}};
    for (const ReproducedPart& one : parts_) {
      if (has_samples(one.folder)) folders.push_back(one.folder.string());
      Json row = {
          {"experiment", one.experiment}, {"model", one.model}, {"folder", one.folder.string()}};
      if (!one.error.empty()) row["error"] = one.error;
      json["parts"].push_back(std::move(row));
    }
    if (!folders.empty()) {
      const fs::path out = out_ / "report";
      const Comparison comparison = read_comparison(folders, globals_.quiet || globals_.json);
      json["report"] = write_comparison(comparison, out);
      if (!globals_.json) {
        print_result("all together\n");
        print_comparison(comparison, out, globals_);
      }
    }
    if (globals_.json) print_result("{}\n", to_line(json));
    refuse_failed_parts();
  }

  // Experiments that failed on a model for the same reason are one line.
  void refuse_failed_parts() const {
    std::vector<std::pair<std::string, std::string>> reasons;  // model, error
    std::map<std::pair<std::string, std::string>, std::vector<std::string>> experiments;
    std::size_t count = 0;
    for (const ReproducedPart& one : parts_) {
      if (one.error.empty()) continue;
      ++count;
      std::vector<std::string>& same = experiments[{one.model, one.error}];
      if (same.empty()) reasons.emplace_back(one.model, one.error);
      same.push_back(one.experiment);
    }
    if (count == 0) return;
    std::string list;
    for (const auto& reason : reasons)
      list += fmt::format("\n  {} on {}: {}", fmt::join(experiments[reason], ", "), reason.first,
                          reason.second);
    failed("{} of {} parts failed; the same command with --resume tries them again{}", count,
           parts_.size(), list);
  }

  std::vector<PreparedExperiment> experiments_;
  std::vector<std::string> models_;
  fs::path out_;
  const Globals& globals_;
  std::vector<ReproducedPart> parts_;  // by model, then experiment
};

}  // namespace

std::vector<std::string> models_named(const std::string& list) {
  if (list.empty() || fs::exists(list)) return {list};
  std::vector<std::string> models;
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    std::string model = list.substr(start, end - start);
    if (model.empty()) bad_input("--model: \"{}\" has an empty item", list);
    if (std::find(models.begin(), models.end(), model) != models.end())
      bad_input("--model: {} is given twice", model);
    models.push_back(std::move(model));
    start = end + 1;
  }
  return models;
}

void reproduce_several(std::vector<PreparedExperiment> experiments,
                       const std::vector<std::string>& models, const fs::path& out,
                       const Globals& globals) {
  Reproduction(std::move(experiments), models, out, globals).run();
}

}  // namespace counterbeam::cli
