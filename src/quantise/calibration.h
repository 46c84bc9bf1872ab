// How large the inputs of every matrix are on a text: the mean square of each. An error of a weight
// changes the result by its input, so the search for scales weighs it by this.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "counterbeam/cancellation.h"
#include "model/model_source.h"

namespace counterbeam {

// By the name of the matrix below the decoder ("layers.0.mlp.up_proj.weight"); one number per
// input, scaled so that their mean is 1.
using InputSizes = std::map<std::string, std::vector<float>>;

struct Calibration {
  InputSizes sizes;
  int tokens = 0;    // that were computed
  bool cut = false;  // whether the text has more
};

// The largest text that is read, of which only the first windows are used.
inline constexpr std::uint64_t kMostCalibrationBytes = std::uint64_t{64} << 20;
inline constexpr int kCalibrationWindow = 512;  // tokens that see each other
inline constexpr int kCalibrationWindows = 64;

// Runs the model over the first windows of the text, on the CPU with `threads` threads. Control
// tokens that are spelled out in the text are recognised, so that it may hold rendered chats. The
// whole model is in memory meanwhile. `progress` is told the share done, in tokens and of how many.
// Throws an Error, with `file` for the text's name, if there is no text or the results are not
// finite.
Calibration calibrate(const ModelSource& source, const std::string& text, const std::string& file,
                      int threads, const std::function<void(int done, int total)>& progress,
                      const Cancellation& cancellation);

}  // namespace counterbeam
