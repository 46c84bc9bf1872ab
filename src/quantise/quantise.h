// Makes a quantised copy of a Hugging Face folder, in the form of compressed-tensors that vLLM and
// transformers read too (docs/quantisation.md). Tensors are read, coded and written one by one. A
// run that was stopped continues when it is started again with the same options, and gives the same
// bytes: complete files have their final names, others lie in OUT/.counterbeam-quantize, and
// config.json comes last, so that a folder with one is complete.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "counterbeam/cancellation.h"
#include "quantise/scale_search.h"

namespace counterbeam {

struct QuantiseOptions {
  std::filesystem::path source, out;
  CodeFormat format = CodeFormat::Int4;
  int group = 128;
  std::filesystem::path calibrate;  // a text; empty: all inputs count alike
  int threads = 1;
  // Called with the stage and how much of it is done: bytes of the source, or tokens of the text.
  enum class Stage { Calibrating, Quantising };
  std::function<void(Stage stage, std::int64_t done, std::int64_t total)> progress =
      [](Stage, std::int64_t, std::int64_t) {};
  const Cancellation* cancellation = nullptr;
  std::size_t flush_bytes = std::size_t{16} << 20;  // how much work a killed run may lose
};

struct QuantiseReport {
  bool complete_before = false;  // there was nothing to do, and the rest is not set
  int tensors_before = 0;        // that an earlier run had written
  int matrices = 0;              // that became codes
  int narrower = 0;              // of them with smaller groups than asked for
  std::int64_t source_bytes = 0, bytes = 0;
  double relative_error = 0;   // squared error of the coded weights over the sum of their squares
  int calibration_tokens = 0;  // 0: none, or read from an earlier run
  bool calibration_cut = false;
};

// Throws BadInput for a source that is quantised already or does not load, and for an `out` that
// holds anything else; Failed if it cannot be written; Cancelled if asked to stop.
QuantiseReport quantise(const QuantiseOptions& options);

}  // namespace counterbeam
