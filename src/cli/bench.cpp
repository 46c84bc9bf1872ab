// `bench`: how fast this machine runs a model, as searches use it.
#include "base/error.h"
#include "base/json.h"
#include "base/output.h"
#include "cli/bench_run.h"
#include "cli/commands.h"
#include "cli/loading.h"
#include "model/random_codes.h"
#include "search/engine_options.h"

namespace counterbeam::cli {
namespace {

struct BenchOptions {
  std::string shape;
  std::string weights = "plain";
  std::string isa;
  std::string followers = "auto";
  BenchSettings settings;
  bool profiled = false;
  OperationProfile profile{};
};

FollowerMode follower_mode(const std::string& name) {
  if (name == "lockstep") return FollowerMode::Lockstep;
  if (name == "pieces") return FollowerMode::Pieces;
  return name == "block" ? FollowerMode::Block : FollowerMode::Auto;
}

std::unique_ptr<LocalEngine> make_engine(BenchOptions& options, const Globals& globals) {
  LocalOptions engine = engine_options(load_options(globals));
  engine.isa = options.isa;
  engine.followers = follower_mode(options.followers);
  engine.kept_prefixes = 0;
  if (options.profiled) engine.profile = options.settings.profile = &options.profile;
  if (engine.cache_bytes == 0) engine.cache_size = bench_cache(options.settings);
  const bool given = !options.shape.empty();
  const std::optional<CodeKind> codes = RandomCodes::kind_named(options.weights);
  if (codes && !given)
    bad_input("--weights {} is for random weights; give a --shape", options.weights);
  return given ? LocalEngine::random(known_shape(options.shape), engine, 1, codes)
               : LocalEngine::load(*open_model(globals.model), engine);
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
    if (const Json operations = profile_json(figure); !operations.empty())
      figures.back()["operations"] = operations;
  }
  const LocalEngine::Loading loading = engine.loading();
  return {{"engine", engine.info().description},
          {"weights", {{"bytes", loading.bytes}, {"seconds", loading.seconds}}},
          {"memory_gigabytes_per_second", report.memory_gigabytes_per_second},
          {"figures", figures},
          {"block_ratio", report.block_ratio}};
}

void print(const BenchReport& report, const LocalEngine& engine) {
  print_result("{}\nmemory moves {:.1f} GB/s\n", engine.info().description,
               report.memory_gigabytes_per_second);
  if (const LocalEngine::Loading loading = engine.loading(); loading.bytes > 0) {
    const double gigabytes = static_cast<double>(loading.bytes) / 1e9;
    print_result("{:.2f} GB of weights were read in {:.2f} s, {:.1f} GB/s\n\n", gigabytes,
                 loading.seconds, gigabytes / loading.seconds);
  }
  print_result("{:<40} {:>10} {:>10} {:>8} {:>9} {:>10}\n", "", "seconds", "tokens/s", "GB/s",
               "GFLOP/s", "bandwidth");
  for (const BenchFigure& figure : report.figures) {
    print_result("{:<40} {:>10.3f} {:>10.1f} {:>8.1f} {:>9.1f} {:>9.0f}%\n", figure.name,
                 figure.seconds, figure.tokens_per_second(), figure.gigabytes_per_second(),
                 figure.gigaflops(),
                 100 * figure.gigabytes_per_second() / report.memory_gigabytes_per_second);
  }
  print_result("\na block with two contexts takes {:.2f} times one without\n", report.block_ratio);
  if (!report.figures[0].profile.operations.empty()) print_result("{}", profile_tables(report));
}

void run_bench(BenchOptions& options, const Globals& globals) {
  const auto engine = make_engine(options, globals);
  const BenchReport report = run_bench(*engine, options.settings);
  if (globals.json) {
    print_result("{}\n", to_line(to_json(report, *engine)));
  } else {
    print(report, *engine);
  }
}

}  // namespace

Command bench_command(const Globals& globals) {
  const auto options = std::make_shared<BenchOptions>();
  BenchSettings& settings = options->settings;
  Option shape = {.name = "--shape",
                  .value = text(options->shape, "NAME"),
                  .help = "Random weights of this shape in memory instead of a model"};
  shape.value.choices = known_shape_names();
  return {
      .name = "bench",
      .summary = "Measure how fast this machine runs a model in the way that searches use it",
      .description =
          "Measures decoding several sequences together, reading prompts, scoring given tokens, "
          "and a block of a beam search with and without two contexts. GB/s and GFLOP/s count the "
          "least work that a figure needs; the last column is its share of the memory bandwidth "
          "measured in the same run.",
      .options =
          {shape,
           {.name = "--weights",
            .value = one_of(options->weights, {"plain", "int8", "int4", "fp8"}),
            .help = "With --shape: quantised random weights; on the CPU the embedding table and "
                    "the output layer are quantised too, in 8 bits"},
           {.name = "--rows",
            .value = wholes(settings.rows, 1, 4096),
            .help = "Sequences that decode together"},
           {.name = "--context",
            .value = whole(settings.context, 1, 100000),
            .help = "Tokens of every prompt"},
           {.name = "--tokens",
            .value = whole(settings.tokens, 1, 100000),
            .help = "Tokens decoded per sequence"},
           {.name = "--shared",
            .value = whole(settings.shared, 0, 100000),
            .help = "Tokens of the context that all prompts share"},
           {.name = "--prefill",
            .value = whole(settings.prefill, 1, 100000),
            .help = "Tokens of a prompt that is timed"},
           {.name = "--prompts",
            .value = whole(settings.prompts, 1, 1000),
            .help = "Number of such prompts that are read together"},
           {.name = "--beams",
            .value = whole(settings.beams, 1, 4096),
            .help = "Beams of the block"},
           {.name = "--survivors",
            .value = whole(settings.survivors, 1, 4096),
            .help = "Sequences that the beams were forked from"},
           {.name = "--block",
            .value = whole(settings.block, 1, 100000),
            .help = "Tokens of the block"},
           {.name = "--questions",
            .value = whole(settings.questions, 1, 1000),
            .help =
                "Blocks with two contexts that run at the same time; more than 1 adds a figure"},
           {.name = "--rounds",
            .value = whole(settings.rounds, 1, 1000),
            .help = "Rounds of measurement; the median is printed"},
           {.name = "--followers",
            .value = one_of(options->followers, {"auto", "lockstep", "pieces", "block"}),
            .help = "How contexts are scored: lockstep (a row in every step), pieces (a few "
                    "tokens at a time), block (one pass at the end); auto: by cost"},
           {.name = "--profile",
            .value = flag(options->profiled),
            .help = "Also print how long each operation takes (CPU)"},
           {.name = "--isa",
            .value = text(options->isa, "NAME"),
            .help = "Force a path of the CPU back end: generic, avx2, avx512, "
                    "avx512-bf16, amx"}},
      .examples = {"counterbeam bench --shape qwen2.5-0.5b"},
      .run = [options, &globals] { run_bench(*options, globals); }};
}

}  // namespace counterbeam::cli
