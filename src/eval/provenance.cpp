#include "eval/provenance.h"

#include <algorithm>
#include <ctime>

#include "base/error.h"
#include "base/json_fields.h"
#include "base/sha256.h"
#include "eval/parts.h"
#include "eval/served_record.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 2;  // 1 recorded model, seed and tasks only

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string resolved(const std::string& location) {
  std::error_code error;
  const fs::path path = fs::canonical(location, error);
  return error ? location : path.string();
}

Json to_json(const ModelFingerprint& fingerprint) {
  return {{"config", fingerprint.config},
          {"tokenizer", fingerprint.tokenizer},
          {"chat_template", fingerprint.chat_template},
          {"weights", fingerprint.weights}};
}

Json to_json(const TaskData& task) {
  // The questions of a task are asked in the same way; the first one shows how.
  const Question& question = task.problems.front().question;
  return {{"problems", task.problems.size()},
          {"digest", digest_of(task)},
          {"grader", to_string(task.judging)},
          {"extract", to_string(task.extraction)},
          {"raw", question.raw},
          {"template_arguments", parse_json(question.template_arguments, "--template-args")},
          {"system_as_user", question.system_as_user},
          {"stop", question.stop},
          {"stop_ids", question.stop_ids},
          {"file", task.file.string()},
          {"file_sha256", task.file_sha256}};
}

Json session_of(const LoadedModel& model, const EvalOptions& options) {
  Json session = {{"version", options.session.version}};
  if (!options.session.commit.empty()) session["commit"] = options.session.commit;
  if (options.deterministic) return session;
  session["engine"] = model.engine().info().description;
  session["started"] = now_utc();
  session["command"] = options.session.command;
  session["concurrency"] = searches_at_once(options);
  return session;
}

// One difference that forbids mixing samples.
struct Difference {
  std::string field, was, is, remedy;
};

std::string shown_value(const Json* value) {
  if (!value) return "not recorded";
  std::string text = to_line(*value);
  if (text.size() > 120) text = text.substr(0, 120) + "...";
  return text;
}

const Json* member(const Json& object, const std::string& key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? &*found : nullptr;
}

class Comparison {
 public:
  // Fields that must be equal in both objects; `path` opens their names.
  void equal(const Json& former, const Json& now, const std::string& path,
             std::initializer_list<const char*> keys, const std::string& remedy) {
    for (const char* key : keys) one(path + key, member(former, key), member(now, key), remedy);
  }

  // Every member that both objects have must be equal, member by member.
  void common(const Json& former, const Json& now, const std::string& path,
              const std::string& remedy) {
    for (const auto& [key, value] : now.items())
      one(path + key, member(former, key), &value, remedy);
    for (const auto& [key, value] : former.items())
      if (!now.contains(key)) one(path + key, &value, nullptr, remedy);
  }

  void one(const std::string& field, const Json* was, const Json* is, const std::string& remedy) {
    if (!was && !is) return;
    if (was && is && *was == *is) return;
    differences_.push_back({field, shown_value(was), shown_value(is), remedy});
  }

  void add(Difference difference) { differences_.push_back(std::move(difference)); }

  void check(const std::string& refusal) const {
    if (differences_.empty()) return;
    std::string list;
    for (const Difference& difference : differences_)
      list += fmt::format("\n  {} was {}, and now is {}: {}", difference.field, difference.was,
                          difference.is, difference.remedy);
    bad_input("{}{}", refusal, list);
  }

 private:
  std::vector<Difference> differences_;
};

// Runs of earlier versions do not say what was served. Of log-probabilities that differ by rounding
// alone nothing is said; the place that weights are loaded from counts where there are none.
void compare_served(const Json& former, const Json& now, Comparison& comparison) {
  const Json *was = member(former, "served"), *is = member(now, "served");
  if (!was || !is || was->is_null() || is->is_null()) return;
  comparison.equal(*was, *is, "served.", {"model"},
                   "the server calls its model otherwise; give the same --engine and "
                   "--engine-model");
  const auto distance = mean_distance(read_served({*was, "run.json", "served."}).logprobs,
                                      read_served({*is, "run.json", "served."}).logprobs);
  if (!distance && member(*was, "root") && member(*is, "root"))
    comparison.equal(*was, *is, "served.", {"root"},
                     "the server has loaded another model; start it with the same one");
  if (distance && *distance > kSameModelDistance)
    comparison.add({"served.logprobs", shown_value(member(*was, "logprobs")),
                    shown_value(member(*is, "logprobs")),
                    fmt::format("log-probabilities of a known text differ by {:.2f} on average, of "
                                "which rounding explains {}, so the model on the server seems to "
                                "be another one; start the server with the model of the run",
                                *distance, kSameModelDistance)});
}

