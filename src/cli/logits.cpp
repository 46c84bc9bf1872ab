// `logits`: token ids in, the model's logits after each of them out, as a .npy file.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/output.h"
#include "base/quote.h"
#include "cli/commands.h"
#include "cli/loading.h"
#include "search/engine_options.h"
#include "tensor/npy.h"

namespace counterbeam::cli {
namespace {

struct LogitsOptions {
  std::string ids;
  std::string out;
};

std::vector<TokenId> read_ids(const std::string& path) {
  const Json json = read_json_file(path);
  if (!json.is_array()) bad_input("{}: a list of token ids is needed, as [1, 2, 3]", path);
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const bool fits = json[i].is_number_integer() && json[i] >= 0 && json[i] <= 0x7fffffff;
    if (!fits) bad_input("{}: item {} is {}, not a token id", path, i, json[i].dump());
    ids.push_back(json[i].get<TokenId>());
  }
  if (ids.empty()) bad_input("{}: the list is empty; at least one id is needed", path);
  return ids;
}

void run_logits(const LogitsOptions& options, const Globals& globals) {
  const std::vector<TokenId> ids = read_ids(options.ids);
  const auto source = open_model(globals.model);
  const auto engine = LocalEngine::load(*source, engine_options(load_options(globals)));
  if (source->ships()) announce_toy(source->name(), globals);
  Log log(globals.quiet);
  for (const std::string& name : engine->unexpected_tensors()) {
    log.warning("{}: this model has no use for tensor {}", source->location(), in_quotes(name));
  }
  const int vocab = engine->info().vocab_size;
  NpyWriter file(options.out, static_cast<std::int64_t>(ids.size()), vocab);
  std::vector<int> broken;
  engine->logits(ids, [&](int position, std::span<const float> row) {
    file.row(row);
    if (!std::all_of(row.begin(), row.end(), [](float x) { return std::isfinite(x); }))
      broken.push_back(position);
  });
  file.finish();
  if (globals.json) {
    print_result("{}\n", to_line(Json{{"out", options.out},
                                      {"rows", ids.size()},
                                      {"vocab", vocab},
                                      {"non_finite_rows", broken}}));
  } else if (!globals.quiet) {
    print_result("{}: float32 [{}, {}]\n", options.out, ids.size(), vocab);
  }
  if (!broken.empty())
    failed("{} of {} rows, the first of them row {}, hold NaN or infinity: {}", broken.size(),
           ids.size(), broken.front(),
           engine->non_finite_weight().empty() ? "they overflow at this precision; try --dtype f32"
                                               : engine->non_finite_weight());
}

}  // namespace

Command logits_command(const Globals& globals) {
  const auto options = std::make_shared<LogitsOptions>();
  return {
      .name = "logits",
      .summary = "Write the model's logits after every token of a sequence",
      .description =
          "Reads a JSON list of token ids and writes float32 [ids, vocabulary]: row i holds the "
          "logits of the token that follows ids[0..i].",
      .options = {{.name = "--ids",
                   .value = file(options->ids),
                   .help = "JSON file with a list of token ids",
                   .required = true},
                  {.name = "--out",
                   .value = file(options->out),
                   .help = "The .npy file to write",
                   .required = true}},
      .examples = {"counterbeam --model DIR logits --ids ids.json --out logits.npy"},
      .run = [options, &globals] { run_logits(*options, globals); }};
}

}  // namespace counterbeam::cli
