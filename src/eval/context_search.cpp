#include "eval/context_search.h"

#include "base/error.h"
#include "base/folder_lock.h"
#include "base/json.h"
#include "base/output_file.h"
#include "base/regular_file.h"
#include "eval/paraphrase_file.h"
#include "eval/preflight.h"
#include "eval/report.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

constexpr int kSources = 3;                // pairs that paraphrases are made of
constexpr int kRequestsPerParaphrase = 3;  // before giving up

// Claims the folder: search.json holds the plan from now on.
void claim_search(const fs::path& out, const Json& search, bool resume) {
  const fs::path path = out / "search.json";
  if (fs::exists(path)) {
    if (!resume)
      bad_input("{}: has a search already; add --resume to continue it, or name another --out",
                out.string());
    const Json former = read_json_file(path);
    if (!former.is_object() || !former.contains("format") || former["format"] != search["format"] ||
        !former.contains("plan") || !former["plan"].is_object())
      bad_input("{}: is not the search.json of a search of format {}; name another --out",
                path.string(), to_line(search["format"]));
    std::string list;
    for (const auto& [key, value] : search["plan"].items())
      if (!former["plan"].contains(key) || former["plan"][key] != value)
        list += fmt::format(
            "\n  {} was {:.120}, and now is {:.120}", key,
            former["plan"].contains(key) ? to_line(former["plan"][key]) : "not recorded",
            to_line(value));
    if (!list.empty())
      bad_input(
          "{}: the folder holds a search with other options; give the same ones, or name another "
          "--out{}",
          path.string(), list);
  }
  write_json_file(path, search);
}

// One search: the contest with a model's answers.
class ContextSearch {
 public:
  ContextSearch(const LoadedModel& model, const ContextSearchPlan& plan,
                const ContextSearchOptions& options)
      : model_(model), plan_(plan), options_(options), tasks_{plan.task} {
    result_.pairs = plan.pairs;
  }

  ContextSearchResult run() {
    ContestHooks hooks;
    hooks.answer = [this](const Heat& heat) { return answer(heat); };
    hooks.newcomers = [this](const RoundResult& round) { return paraphrase(round); };
    hooks.on_round = [this](const RoundResult& round) {
      if (options_.on_text) options_.on_text(round_table(round, ++rounds_done_));
    };
    result_.contest = run_contest(plan_.contest, hooks);
    return std::move(result_);
  }

 private:
  MethodString method_of(const std::string& name, bool screening) const {
    const MethodString& method = screening ? options_.screen : options_.method;
    const ContextPair* pair = pair_named(result_.pairs, name);
    return pair ? with_pair(method, *pair) : without_pair(method);
  }

  HeatAnswers answer(const Heat& heat) {
    const std::string folder =
        heat.round > 0 ? fmt::format("rounds/{}", heat.round) : std::string("confirm");
    EvalOptions run = options_.run;
    run.out = options_.run.out / folder;
    run.resume = true;  // the folder is this search's own
    run.separation = true;
    run.first = heat.portion.first;
    run.limit = heat.portion.count;
    run.label = heat.round > 0
                    ? fmt::format("round {} of {}", heat.round, rounds_of(plan_.contest).size())
                    : std::string("confirmation");
    run.methods.clear();
    for (const std::string& name : heat.contestants)
      run.methods.push_back(method_of(name, heat.screening));
    run_eval(model_, tasks_, run);
    const EvalSummary summary = write_reports(run.out);
    refuse_failed_samples(summary, run.out);
    result_.heats[folder] = summary;
    return tallies_of(run);
  }

  void refuse_failed_samples(const EvalSummary& summary, const fs::path& out) const {
    if (options_.run.allow_failures || summary.failures.empty()) return;
    const Failure& first = summary.failures.front();
    failed(
        "{}: samples could not be run or judged, problem {} among them: {}; see summary.json "
        "there; --resume tries them again, --allow-failures leaves their problems out",
        out.string(), first.id, first.cause);
  }

