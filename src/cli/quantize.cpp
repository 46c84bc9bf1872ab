// quantize: a dense checkpoint in, the same model with FP8, 8-bit or 4-bit weights out.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/json.h"
#include "base/output.h"
#include "base/progress.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "model/hub.h"
#include "quantise/calibration.h"
#include "quantise/quantise.h"

namespace counterbeam::cli {
namespace {

struct QuantizeOptions {
  std::string to, group, calibrate, model, out;
};

QuantiseOptions resolved(const QuantizeOptions& options, const Globals& globals) {
  if (!globals.model.empty())
    bad_input("quantize: the model is its first argument; leave --model out");
  if (!globals.engine.empty())
    bad_input("--engine: this needs the weights of the model in this process; leave it out");
  std::error_code error;
  if (std::filesystem::is_regular_file(options.model, error))
    bad_input("{}: is a file; quantize reads Hugging Face folders with safetensors", options.model);
  QuantiseOptions resolved;
  resolved.source = find_model(options.model);
  resolved.out = options.out;
  resolved.format = options.to == "fp8"    ? CodeFormat::Fp8
                    : options.to == "int8" ? CodeFormat::Int8
                                           : CodeFormat::Int4;
  if (resolved.format == CodeFormat::Fp8 && !options.group.empty())
    bad_input("quantize: --group is for int8 and int4; fp8 has one scale per output");
  if (!options.group.empty()) resolved.group = std::stoi(options.group);
  resolved.calibrate = options.calibrate;
  resolved.threads = globals.threads > 0
                         ? globals.threads
                         : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  resolved.cancellation = &cancelled_by_ctrl_c();
  return resolved;
}

// A bar for each stage, in MiB or tokens.
class Bars {
 public:
  explicit Bars(bool quiet) : quiet_(quiet) {}

  void show(QuantiseOptions::Stage stage, std::int64_t done, std::int64_t total) {
    const bool reading = stage == QuantiseOptions::Stage::Quantising;
    const std::int64_t unit = reading ? 1 << 20 : 1;
    if (!bar_ || stage_ != stage) {
      bar_.reset();
      bar_.emplace(reading ? "quantising, MiB" : "calibrating, tokens", total / unit, quiet_);
      stage_ = stage;
    }
    bar_->set(done / unit);
  }

 private:
  bool quiet_;
  std::optional<Progress> bar_;
  QuantiseOptions::Stage stage_ = QuantiseOptions::Stage::Calibrating;
};

Json quantize_json(const QuantiseReport& report, const QuantizeOptions& options) {
  if (report.complete_before) return {{"out", options.out}, {"to", options.to}, {"complete", true}};
  return {{"out", options.out},
          {"to", options.to},
          {"matrices", report.matrices},
          {"smaller_groups", report.narrower},
          {"tensors_before", report.tensors_before},
          {"source_bytes", report.source_bytes},
          {"bytes", report.bytes},
          {"relative_error", report.relative_error}};
}

void print_quantized(const QuantiseReport& report, const QuantizeOptions& options) {
  if (report.complete_before) {
    print_result("{}: is complete already\n", options.out);
    return;
  }
  if (report.calibration_cut)
    print_message("[calibrated on the first {} tokens of {}]\n",
                  human_count(report.calibration_tokens), options.calibrate);
  if (report.tensors_before > 0)
    print_message("[{} tensors were there from an earlier run]\n", report.tensors_before);
  print_result("{}: {} matrices in {}, {} (from {}); relative squared error {:.3g}\n", options.out,
               report.matrices, options.to, human_bytes(report.bytes),
               human_bytes(report.source_bytes), report.relative_error);
  if (report.narrower > 0)
    print_message(
        "[{} matrices have smaller groups, since their width is no multiple of the one asked "
        "for]\n",
        report.narrower);
}

void run_quantize(const QuantizeOptions& options, const Globals& globals) {
  QuantiseOptions asked = resolved(options, globals);
  Bars bars(globals.quiet || globals.json);
  asked.progress = [&](QuantiseOptions::Stage stage, std::int64_t done, std::int64_t total) {
    bars.show(stage, done, total);
  };
  const QuantiseReport report = quantise(asked);
  if (globals.json)
    print_result("{}\n", to_line(quantize_json(report, options)));
  else if (!globals.quiet)
    print_quantized(report, options);
}

}  // namespace

Command quantize_command(const Globals& globals) {
  const auto options = std::make_shared<QuantizeOptions>();
  return {
      .name = "quantize",
      .summary = "Write a copy of a model with FP8, 8-bit or 4-bit weights",
      .description = fmt::format(
          "Reads a dense Hugging Face folder and writes another in the form of compressed-tensors, "
          "which Counterbeam, vLLM and transformers read. The matrices of the layers are "
          "quantised; embeddings, norms and the output layer are not. The scale of each group is "
          "searched for the smallest squared error. A run that was stopped continues when it is "
          "started again with the same options.\n"
          "With --calibrate, errors are weighted by the mean square of each input on a text (its "
          "first {} tokens); this loads the whole model.",
          kCalibrationWindow * kCalibrationWindows),
      .arguments = {{.name = "MODEL",
                     .value = text(options->model, "MODEL"),
                     .help = "A folder, ORG/NAME in the local Hugging Face cache, or a model that "
                             "ships",
                     .required = true},
                    {.name = "OUT",
                     .value = folder(options->out),
                     .help = "The folder to write: new, empty, or of a run that was stopped",
                     .required = true}},
      .options = {{.name = "--to",
                   .value = one_of(options->to, {"fp8", "int8", "int4"}),
                   .help = "fp8: E4M3 with a scale per output; int8, int4: groups of inputs with a "
                           "scale each",
                   .required = true},
                  {.name = "--group",
                   .value = one_of(options->group, {"32", "64", "128"}),
                   .help = "Inputs that share a scale (int8, int4); a smaller group, or one scale "
                           "per output, if the width is not a multiple",
                   .standard = "128"},
                  {.name = "--calibrate",
                   .value = file(options->calibrate),
                   .help = "A text similar to what the model will read and write"}},
      .examples = {"counterbeam quantize --to int4 Qwen/Qwen3-8B qwen3-8b-int4",
                   "counterbeam quantize --to int4 --calibrate sample.txt MODEL OUT",
                   "counterbeam --model qwen3-8b-int4 ask 'Compute 12 + 3 * 7.'"},
      .run = [options, &globals] { run_quantize(*options, globals); }};
}

}  // namespace counterbeam::cli
