#include "quantise/quantise.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "model/dry_load.h"
#include "model/fingerprint.h"
#include "model/hub.h"
#include "model/hugging_face.h"
#include "quantise/calibration.h"
#include "quantise/out_folder.h"
#include "quantise/plan.h"
#include "quantise/shard_file.h"
#include "tensor/non_finite.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSizesFile = "calibration.safetensors";

// The config of a source that loads and is dense.
ModelConfig checked_config(const HuggingFaceFolder& source) {
  check_model_folder(source.location());
  const std::string file = (fs::path(source.location()) / "config.json").string();
  const Json json = read_json_file(file);
  for (const char* key : {"quantization_config", "compression_config"})
    if (json.is_object() && json.contains(key) && !json[key].is_null())
      bad_input("{}: has {}: the model is quantised already; give the dense model it was made of",
                file, key);
  ModelConfig config = source.config();
  if (config.quantised)
    bad_input("{}: the model is quantised already; give the dense model it was made of",
              source.location());
  const DryLoad load = dry_load(config, *source.weights(config));
  if (!load.problems.empty()) throw BadInput(load.problems.front());
  return config;
}

// Everything that the result depends on.
Json record_of(const HuggingFaceFolder& source, const QuantiseOptions& options) {
  const ModelFingerprint print = source.fingerprint();
  const bool grouped = options.format != CodeFormat::Fp8;
  return {{"version", 1},
          {"to", name_of(options.format)},
          {"group", grouped ? Json(options.group) : Json()},
          {"calibrate", options.calibrate.empty()
                            ? Json()
                            : Json(sha256(read_file(options.calibrate, kMostCalibrationBytes)))},
          {"source", source.name()},
          {"source_config", print.config},
          {"source_tokenizer", print.tokenizer},
          {"source_chat_template", print.chat_template},
          {"source_weights", print.weights}};
}

void save_sizes(const fs::path& path, const InputSizes& sizes) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, numbers] : sizes)
    tensors.push_back({name,
                       {DType::F32,
                        {static_cast<std::int64_t>(numbers.size())},
                        reinterpret_cast<const std::byte*>(numbers.data())}});
  write_safetensors(path, tensors);
}

InputSizes read_sizes(const fs::path& path) {
  InputSizes sizes;
  const SafetensorsFile file(path);
  for (const NamedTensor& tensor : file.tensors()) sizes[tensor.name] = to_f32(tensor.view);
  file.file().check(path);
  return sizes;
}

// One run: what it has and what it reports.
class QuantiseRun {
 public:
  QuantiseRun(const QuantiseOptions& options, const HuggingFaceFolder& source, OutFolder& out,
              const ModelConfig& config)
      : options_(options),
        source_(source),
        out_(out),
        checkpoint_(Checkpoint::open(options.source)),
        plan_(make_plan(checkpoint_, config, options.format, options.group)) {
    report_.matrices = plan_.matrices;
    report_.narrower = plan_.narrower;
    report_.source_bytes = static_cast<std::int64_t>(checkpoint_.bytes());
    report_.bytes = plan_.tensor_bytes;
  }

  QuantiseReport run() {
    out_.expect_space(plan_.file_bytes());
    if (!options_.calibrate.empty()) find_sizes();
    for (const PlannedShard& shard : plan_.shards) make_shard(shard);
    copy_small_files(options_.source, out_.path());
    write_index();
    Json config = read_json_file(options_.source / "config.json");
    config["quantization_config"] = plan_.quantization_config;
    out_.complete_with(config);
    report_.relative_error = total_.energy > 0 ? total_.error / total_.energy : 0;
    return report_;
  }

 private:
  void stop_if_asked() const {
    if (options_.cancellation && options_.cancellation->cancelled())
      throw Cancelled("stopped; the same command continues where this one stopped");
  }

  void find_sizes() {
    const fs::path saved = out_.work() / kSizesFile;
    std::error_code error;
    if (fs::exists(saved, error)) {
      sizes_ = read_sizes(saved);
      return;
    }
    const Cancellation never;
    Calibration found = calibrate(
        source_, read_file(options_.calibrate, kMostCalibrationBytes), options_.calibrate.string(),
        options_.threads,
        [&](int done, int total) {
          options_.progress(QuantiseOptions::Stage::Calibrating, done, total);
        },
        options_.cancellation ? *options_.cancellation : never);
    report_.calibration_tokens = found.tokens;
    report_.calibration_cut = found.cut;
    save_sizes(saved, found.sizes);
    sizes_ = std::move(found.sizes);
  }

