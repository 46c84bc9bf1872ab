// inspect: what a checkpoint is, whether it is whole, and the memory it takes.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/json_fields.h"
#include "base/output.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/loading.h"
#include "engine/back_end.h"
#include "model/config.h"
#include "model/config_tensors.h"
#include "model/hub.h"
#include "search/engine_options.h"
#include "search/methods.h"
#include "text/tokenizer.h"

namespace counterbeam::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kContexts = 3;  // base, positive, negative
constexpr std::size_t kShownProblems = 20;

struct Options {
  std::string shape;
  int beams = default_settings(default_method()).beams;  // as `ask` uses
  int tokens = 0;  // 0: 2048, or the model's context where that is shorter
};

// What there is to say, before it is printed one way or the other.
struct Report {
  ModelConfig config;
  std::string source;  // a folder or the name of a shape
  DType dtype = DType::BF16;
  std::vector<TokenId> eos;
  std::optional<std::int64_t> file_bytes;  // of a folder
  std::size_t files = 0, tensors = 0;
  std::optional<std::size_t> tokens;  // of the tokenizer; nothing where there is none
  bool chat_template = false;
  CheckpointFit fit;
};

bool has_chat_template(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / "chat_template.jinja", error)) return true;
  const fs::path path = folder / "tokenizer_config.json";
  if (!fs::exists(path, error)) return false;
  const Json json = read_json_file(path);
  return json.is_object() && JsonFields(json, path.string()).has("chat_template");
}

// Takes in the tokenizer, where there is one: its size, its end token, whether its ids fit.
void add_tokenizer(const fs::path& folder, Report& report) {
  std::optional<TokenId> eos;
  std::error_code error;
  if (fs::exists(folder / "tokenizer.json", error)) {
    const Tokenizer tokenizer = Tokenizer::load(folder);
    report.tokens = tokenizer.size();
    if (tokenizer.named().eos) eos = tokenizer.find(*tokenizer.named().eos);
    if (tokenizer.id_limit() > report.config.vocab)
      report.fit.problems.push_back(fmt::format("tokenizer.json has ids up to {}, vocab_size is {}",
                                                tokenizer.id_limit() - 1, report.config.vocab));
  }
  report.eos = eos_ids(folder, report.config, eos);
}

Report report_on_folder(const fs::path& folder) {
  Report report;
  report.config = read_config(folder);
  report.source = folder.string();
  const Checkpoint checkpoint = Checkpoint::open(folder);
  report.fit = fit_checkpoint(checkpoint, report.config);
  report.dtype = checkpoint.at(body_prefix(checkpoint) + "embed_tokens.weight").dtype;
  report.file_bytes = static_cast<std::int64_t>(checkpoint.bytes());
  report.files = checkpoint.files().size();
  report.tensors = checkpoint.tensors().size();
  add_tokenizer(folder, report);
  report.chat_template = has_chat_template(folder);
  return report;
}

Report report_on_shape(const std::string& name) {
  Report report;
  report.config = known_shape(name);
  report.source = name;
  report.dtype = *report.config.dtype;
  report.eos = report.config.eos;
  return report;
}

struct Memory {
  std::int64_t weights, kv_per_token, state_per_sequence, sequences, cache;
};

Memory memory_of(const Report& report, const Options& options, const Globals& globals) {
  const DType stored = report.config.dtype.value_or(report.dtype);
  const Precision precision =
      choose_back_end(engine_options(load_options(globals)), stored).precision;
  Memory memory{};
  memory.weights = parameter_count(report.config) * bytes_of(precision);
  memory.kv_per_token =
      report.config.kv_bytes_per_token(precision == Precision::F32 ? DType::F32 : DType::BF16);
  // Every back end keeps states and the inputs of convolutions in float32.
  memory.state_per_sequence = report.config.state_bytes_per_sequence(DType::F32);
  memory.sequences = std::int64_t{options.beams} * kContexts;
  memory.cache =
      memory.sequences * (memory.kv_per_token * options.tokens + memory.state_per_sequence);
  return memory;
}

std::string rope_text(const RopeConfig& rope) {
  std::string text =
      fmt::format("{}, theta {}, {} dimensions", name_of(rope.kind), rope.theta, rope.width);
  if (rope.kind != RopeKind::Default) text += fmt::format(", factor {}", rope.factor);
  return text;
}

Json to_json(const Report& report, const Memory& memory, const Options& options) {
  const ModelConfig& c = report.config;
  Json json = {{"source", report.source},
               {"architecture", name_of(c.architecture)},
               {"model_type", c.model_type},
               {"parameters", parameter_count(c)},
               {"dtype", name_of(report.dtype)},
               {"layers", c.layer_count()},
               {"attention_layers", c.attention_layers()},
               {"linear_layers", c.delta_layers()},
               {"hidden", c.hidden},
               {"intermediate", c.intermediate},
               {"heads", c.heads},
               {"kv_heads", c.kv_heads},
               {"head_dim", c.head_dim},
               {"vocab", c.vocab},
               {"context", c.max_positions},
               {"tied", c.tied},
               {"rope", rope_text(c.rope)},
               {"eos", report.eos}};
  if (report.file_bytes) {
    json["files"] = report.files;
    json["tensors"] = report.tensors;
    json["file_bytes"] = *report.file_bytes;
    json["tokenizer"] = report.tokens ? Json(*report.tokens) : Json();
    json["chat_template"] = report.chat_template;
  }
  json["memory"] = {{"weights", memory.weights},
                    {"kv_per_token", memory.kv_per_token},
                    {"state_per_sequence", memory.state_per_sequence},
                    {"beams", options.beams},
                    {"contexts", kContexts},
                    {"tokens", options.tokens},
                    {"sequences", memory.sequences},
                    {"cache", memory.cache},
                    {"total", memory.weights + memory.cache}};
  json["problems"] = report.fit.problems;
  json["unexpected"] = report.fit.unexpected;
  return json;
}

