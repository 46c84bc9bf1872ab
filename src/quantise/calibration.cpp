#include "quantise/calibration.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "model/model.h"
#include "quantise/recording_ops.h"

namespace counterbeam {
namespace {

// Passes requests on, and notes which matrix was packed from which tensors.
class NotedMatrices : public WeightSource {
 public:
  explicit NotedMatrices(WeightSource& inner) : inner_(inner) {}

  TensorView get(const std::string& name, const Shape& shape) override {
    return inner_.get(name, shape);
  }
  StoredMatrix matrix(const std::string& name, int out, int in) override {
    return inner_.matrix(name, out, in);
  }
  std::unique_ptr<PackedMatrix> pack(WeightOps& ops, std::span<const Rows> parts, int in) override {
    auto packed = inner_.pack(ops, parts, in);
    for (const Rows& part : parts) names.emplace_back(part.name, packed.get());
    return packed;
  }
  void done() override { inner_.done(); }

  std::vector<std::pair<std::string, const PackedMatrix*>> names;

 private:
  WeightSource& inner_;
};

struct CalibrationText {
  std::vector<std::vector<TokenId>> windows;
  int tokens = 0;
  bool cut = false;
};

// Each window opens with what the tokenizer puts before a text.
CalibrationText split_text(const Tokenizer& tokenizer, const ModelConfig& config,
                           const std::string& text) {
  const auto start = tokenizer.encode("", {.add_special_tokens = true});
  std::vector<TokenId> ids = tokenizer.encode(text, {.special_in_text = true});
  std::erase_if(ids, [&](TokenId id) { return id >= config.vocab; });
  const auto length =
      static_cast<std::size_t>(std::min<std::int64_t>(kCalibrationWindow, config.max_positions));
  const std::size_t step = length > start.size() ? length - start.size() : 1;
  CalibrationText split;
  for (std::size_t at = 0; at < ids.size(); at += step) {
    if (split.windows.size() == kCalibrationWindows) {
      split.cut = true;
      break;
    }
    std::vector<TokenId> window = length > start.size() ? start : std::vector<TokenId>{};
    const std::size_t end = std::min(ids.size(), at + step);
    window.insert(window.end(), ids.begin() + static_cast<std::ptrdiff_t>(at),
                  ids.begin() + static_cast<std::ptrdiff_t>(end));
    split.tokens += static_cast<int>(window.size());
    split.windows.push_back(std::move(window));
  }
  return split;
}

std::vector<float> mean_squares(const RecordingOps::Record& record, const std::string& name,
                                const std::string& file) {
  double sum = 0;
  for (const double square : record.squares) sum += square;
  if (!std::isfinite(sum))
    failed("{}: the inputs of {} are not finite on this text; the weights are damaged", file, name);
  const double mean = sum / static_cast<double>(std::max<std::size_t>(record.squares.size(), 1));
  std::vector<float> sizes;
  for (const double square : record.squares)
    sizes.push_back(mean > 0 ? static_cast<float>(square / mean) : 1.0f);
  return sizes;
}

void run_window(const Model& model, RecordingOps& ops, Cache& cache,
                const std::vector<TokenId>& ids) {
  CachedSequence sequence(cache);
  const auto most = static_cast<std::size_t>(ops.costs().step_rows);
  for (std::size_t at = 0; at < ids.size(); at += most) {
    const auto part = std::span(ids).subspan(at, std::min(most, ids.size() - at));
    const int rows = static_cast<int>(part.size()), position = sequence.length();
    sequence.append(rows);
    const Segment segment{0, rows, position, sequence.pages(), sequence.state()};
    const int last = rows - 1;
    model.forward(ops, {part, {&segment, 1}}, cache, {&last, 1});
    ops.wait();
  }
}

}  // namespace

Calibration calibrate(const ModelSource& source, const std::string& text, const std::string& file,
                      int threads, const std::function<void(int done, int total)>& progress,
                      const Cancellation& cancellation) {
  if (!source.has_tokenizer())
    bad_input("{}: has no tokenizer.json, which --calibrate needs; download it", source.location());
  const ModelConfig config = source.config();
  const CalibrationText split = split_text(source.tokenizer(), config, text);
  if (split.windows.empty()) bad_input("{}: has no text to calibrate on", file);
  const auto weights = source.weights(config);
  const bool narrow = config.dtype.value_or(weights->dtype()) == DType::BF16;
  const auto ops = make_cpu_ops(narrow ? Precision::Bf16 : Precision::F32, threads);
  NotedMatrices noted(*weights);
  const auto model = load_model(config, *ops, noted);
  Cache cache(*ops, cache_shape(config),
              {.pages = kCalibrationWindow / kPageTokens + 1, .states = 2});
  RecordingOps recording(*ops);
  Calibration calibration{{}, split.tokens, split.cut};
  int done = 0;
  for (const std::vector<TokenId>& window : split.windows) {
    if (cancellation.cancelled()) throw_error(ErrorKind::Cancelled, "interrupted");
    run_window(*model, recording, cache, window);
    progress(done += static_cast<int>(window.size()), split.tokens);
  }
  for (const auto& [name, matrix] : noted.names)
    if (const RecordingOps::Record& record = recording.record(*matrix); record.rows > 0)
      calibration.sizes[name] = mean_squares(record, name, file);
  return calibration;
}

}  // namespace counterbeam