  void make_shard(const PlannedShard& shard) {
    std::vector<std::string> names;
    for (const PlannedTensor& tensor : shard.tensors) names.push_back(tensor.name);
    const fs::path target = out_.path() / shard.file;
    std::error_code error;
    if (fs::exists(target, error)) {
      for (const CodeError& entry : journal_of(out_.work(), shard.file, names)) count(entry);
      report_.tensors_before += static_cast<int>(names.size());
      for (const std::string& name : names) advance(name);
      return;
    }
    ShardFile file(out_.work(), shard.file, shard.layout, names, options_.flush_bytes);
    const std::size_t before = file.done().size();
    for (const CodeError& entry : file.done()) count(entry);
    report_.tensors_before += static_cast<int>(before);
    for (std::size_t i = 0; i < shard.tensors.size(); ++i) {
      stop_if_asked();
      if (i >= before) {
        const CodeError entry = make_tensor(shard.tensors[i], file);
        file.enter(entry);
        count(entry);
      }
      advance(shard.tensors[i].name);
    }
    file.finish(target);
  }

  CodeError make_tensor(const PlannedTensor& tensor, ShardFile& file) const {
    const TensorView& view = checkpoint_.at(tensor.name);
    CodeError entry;
    if (tensor.scheme)
      entry = write_coded(tensor, view, file);
    else
      write_copy(tensor, view, file);
    checkpoint_.check(tensor.name);
    checkpoint_.done_with(tensor.name);
    return entry;
  }

  // Elements of a tensor of `total`, from number `first` on.
  void refuse_non_finite(const std::string& tensor, const TensorView& view, std::int64_t first,
                         std::int64_t total) const {
    if (const auto at = first_non_finite(view))
      bad_input(
          "{}: tensor {}, element {} of {}, is {}; the checkpoint is damaged: download it again",
          source_.location(), tensor, first + *at, total, value_at(view, *at));
  }

  CodeError write_coded(const PlannedTensor& tensor, const TensorView& view,
                        ShardFile& file) const {
    refuse_non_finite(tensor.name, view, 0, view.shape.elements());
    const auto known = sizes_.find(tensor.name.substr(plan_.prefix.size()));
    const std::span<const float> sizes =
        known == sizes_.end() ? std::span<const float>{} : std::span<const float>(known->second);
    const CodedMatrix matrix = quantise_matrix(view, *tensor.scheme, sizes, options_.threads);
    file.write(tensor.offsets[0], {matrix.codes.data(), matrix.codes.bytes()});
    file.write(tensor.offsets[1], {matrix.scales.data(), matrix.scales.bytes()});
    if (tensor.offsets.size() > 2)
      file.write(tensor.offsets[2], std::as_bytes(view.shape.extents()));
    return {matrix.error, matrix.energy};
  }

  // In pieces, so that the pages of an embedding table are never in memory all at once. A piece is
  // copied and checked first: writing from a mapping whose pages disappeared fails with "Bad
  // address", as if the written file were at fault.
  void write_copy(const PlannedTensor& tensor, const TensorView& view, ShardFile& file) const {
    constexpr std::size_t kPiece = std::size_t{4} << 20;
    std::vector<std::byte> piece;
    const bool whole_bytes = bits_of(view.dtype) % 8 == 0;  // narrower ones are always finite
    for (std::size_t at = 0; at < view.bytes(); at += kPiece) {
      const std::size_t count = std::min(kPiece, view.bytes() - at);
      piece.assign(view.data + at, view.data + at + count);
      checkpoint_.check(tensor.name);
      if (whole_bytes) {
        const std::size_t size = bytes_of(view.dtype);
        const auto elements = static_cast<std::int64_t>(count / size);
        refuse_non_finite(tensor.name, {view.dtype, {elements}, piece.data()},
                          static_cast<std::int64_t>(at / size), view.shape.elements());
      }
      file.write(tensor.offsets[0] + at, piece);
      checkpoint_.done_with(tensor.name, at, count);
    }
  }

  void count(const CodeError& entry) {
    total_.error += entry.error;
    total_.energy += entry.energy;
  }

  void advance(const std::string& tensor) {
    read_ += static_cast<std::int64_t>(checkpoint_.at(tensor).bytes());
    options_.progress(QuantiseOptions::Stage::Quantising, read_, report_.source_bytes);
  }

  void write_index() const {
    if (plan_.shards.size() == 1 && plan_.shards[0].file == "model.safetensors") return;
    std::map<std::string, std::string> places;
    for (const PlannedShard& shard : plan_.shards)
      for (const std::string& name : shard.names) places[name] = shard.file;
    const Json index = {{"metadata", {{"total_size", plan_.tensor_bytes}}}, {"weight_map", places}};
    write_json_file(out_.path() / "model.safetensors.index.json", index);
  }

  const QuantiseOptions& options_;
  const HuggingFaceFolder& source_;
  OutFolder& out_;
  Checkpoint checkpoint_;
  QuantisePlan plan_;
  InputSizes sizes_;
  CodeError total_;
  std::int64_t read_ = 0;
  QuantiseReport report_;
};

}  // namespace

QuantiseReport quantise(const QuantiseOptions& options) {
  const HuggingFaceFolder source(options.source);
  const ModelConfig config = checked_config(source);
  OutFolder out(options.out, record_of(source, options));
  if (!out.complete()) return QuantiseRun(options, source, out, config).run();
  out.remove_work();
  QuantiseReport report;
  report.complete_before = true;
  return report;
}

}  // namespace counterbeam