void compare_model(const Json& former, const Json& now, Comparison& comparison) {
  static const Json kNone = Json::object();
  const Json* was = member(former, "fingerprint");
  comparison.equal(was ? *was : kNone, now["fingerprint"], "fingerprint.", {"config"},
                   "another config.json or generation_config.json; give the same --model");
  comparison.equal(was ? *was : kNone, now["fingerprint"], "fingerprint.", {"tokenizer"},
                   "another tokenizer.json or tokenizer_config.json; give the same --model");
  comparison.equal(was ? *was : kNone, now["fingerprint"], "fingerprint.", {"chat_template"},
                   "another chat_template.jinja; give the same --model");
  comparison.equal(was ? *was : kNone, now["fingerprint"], "fingerprint.", {"weights"},
                   "other weights; give the same --model");
  compare_served(former, now, comparison);
  comparison.equal(former, now, "", {"dtype"}, "give the same --dtype");
  comparison.equal(former, now, "", {"cache_dtype"}, "give the same --cache-dtype");
  comparison.equal(former, now, "", {"activations"}, "give the same --activations");
  comparison.equal(former, now, "", {"device"}, "give the same --device; rounding differs");
  comparison.equal(former, now, "", {"stop"}, "answers would end elsewhere; give the same options");
}

// Samples are the same under two limits of the length if neither limit is reached. An answer that
// the cache has no room for is an error and never graded, so only what the model reads counts. Runs
// of versions that graded such answers have no model_length; for them the cache counts.
void compare_lengths(const Json& former, const Json& now, Comparison& comparison) {
  const bool recorded = member(former, "model_length") && member(now, "model_length");
  const char* field = recorded ? "model_length" : "longest_sequence";
  const Json *was = member(former, field), *is = member(now, field);
  if (!was || !is || *was == *is) return comparison.one(field, was, is, "");
  const std::int64_t needed = std::max(former.value("needed_sequence", std::int64_t{0}),
                                       now.value("needed_sequence", std::int64_t{0}));
  if (std::min(was->get<std::int64_t>(), is->get<std::int64_t>()) < needed)
    comparison.one(
        field, was, is,
        fmt::format("answers may need {} tokens and would be cut elsewhere; give the same {}",
                    needed, recorded ? "--model and --engine" : "--cache-memory"));
}

void compare_tasks(const Json& former, const Json& now, Comparison& comparison) {
  for (const auto& [name, task] : now["tasks"].items()) {
    const Json* was = member(former["tasks"], name);
    if (!was) continue;
    const std::string path = "tasks." + name + ".";
    comparison.equal(*was, task, path, {"grader"}, "give the same --grader");
    comparison.equal(*was, task, path, {"extract"}, "give the same --extract");
    comparison.equal(*was, task, path, {"raw", "template_arguments", "system_as_user"},
                     "give the same --raw, --template-args and --system-as-user");
    comparison.equal(*was, task, path, {"stop", "stop_ids"}, "give the same --stop and --stop-id");
    comparison.equal(*was, task, path, {"problems", "digest"},
                     "the problems or prompts have changed; give the same --data, --system and "
                     "--prompt");
  }
}

void compare_methods(const Json& former, const Json& now, Comparison& comparison) {
  for (const auto& [name, settings] : now["methods"].items())
    if (const Json* was = member(former["methods"], name))
      comparison.common(*was, settings, "methods." + name + ".",
                        "the same method now means something else; give the same --contexts, "
                        "--max-tokens and --temperature, write out the setting, or take the "
                        "version that wrote the samples");
}

void add_new(Json& list, const Json& items) {
  for (const Json& item : items)
    if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

// The fields that are read; those that are only compared may be anything.
void check_fields(const Json& run, const std::string& place) {
  const JsonFields fields(run, place);
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 60;
  fields.string("experiment");
  if (const auto served = fields.object("served")) read_served(*served);
  fields.integer("longest_sequence", 0, kMostTokens);
  fields.integer("model_length", 0, kMostTokens);
  fields.integer("needed_sequence", 0, kMostTokens);
  const JsonFields tasks = *fields.object("tasks"), methods = *fields.object("methods");
  for (const auto& [name, task] : run["tasks"].items()) {
    if (!task.is_object()) tasks.wrong(name, "is not an object");
    problems_of(*tasks.object(name));
  }
  for (const auto& [name, settings] : run["methods"].items())
    if (!settings.is_object()) methods.wrong(name, "is not an object");
  for (const Json& session : run["sessions"])
    if (!session.is_object()) fields.wrong("sessions", "must hold objects");
}

}  // namespace