  HeatAnswers tallies_of(const EvalOptions& run) const {
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < run.methods.size(); ++i) places[run.methods[i].text] = i;
    std::map<const QuestionTally*, std::pair<double, int>> separations;  // sum and count
    HeatAnswers answers(run.methods.size(),
                        std::vector<QuestionTally>(static_cast<std::size_t>(run.limit)));
    for (const Sample& sample : read_samples(run.out / "samples.jsonl")) {
      const auto place = places.find(sample.method);
      const int problem = sample.question - run.first;
      if (place == places.end() || !sample.error.empty() || problem < 0 || problem >= run.limit)
        continue;
      QuestionTally& tally = answers[place->second][static_cast<std::size_t>(problem)];
      tally.correct += sample.correct;
      ++tally.samples;
      if (sample.separation) {
        double& sum = separations[&tally].first;
        sum += *sample.separation;
        tally.separation = sum / ++separations[&tally].second;
      }
    }
    return answers;
  }

  // The model rewords the best pairs of the first round.
  std::vector<std::string> paraphrase(const RoundResult& round) {
    if (options_.paraphrases == 0) return {};
    const fs::path path = options_.run.out / "paraphrases.json";
    if (fs::exists(path)) {
      result_.paraphrases = read_paraphrases(path, options_.paraphrases);
    } else {
      std::vector<ContextPair> sources;
      for (const Standing& standing : round.standings)
        if (standing.candidate && sources.size() < kSources)
          sources.push_back(*pair_named(result_.pairs, standing.name));
      ParaphraseOptions asking;
      asking.wanted = options_.paraphrases;
      asking.most_requests = kRequestsPerParaphrase * options_.paraphrases;
      asking.seed = options_.run.seed;
      asking.concurrency = searches_at_once(options_.run);
      asking.template_arguments = plan_.task.problems.front().question.template_arguments;
      asking.cancellation = options_.run.cancellation;
      result_.paraphrases = write_paraphrases(model_, sources, result_.pairs, asking);
      counterbeam::write_paraphrases(path, result_.paraphrases);
    }
    if (options_.on_text) options_.on_text(paraphrase_text());
    std::vector<std::string> names;
    for (const ContextPair& pair : result_.paraphrases.pairs) {
      result_.pairs.push_back(pair);
      names.push_back(pair.name);
    }
    return names;
  }

  std::string paraphrase_text() const {
    const Paraphrases& paraphrases = result_.paraphrases;
    std::string text = fmt::format("Paraphrases: {} of the {} that the model wrote are usable.",
                                   paraphrases.pairs.size(), paraphrases.requests);
    if (!paraphrases.dropped.empty())
      text += fmt::format(" The first that was dropped: {}.", paraphrases.dropped.front().cause);
    if (paraphrases.pairs.empty())
      text += model_.ships() ? " The models that ship are toys and cannot paraphrase."
                             : " This model does not follow the request.";
    return text + "\n\n";
  }

  const LoadedModel& model_;
  const ContextSearchPlan& plan_;
  const ContextSearchOptions& options_;
  const std::vector<TaskData> tasks_;
  ContextSearchResult result_;
  int rounds_done_ = 0;
};

}  // namespace

ContextSearchResult search_contexts(const LoadedModel& model, const ContextSearchPlan& plan,
                                    const ContextSearchOptions& options) {
  const fs::path& out = options.run.out;
  refuse_damaged_weights(model, options.run.allow_failures);
  const FolderLock lock(out);
  for (const char* name : {"search.json", "paraphrases.json", "winner.json"})
    refuse_irregular(out / name);
  remove_partial_files(out);
  claim_search(out, to_json(plan, options), options.run.resume);
  ContextSearchResult result = ContextSearch(model, plan, options).run();
  fs::remove(out / "winner.json");
  if (result.contest.winner) {
    const ContextPair& pair = *pair_named(result.pairs, *result.contest.winner);
    const Json winner = {{"winner", {{"positive", pair.positive}, {"negative", pair.negative}}}};
    write_json_file(out / "winner.json", winner);
  }
  write_json_file(out / "search.json", to_json(plan, options, result));
  return result;
}

}  // namespace counterbeam
