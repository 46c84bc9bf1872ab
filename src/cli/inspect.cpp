// inspect: what a checkpoint is, whether it would load, and the memory it takes. It runs the code
// that loads (dry_load.h), so it finds exactly what loading finds.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "backend/cache_codes.h"
#include "base/error.h"
#include "base/json.h"
#include "base/output.h"
#include "base/quote.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/inspect_engine.h"
#include "cli/loading.h"
#include "engine/back_end.h"
#include "model/config.h"
#include "model/dry_load.h"
#include "model/model_source.h"
#include "search/engine_options.h"
#include "search/methods.h"

namespace counterbeam::cli {
namespace {

constexpr int kContexts = 3;  // base, positive, negative
constexpr std::size_t kShownProblems = 20;

struct InspectOptions {
  std::string shape;
  int beams = default_settings(default_method()).beams;  // as `ask` uses
  int tokens = 0;  // 0: 2048, or the model's context where that is shorter
};

struct EndToken {
  TokenId id;
  std::string text;  // empty where there is no tokenizer
};

// What there is to say, before it is printed one way or the other.
struct Report {
  ModelConfig config;
  std::string name;           // of the model or the shape
  std::string source;         // a folder or the name of a shape
  std::optional<DType> file;  // dtype of the embedding table; none for a shape
  bool quantised = false;
  std::string quantisation;  // how; empty: not
  StoredWeights::Extent extent;
  std::vector<EndToken> eos;  // the checkpoint's own
  std::optional<EndToken> end_of_turn;
  std::string end_of_turn_note;       // why there is none
  std::vector<TokenId> stops;         // what ends an answer by default
  std::optional<std::size_t> tokens;  // of the tokenizer; none if there is none
  std::string chat_error;             // why there is no chat template
  DryLoad load;
  std::vector<std::string> unexpected;

