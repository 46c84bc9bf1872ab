#include "eval/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "eval/problem_texts.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

// FNV-1a over everything that determines the prompts and the grading.
std::string digest(const TaskData& task) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  const auto take = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    hash = (hash ^ 0x100) * 0x100000001b3ull;  // a separator that no byte equals
  };
  for (const Problem& problem : task.problems) {
    take(problem.id);
    take(problem.question.system);
    take(problem.question.text);
    take(problem.gold);
    take(problem.code.test);
  }
  return fmt::format("{:016x}", hash);
}

Json about(const std::string& model, const std::vector<TaskData>& tasks, std::uint64_t seed) {
  Json described = Json::object();
  for (const TaskData& task : tasks)
    described[task.name] = {{"problems", task.problems.size()}, {"digest", digest(task)}};
  return {{"model", model}, {"seed", seed}, {"tasks", std::move(described)}};
}

// Merges two run.json. Fields that both have must agree; tasks that only one has are added.
Json joined(const Json& former, const Json& now, const fs::path& path) {
  Json result = former.is_object() ? former : Json::object();
  for (const char* key : {"model", "seed"}) {
    if (result.contains(key) && result[key] != now[key])
      bad_input("{}: {} was {}, and now is {}; resume with the same, or name another --out",
                path.string(), key, result[key].dump(), now[key].dump());
    result[key] = now[key];
  }
  if (!result.contains("tasks") || !result["tasks"].is_object()) result["tasks"] = Json::object();
  for (const auto& [task, claim] : now["tasks"].items()) {
    if (result["tasks"].contains(task) && result["tasks"][task] != claim)
      bad_input(
          "{}: the problems or prompts of {} have changed (--data, --system, --prompt); resume "
          "with the same, or name another --out",
          path.string(), task);
    result["tasks"][task] = claim;
  }
  return result;
}

}  // namespace

FolderLock::FolderLock(const fs::path& folder) {
  fs::create_directories(folder);
  folder_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0) failed("{}: cannot be opened: {}", folder.string(), std::strerror(errno));
  if (::flock(folder_, LOCK_EX | LOCK_NB) == 0) return;
  const int reason = errno;
  ::close(folder_);
  if (reason == EWOULDBLOCK)
    bad_input("{}: another process is using this folder; wait for it, or name another --out",
              folder.string());
  failed("{}: cannot be locked: {}", folder.string(), std::strerror(reason));
}

FolderLock::~FolderLock() {
  ::close(folder_);
}

void claim_folder(const std::string& model, const std::vector<TaskData>& tasks,
                  const EvalOptions& options) {
  const fs::path path = options.out / "run.json", samples = options.out / "samples.jsonl";
  const bool used = fs::exists(samples) && fs::file_size(samples) > 0;
  if (used && !options.resume)
    bad_input(
        "{}: has samples of an earlier run; add --resume to continue it, or name another "
        "--out",
        options.out.string());
  Json claim = about(model, tasks, options.seed);
  if (used && fs::exists(path)) claim = joined(read_json_file(path), claim, path);
  write_file(path, claim.dump(2) + "\n");
  write_problem_texts(options.out, tasks);
  for (const auto& entry : fs::directory_iterator(options.out))  // left over from a killed run
    if (entry.path().extension() == ".part") fs::remove(entry.path());
}

void merge_claims(const std::vector<fs::path>& shards, const fs::path& out) {
  Json claim;
  for (const fs::path& shard : shards) {
    const fs::path path = shard / "run.json";
    if (!fs::is_directory(shard) || !fs::exists(path)) continue;
    const Json now = read_json_file(path);
    if (!now.is_object() || !now.contains("model") || !now.contains("seed") ||
        !now.contains("tasks") || !now["tasks"].is_object())
      bad_input("{}: is not the run.json of an evaluation: model, seed or tasks are missing",
                path.string());
    claim = joined(claim, now, path);
  }
  if (!claim.is_null()) write_file(out / "run.json", claim.dump(2) + "\n");
  merge_problem_texts(shards, out);
}

std::string model_of(const fs::path& folder) {
  const fs::path path = folder / "run.json";
  if (!fs::exists(path)) return "";
  const Json claim = read_json_file(path);
  const bool named = claim.is_object() && claim.contains("model") && claim["model"].is_string();
  return named ? claim["model"].get<std::string>() : "";
}

}  // namespace counterbeam
