#include "eval/run_facts.h"

#include "base/error.h"
#include "base/json.h"

namespace counterbeam {
namespace {

// A text as it is, any other value as JSON; empty if there is none.
std::string field_text(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name) || object[name].is_null()) return "";
  return object[name].is_string() ? object[name].get<std::string>() : to_line(object[name]);
}

Json object_field(const Json& object, const char* name) {
  return object.contains(name) && object[name].is_object() ? object[name] : Json::object();
}

// How questions are asked, as far as their digest does not say it.
std::string asking_of(const Json& task) {
  Json asking = Json::array();
  for (const char* name : {"raw", "template_arguments", "system_as_user", "stop", "stop_ids"})
    asking.push_back(field_text(task, name));
  return to_line(asking);
}

std::string versions_of(const Json& run) {
  std::string versions;
  if (!run.contains("sessions") || !run["sessions"].is_array()) return versions;
  for (const Json& session : run["sessions"]) {
    const std::string version = field_text(session, "version");
    if (version.empty() || versions.find(version) != versions.npos) continue;
    versions += (versions.empty() ? "" : ", ") + version;
  }
  return versions;
}

}  // namespace

RunFacts read_run_facts(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "run.json";
  RunFacts facts;
  if (!std::filesystem::exists(path)) return facts;
  const Json run = read_json_file(path);
  if (!run.is_object())
    bad_input("{}: is not a JSON object; it is not the run.json of an evaluation", path.string());
  facts.experiment = field_text(run, "experiment");
  facts.model = field_text(run, "model");
  facts.fingerprint = field_text(run, "fingerprint");
  facts.dtype = field_text(run, "dtype");
  if (const std::string cache = field_text(run, "cache_dtype"); !cache.empty())
    facts.dtype += ", " + cache + " KV cache";
  if (const std::string activations = field_text(run, "activations"); !activations.empty())
    facts.dtype += fmt::format(", {} activations", activations);
  facts.device = field_text(run, "device");
  facts.seed = field_text(run, "seed");
  facts.version = versions_of(run);
  const Json methods = object_field(run, "methods"), tasks = object_field(run, "tasks");
  for (const auto& [name, settings] : methods.items()) facts.settings[name] = to_line(settings);
  for (const auto& [name, task] : tasks.items())
    facts.tasks[name] = {field_text(task, "problems"), field_text(task, "digest"),
                         field_text(task, "grader"), field_text(task, "extract"), asking_of(task)};
  return facts;
}

}  // namespace counterbeam