  DType dtype() const { return file ? *file : *config.dtype; }
};

// Goes through what loading goes through, but reads no weights.
Report report_on(const ModelSource& source) {
  Report report;
  report.name = source.name();
  report.source = source.location();
  const ModelParts parts = read_parts(source);
  report.config = parts.config;
  for (const TokenId id : parts.eos) {
    const auto text = parts.tokenizer ? parts.tokenizer->token_text(id) : std::nullopt;
    report.eos.push_back({id, std::string(text.value_or(""))});
  }
  if (parts.turn_end.token) report.end_of_turn = {*parts.turn_end.token, parts.turn_end.text};
  report.end_of_turn_note = parts.turn_end.note;
  report.stops = end_tokens(parts, StopAt::Turn);
  if (parts.tokenizer) report.tokens = parts.tokenizer->size();
  report.chat_error = parts.chat_error;
  const std::unique_ptr<StoredWeights> weights = source.weights(report.config);
  report.load = dry_load(report.config, *weights);
  report.file = weights->dtype();
  report.quantised = weights->quantised();
  if (report.quantised) report.quantisation = weights->quantisation();
  report.extent = weights->extent();
  for (const std::string& name : weights->unexpected())
    report.unexpected.push_back(fmt::format("tensor {} is not expected", in_quotes(name)));
  return report;
}

Report report_on_shape(const std::string& name) {
  Report report;
  report.config = known_shape(name);
  report.name = report.source = name;
  for (const TokenId id : report.config.eos) report.eos.push_back({id, ""});
  report.load = dry_load(report.config);
  return report;
}

struct Memory {
  BackEndChoice back_end;
  CacheType cache_type;
  std::int64_t weights, kv_per_token, state_per_sequence, sequences, cache;
  std::int64_t int8_elements;  // weights that are multiplied by activations in 8 bits
};

Memory memory_of(const Report& report, const InspectOptions& options, const Globals& globals) {
  const DType stored = report.config.dtype.value_or(report.dtype());
  Memory memory{};
  const LocalOptions engine = engine_options(load_options(globals));
  memory.back_end = choose_back_end(engine, stored, report.quantised);
  memory.cache_type = engine.cache_type;
  const Precision precision = memory.back_end.precision;
  // Norms, biases, states and the inputs of convolutions are float32 on every back end.
  // The GPU decodes quantised weights whose inputs belong to groups in any order.
  const DryLoad& load = report.load;
  const bool decodes = memory.back_end.cuda;
  memory.int8_elements = load_options(globals).activations == "int8" ? load.int8_elements : 0;
  const std::int64_t codes = load.code_elements - (decodes ? load.ordered_elements : 0);
  const std::int64_t code_bytes = load.code_bytes - (decodes ? load.ordered_bytes : 0);
  memory.weights =
      (load.matrix_elements - codes) * bytes_of(precision) + code_bytes + load.vector_elements * 4;
  memory.kv_per_token = memory.cache_type != CacheType::Plain
                            ? report.config.kv_code_bytes_per_token()
                            : report.config.kv_bytes_per_token(
                                  precision == Precision::F32 ? DType::F32 : DType::BF16);
  memory.state_per_sequence = report.config.state_bytes_per_sequence(DType::F32);
  memory.sequences = std::int64_t{options.beams} * kContexts;
  memory.cache =
      memory.sequences * (memory.kv_per_token * options.tokens + memory.state_per_sequence);
  return memory;
}

std::string_view name_of_precision(Precision precision) {
  return precision == Precision::F32 ? "f32" : "bf16";
}

std::string_view name_of_cache(const Memory& memory) {
  const std::string_view codes = name_of(memory.cache_type);
  return codes.empty() ? name_of_precision(memory.back_end.precision) : codes;
}

std::string rope_text(const RopeConfig& rope) {
  std::string text =
      fmt::format("{}, theta {}, {} dimensions", name_of(rope.kind), rope.theta, rope.width);
  if (rope.kind != RopeKind::Default && rope.kind != RopeKind::Factors)
    text += fmt::format(", factor {}", rope.factor);
  return text;
}

std::string rope_text(const ModelConfig& config) {
  std::string text = rope_text(config.rope);
  if (config.window_rope) text += "; with a window: " + rope_text(*config.window_rope);
  return text;
}

Json ids_of(const std::vector<EndToken>& tokens) {
  Json ids = Json::array();
  for (const EndToken& token : tokens) ids.push_back(token.id);
  return ids;
}

// What stops an answer: the checkpoint's own end tokens, and the end of a turn.
void add_ends(const Report& report, Json& json) {
  json["eos_text"] = Json::array();
  for (const EndToken& token : report.eos) json["eos_text"].push_back(token.text);
  json["end_of_turn"] = nullptr;
  if (report.end_of_turn)
    json["end_of_turn"] = {{"id", report.end_of_turn->id}, {"text", report.end_of_turn->text}};
  else
    json["end_of_turn_note"] = report.end_of_turn_note;
  json["stop_tokens"] = report.stops;
}

std::string text_of(const EndToken& token) {
  return token.text.empty() ? std::to_string(token.id)
                            : fmt::format("{} {}", token.id, in_quotes(token.text));
}

std::string text_of(const std::vector<EndToken>& tokens) {
  if (tokens.empty()) return "none known";
  std::string text;
  for (const EndToken& token : tokens) text += (text.empty() ? "" : ", ") + text_of(token);
  return text;
}

Json to_json(const Report& report, const Memory& memory, const InspectOptions& options) {
  const ModelConfig& c = report.config;
  Json json = {{"name", report.name},
               {"source", report.source},
               {"architecture", name_of(c.architecture)},
               {"model_type", c.model_type},
               {"parameters", report.load.matrix_elements + report.load.vector_elements},
               {"dtype", name_of(report.dtype())},
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
               {"rope", rope_text(c)},
               {"eos", ids_of(report.eos)}};
  if (report.file) {
    add_ends(report, json);
    json["files"] = report.extent.files;
    json["tensors"] = report.extent.tensors;
    json["file_bytes"] = report.extent.bytes;
    json["quantised"] = report.quantised ? Json(report.quantisation) : Json();
    json["tokenizer"] = report.tokens ? Json(*report.tokens) : Json();
    json["chat_template"] = report.chat_error.empty();
    if (!report.chat_error.empty()) json["chat_template_error"] = report.chat_error;
  }
  json["memory"] = {{"device", memory.back_end.cuda ? "cuda" : "cpu"},
                    {"precision", name_of_precision(memory.back_end.precision)},
                    {"weights", memory.weights},
                    {"int8_activations", memory.int8_elements},
                    {"cache_dtype", name_of_cache(memory)},
                    {"kv_per_token", memory.kv_per_token},
                    {"state_per_sequence", memory.state_per_sequence},
                    {"beams", options.beams},
                    {"contexts", kContexts},
                    {"tokens", options.tokens},
                    {"sequences", memory.sequences},
                    {"cache", memory.cache},
                    {"total", memory.weights + memory.cache}};
  json["problems"] = report.load.problems;
  json["unexpected"] = report.unexpected;
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

void print_text(const Report& report, const Memory& memory, const InspectOptions& options) {
  const ModelConfig& c = report.config;
  const auto line = [](const char* key, const std::string& value) {
    print_result("{:<14} {}\n", key, value);
  };
  line("model", report.name);
  if (report.source != report.name) line("folder", report.source);
  line("architecture", fmt::format("{} ({})", name_of(c.architecture), c.model_type));
  line("parameters",
       fmt::format("{}{}", human_count(report.load.matrix_elements + report.load.vector_elements),
                   c.tied ? " (output layer tied to the embeddings)" : ""));
  line("layers", c.delta_layers() == 0
                     ? fmt::format("{}", c.layer_count())
                     : fmt::format("{}: {} attention, {} linear attention", c.layer_count(),
                                   c.attention_layers(), c.delta_layers()));
  line("widths",
       fmt::format("hidden {}, intermediate {}, vocabulary {}", c.hidden, c.intermediate, c.vocab));
  line("heads", fmt::format("{} queries, {} keys, {} wide", c.heads, c.kv_heads, c.head_dim));
  line("rope", rope_text(c));
  line("context", fmt::format("{} tokens", human_count(c.max_positions)));
  line("end tokens", text_of(report.eos));
  if (report.file) {
    line("end of turn", report.end_of_turn
                            ? text_of(*report.end_of_turn) + ", written by the chat template"
                            : "none: " + report.end_of_turn_note);
    line("files",
         fmt::format("{} with {} tensors, {} of {}", report.extent.files, report.extent.tensors,
                     human_bytes(report.extent.bytes), name_of(report.dtype())));
    if (report.quantised)
      line("quantised", fmt::format("{}: {} of {} weights", report.quantisation,
                                    human_count(report.load.code_elements),
                                    human_count(report.load.matrix_elements)));
    line("tokenizer",
         report.tokens
             ? fmt::format("{} tokens", human_count(static_cast<std::int64_t>(*report.tokens)))
             : "none: ask needs tokenizer.json");
    line("chat template", report.chat_error.empty()
                              ? "yes"
                              : "none: questions need --raw (" + report.chat_error + ")");
  }
  line("memory", fmt::format("weights {}, computed in {} on the {}", human_bytes(memory.weights),
                             name_of_precision(memory.back_end.precision),
                             memory.back_end.cuda ? "GPU" : "CPU"));
  if (memory.int8_elements > 0)
    line("",
         fmt::format("activations in 8 bits for {} of {} weights",
                     human_count(memory.int8_elements), human_count(report.load.matrix_elements)));
  line("", fmt::format("keys and values {} per token, in {}", human_bytes(memory.kv_per_token),
                       name_of_cache(memory)));
  if (memory.state_per_sequence > 0)
    line("",
         fmt::format("recurrent states {} per sequence", human_bytes(memory.state_per_sequence)));
  line("", fmt::format("{} beams x {} contexts x {} tokens: at most {}, with the weights {}",
                       options.beams, kContexts, options.tokens, human_bytes(memory.cache),
                       human_bytes(memory.weights + memory.cache)));
  print_lines("problems", report.load.problems);
  print_lines("not used", report.unexpected);
}

void inspect(InspectOptions options, const Globals& globals) {
  if (!globals.engine.empty()) {
    if (!options.shape.empty()) bad_input("--shape and --engine: give one of the two");
    return inspect_engine(options.beams, globals);
  }
  const Report report = options.shape.empty() ? report_on(*open_model(globals.model))
                                              : report_on_shape(options.shape);
  if (options.tokens == 0) options.tokens = std::min(2048, report.config.max_positions);
  const Memory memory = memory_of(report, options, globals);
  if (globals.json)
    print_result("{}\n", to_line(to_json(report, memory, options)));
  else
    print_text(report, memory, options);
  flush_results();
  // The message that loading would end with.
  const std::vector<std::string>& problems = report.load.problems;
  if (!problems.empty())
    bad_input(
        "{}{}", problems.front(),
        problems.size() > 1 ? fmt::format(" (and {} more problems)", problems.size() - 1) : "");
}

}  // namespace

Command inspect_command(const Globals& globals) {
  const auto options = std::make_shared<InspectOptions>();
  Option shape = {.name = "--shape",
                  .value = text(options->shape, "NAME"),
                  .help = "A known shape instead of a checkpoint"};
  shape.value.choices = known_shape_names();
  return {.name = "inspect",
          .summary =
              "Show what a checkpoint is: architecture, shapes, whether it is complete, memory; "
              "or, with --engine, what servers can do",
          .options = {shape,
                      {.name = "--beams",
                       .value = whole(options->beams, 1, 65536),
                       .help = "Beams to count memory for"},
                      {.name = "--tokens",
                       .value = whole(options->tokens, 1, 1 << 30),
                       .help = "Tokens of each sequence to count memory for",
                       .standard = "2048, or the model's context where that is shorter"}},
          .examples = {"counterbeam inspect --model Qwen/Qwen2.5-7B-Instruct",
                       "counterbeam inspect --shape qwen3.5-0.8b --beams 32",
                       "counterbeam inspect --engine http://127.0.0.1:8000 --model ORG/NAME"},
          .run = [options, &globals] { inspect(*options, globals); }};
}

}  // namespace counterbeam::cli