void print_lines(const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  print_result("{}\n", title);
  for (std::size_t i = 0; i < std::min(lines.size(), kShownProblems); ++i)
    print_result("  {}\n", lines[i]);
  if (lines.size() > kShownProblems)
    print_result("  and {} more (--json has them all)\n", lines.size() - kShownProblems);
}

void print_text(const Report& report, const Memory& memory, const Options& options) {
  const ModelConfig& c = report.config;
  const auto line = [](const char* key, const std::string& value) {
    print_result("{:<14} {}\n", key, value);
  };
  line("model", report.source);
  line("architecture", fmt::format("{} ({})", name_of(c.architecture), c.model_type));
  line("parameters", fmt::format("{}{}", human_count(parameter_count(c)),
                                 c.tied ? " (output layer tied to the embeddings)" : ""));
  line("layers", c.delta_layers() == 0
                     ? fmt::format("{}", c.layer_count())
                     : fmt::format("{}: {} attention, {} linear attention", c.layer_count(),
                                   c.attention_layers(), c.delta_layers()));
  line("widths",
       fmt::format("hidden {}, intermediate {}, vocabulary {}", c.hidden, c.intermediate, c.vocab));
  line("heads", fmt::format("{} queries, {} keys, {} wide", c.heads, c.kv_heads, c.head_dim));
  line("rope", rope_text(c.rope));
  line("context", fmt::format("{} tokens", human_count(c.max_positions)));
  line("end tokens",
       report.eos.empty() ? "none known" : fmt::format("{}", fmt::join(report.eos, ", ")));
  if (report.file_bytes) {
    line("files", fmt::format("{} with {} tensors, {} of {}", report.files, report.tensors,
                              human_bytes(*report.file_bytes), name_of(report.dtype)));
    line("tokenizer",
         report.tokens
             ? fmt::format("{} tokens", human_count(static_cast<std::int64_t>(*report.tokens)))
             : "none: ask needs tokenizer.json");
    line("chat template", report.chat_template ? "yes" : "none: questions need --raw");
  }
  line("memory", fmt::format("weights {}", human_bytes(memory.weights)));
  line("", fmt::format("keys and values {} per token", human_bytes(memory.kv_per_token)));
  if (memory.state_per_sequence > 0)
    line("",
         fmt::format("recurrent states {} per sequence", human_bytes(memory.state_per_sequence)));
  line("", fmt::format("{} beams x {} contexts x {} tokens: at most {}, with the weights {}",
                       options.beams, kContexts, options.tokens, human_bytes(memory.cache),
                       human_bytes(memory.weights + memory.cache)));
  print_lines("problems", report.fit.problems);
  print_lines("not used", report.fit.unexpected);
}

void inspect(Options options, const Globals& globals) {
  const Report report = options.shape.empty()
                            ? report_on_folder(find_model_or_shipped(globals.model))
                            : report_on_shape(options.shape);
  if (options.tokens == 0) options.tokens = std::min(2048, report.config.max_positions);
  const Memory memory = memory_of(report, options, globals);
  if (globals.json)
    print_result("{}\n", to_line(to_json(report, memory, options)));
  else
    print_text(report, memory, options);
  flush_results();
  const std::vector<std::string>& problems = report.fit.problems;
  if (!problems.empty())
    bad_input("{}: does not fit its config.json: {}{}; download the checkpoint again",
              report.source, problems.front(),
              problems.size() > 1 ? fmt::format(", and {} more", problems.size() - 1) : "");
}

}  // namespace

Command inspect_command(const Globals& globals) {
  const auto options = std::make_shared<Options>();
  Option shape = {.name = "--shape",
                  .value = text(options->shape, "NAME"),
                  .help = "A known shape instead of a checkpoint"};
  shape.value.choices = known_shape_names();
  return {.name = "inspect",
          .summary = "Show what a checkpoint is: architecture, shapes, whether it is whole, memory",
          .options = {shape,
                      {.name = "--beams",
                       .value = whole(options->beams, 1, 65536),
                       .help = "Beams to count memory for"},
                      {.name = "--tokens",
                       .value = whole(options->tokens, 1, 1 << 30),
                       .help = "Tokens of each sequence to count memory for",
                       .standard = "2048, or the model's context where that is shorter"}},
          .examples = {"counterbeam inspect --model Qwen/Qwen2.5-7B-Instruct",
                       "counterbeam inspect --shape qwen3.5-0.8b --beams 32"},
          .run = [options, &globals] { inspect(*options, globals); }};
}

}  // namespace counterbeam::cli
