// `bench`: how fast this machine runs a model, as searches use it.
#include "base/json.h"
#include "cli/bench_run.h"
#include "cli/command.h"
#include "cli/loading.h"
#include "model/hub.h"
#include "search/engine_options.h"

namespace counterbeam::cli {
namespace {

struct Options {
  std::string shape;
  std::string isa;
  std::string followers = "auto";
  BenchSettings settings;
};

FollowerMode follower_mode(const std::string& name) {
  if (name == "lockstep") return FollowerMode::Lockstep;
  if (name == "pieces") return FollowerMode::Pieces;
  return name == "block" ? FollowerMode::Block : FollowerMode::Auto;
}

std::unique_ptr<LocalEngine> make_engine(const Options& options, const Globals& globals) {
  LocalOptions engine = engine_options(load_options(globals));
  engine.isa = options.isa;
  engine.followers = follower_mode(options.followers);
  engine.kept_prefixes = 0;
  if (engine.cache_bytes == 0) engine.cache_size = bench_cache(options.settings);
  const bool given = !options.shape.empty();
  return given ? LocalEngine::random(known_shape(options.shape), engine)
               : LocalEngine::load(find_model_or_shipped(globals.model), engine);
}

Json to_json(const BenchReport& report, const LocalEngine& engine) {
  Json figures = Json::array();
  for (const BenchFigure& figure : report.figures) {
    figures.push_back({{"name", figure.name},
                       {"rows", figure.rows},
                       {"seconds", figure.seconds},
                       {"tokens_per_second", figure.tokens_per_second()},
                       {"gigabytes_per_second", figure.gigabytes_per_second()},
                       {"gigaflops", figure.gigaflops()},
                       {"share_of_bandwidth",
                        figure.gigabytes_per_second() / report.memory_gigabytes_per_second}});
  }
  const LocalEngine::Loading loading = engine.loading();
  return {{"engine", engine.info().description},
          {"weights", {{"bytes", loading.bytes}, {"seconds", loading.seconds}}},
          {"memory_gigabytes_per_second", report.memory_gigabytes_per_second},
          {"figures", figures},
          {"block_ratio", report.block_ratio}};
}

void print(const BenchReport& report, const LocalEngine& engine) {
  fmt::print("{}\nmemory moves {:.1f} GB/s\n", engine.info().description,
             report.memory_gigabytes_per_second);
  if (const LocalEngine::Loading loading = engine.loading(); loading.bytes > 0) {
    const double gigabytes = static_cast<double>(loading.bytes) / 1e9;
    fmt::print("{:.2f} GB of weights were read in {:.2f} s, {:.1f} GB/s\n\n", gigabytes,
               loading.seconds, gigabytes / loading.seconds);
  }
  fmt::print("{:<40} {:>10} {:>10} {:>8} {:>9} {:>10}\n", "", "seconds", "tokens/s", "GB/s",
             "GFLOP/s", "bandwidth");
  for (const BenchFigure& figure : report.figures) {
    fmt::print("{:<40} {:>10.3f} {:>10.1f} {:>8.1f} {:>9.1f} {:>9.0f}%\n", figure.name,
               figure.seconds, figure.tokens_per_second(), figure.gigabytes_per_second(),
               figure.gigaflops(),
               100 * figure.gigabytes_per_second() / report.memory_gigabytes_per_second);
  }
  fmt::print("\na block with two contexts takes {:.2f} times one without\n", report.block_ratio);
}

void run(const Options& options, const Globals& globals) {
  const auto engine = make_engine(options, globals);
  const BenchReport report = run_bench(*engine, options.settings);
  if (globals.json) {
    fmt::print("{}\n", to_line(to_json(report, *engine)));
  } else {
    print(report, *engine);
  }
}

}  // namespace

void add_bench(CLI::App& app, const Globals& globals) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "bench",
      "How fast this machine runs a model, as searches use it: decoding several sequences\n"
      "together, reading prompts, scoring given tokens, and a block of a beam search with and\n"
      "without two contexts. GB/s and GFLOP/s are what the figure needs at least; bandwidth is "
      "the\n"
      "share of the memory bandwidth measured in the same run.\n"
      "  counterbeam bench --shape qwen2.5-0.5b");
  command->add_option("--shape", options->shape,
                      fmt::format("Random weights of this shape in memory instead of a model: {}",
                                  fmt::join(known_shape_names(), ", ")));
  command->add_option("--rows", options->settings.rows, "Sequences that decode together")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--context", options->settings.context, "Tokens of every prompt")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--tokens", options->settings.tokens, "Tokens decoded per sequence")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command
      ->add_option("--shared", options->settings.shared,
                   "Tokens of the context that all prompts share")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  command->add_option("--prefill", options->settings.prefill, "Tokens of a prompt that is timed")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--prompts", options->settings.prompts, "Such prompts read together")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--beams", options->settings.beams, "Beams of the block")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command
      ->add_option("--survivors", options->settings.survivors,
                   "Sequences that the beams were forked from")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--block", options->settings.block, "Tokens of the block")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command
      ->add_option("--questions", options->settings.questions,
                   "Blocks with two contexts at the same time; more than 1 adds a figure")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--rounds", options->settings.rounds, "Rounds; the median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--followers", options->followers,
                   "How contexts are scored: auto, lockstep, pieces or block")
      ->check(CLI::IsMember({"auto", "lockstep", "pieces", "block"}))
      ->capture_default_str();
  command->add_option("--isa", options->isa,
                      "Force a path of the CPU back end: avx2, avx512, avx512-bf16, amx");
  command->callback([options, &globals] { run(*options, globals); });
}

}  // namespace counterbeam::cli