std::string digest_of(const TaskData& task) {
  Sha256 hash;
  for (const Problem& problem : task.problems) {
    hash.add_field(problem.id);
    hash.add_field(problem.question.system);
    hash.add_field(problem.question.text);
    hash.add_field(problem.gold);
    hash.add_field(problem.code.test);
    hash.add_field(problem.code.entry_point);
  }
  if (task.judging == Judging::Own) hash.add_field(task.own_grader.name);
  return hash.hex().substr(0, 32);
}

Json describe_run(const LoadedModel& model, const std::vector<TaskData>& tasks,
                  const EvalOptions& options, std::int64_t longest_prompt) {
  const EngineInfo& engine = model.engine().info();
  Json described = Json::object(), methods = Json::object();
  for (const TaskData& task : tasks) described[task.name] = to_json(task);
  int max_tokens = 0;
  for (const MethodString& method : options.methods) {
    methods[method.text] = to_json(method.settings);
    max_tokens = std::max(max_tokens, method.settings.max_tokens);
  }
  Json run = {{"format", kFormat},
              {"experiment", options.experiment},
              {"model", model.name()},
              {"model_path", resolved(model.source().location())},
              {"fingerprint", to_json(model.fingerprint())},
              {"dtype", engine.dtype},
              {"device", engine.device},
              {"stop", {{"tokens", engine.eos}}},
              {"longest_sequence", engine.max_length},
              {"model_length", std::max(engine.max_length, engine.model_length)},
              {"needed_sequence", longest_prompt + max_tokens},
              {"seed", options.seed},
              {"tasks", std::move(described)},
              {"methods", std::move(methods)},
              {"parts", Json::array({to_json(part_of(tasks, options))})},
              {"sessions", Json::array({session_of(model, options)})}};
  // Left out where the cache has the precision of the weights, as in runs of earlier versions.
  if (!engine.cache_dtype.empty()) run["cache_dtype"] = engine.cache_dtype;
  if (!engine.activations.empty()) run["activations"] = engine.activations;
  if (engine.served) run["served"] = to_json(*engine.served);
  if (!model.non_finite_weight().empty()) run["damaged_weights"] = model.non_finite_weight();
  return run;
}

Json joined_runs(const Json& former, const Json& now, const std::string& refusal) {
  Comparison comparison;
  compare_model(former, now, comparison);
  comparison.equal(former, now, "", {"damaged_weights"},
                   "the samples of damaged weights are worthless; name another --out");
  comparison.equal(former, now, "", {"seed"}, "give the same --seed");
  compare_lengths(former, now, comparison);
  compare_tasks(former, now, comparison);
  compare_methods(former, now, comparison);
  const std::string experiment = former.value("experiment", ""), own = now.value("experiment", "");
  if (!experiment.empty() && !own.empty())
    comparison.equal(former, now, "", {"experiment"}, "give every experiment a folder of its own");
  comparison.check(refusal);

  Json result = former;
  if (!member(now, "model_length")) result.erase("model_length");
  if (experiment.empty()) result["experiment"] = own;
  if (const Json* served = member(now, "served")) add_served(result["served"], *served);
  result["needed_sequence"] = std::max(former.value("needed_sequence", std::int64_t{0}),
                                       now.value("needed_sequence", std::int64_t{0}));
  for (const char* group : {"tasks", "methods"})
    for (const auto& [name, value] : now[group].items())
      if (!result[group].contains(name)) result[group][name] = value;
  for (const char* list : {"parts", "sessions"}) add_new(result[list], now[list]);
  return result;
}

Json read_run(const fs::path& folder) {
  const fs::path path = folder / "run.json";
  if (!fs::exists(path))
    bad_input(
        "{}: is missing, so it is unknown which run the samples belong to; name another --out, or "
        "restore the file",
        path.string());
  Json run = read_json_file(path);
  const auto is = [&](const char* key, bool (Json::*type)() const noexcept) {
    return run.is_object() && run.contains(key) && (run[key].*type)();
  };
  if (is("model", &Json::is_string) && !run.contains("format"))
    bad_input(
        "{}: was written by a version that did not record what answers depend on (fingerprint, "
        "dtype, settings), so the run cannot be continued; name another --out",
        path.string());
  if (!is("format", &Json::is_number_integer) || run["format"] != kFormat ||
      !is("model", &Json::is_string) || !is("fingerprint", &Json::is_object) ||
      !is("tasks", &Json::is_object) || !is("methods", &Json::is_object) ||
      !is("parts", &Json::is_array) || !is("sessions", &Json::is_array))
    bad_input("{}: is not the run.json of an evaluation of format {}; name another --out",
              path.string(), kFormat);
  check_fields(run, path.string());
  return run;
}

}  // namespace counterbeam
