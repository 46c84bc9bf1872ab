#include "quantise/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "model/checkpoint_weights.h"
#include "model/dry_load.h"

namespace counterbeam {
namespace {

constexpr std::string_view kWeight = ".weight";

// Notes the names of the matrices that a model asks for.
class ListedMatrices : public WeightSource {
 public:
  TensorView get(const std::string&, const Shape& shape) override {
    return {DType::F32, shape, nullptr};
  }
  StoredMatrix matrix(const std::string& name, int out, int in) override {
    names.insert(name);
    return get(name, {out, in});
  }
  void done() override {}

  std::set<std::string> names;
};

bool stays_dense(const std::string& name) {
  if (!name.starts_with("layers.")) return true;  // embed_tokens, lm_head
  return name.ends_with(".linear_attn.in_proj_a.weight") ||
         name.ends_with(".linear_attn.in_proj_b.weight");
}

// Full names of the tensors that become codes.
std::set<std::string> coded_names(const ModelConfig& config, const std::string& prefix) {
  ListedMatrices listed;
  dry_load(config, listed);
  std::set<std::string> names;
  for (const std::string& name : listed.names)
    if (!stays_dense(name)) names.insert(prefix + name);
  return names;
}

// The tensors of a coded matrix, in the order of PlannedTensor::offsets.
void add_coded(const CheckpointTensor& tensor, const MatrixScheme& scheme,
               std::vector<NamedTensor>& to) {
  const std::string module = module_of(tensor.name);
  const CodedShape shape = coded_shape(tensor.view.shape[0], tensor.view.shape[1], scheme);
  const bool packed = scheme.format != CodeFormat::Fp8;
  to.push_back({module + (packed ? ".weight_packed" : ".weight"),
                {shape.codes, shape.codes_shape, nullptr}});
  to.push_back({module + ".weight_scale", {tensor.view.dtype, shape.scales_shape, nullptr}});
  if (packed) to.push_back({module + ".weight_shape", {DType::I64, {2}, nullptr}});
}

void lay_out(PlannedShard& shard, std::span<const NamedTensor> made,
             std::span<const std::size_t> firsts) {
  const std::vector<std::pair<std::string, std::string>> metadata{{"format", "pt"}};
  shard.layout = lay_out_safetensors(made, metadata);
  for (std::size_t i = 0; i < shard.tensors.size(); ++i) {
    const std::size_t end = i + 1 < firsts.size() ? firsts[i + 1] : made.size();
    for (std::size_t k = firsts[i]; k < end; ++k)
      shard.tensors[i].offsets.push_back(shard.layout.offsets[k]);
  }
  for (const NamedTensor& tensor : made) shard.names.push_back(tensor.name);
}

// A name as a regular expression that matches it from its start to its end.
std::string exactly(const std::string& name) {
  std::string pattern = "re:^";
  for (const char c : name) pattern += c == '.' ? std::string("\\.") : std::string(1, c);
  return pattern + "$";
}

// Names that differ only in the number of their layer become one pattern.
std::string any_layer(const std::string& module, const std::string& prefix) {
  const std::string start = prefix + "layers.";
  const std::size_t dot = module.find('.', start.size());
  std::string pattern = exactly(start + "#" + module.substr(dot));
  return pattern.replace(pattern.find('#'), 1, "\\d+");
}

Json weights_json(const MatrixScheme& scheme) {
  const bool grouped = scheme.group > 0;
  return {{"num_bits", bits_of(scheme.format)},
          {"type", scheme.format == CodeFormat::Fp8 ? "float" : "int"},
          {"symmetric", true},
          {"strategy", grouped ? "group" : "channel"},
          {"group_size", grouped ? Json(scheme.group) : Json()},
          {"block_structure", nullptr},
          {"actorder", nullptr},
          {"dynamic", false}};
}

// One scheme is for the class Linear. Several are told apart by names alone: where a class is among
// the targets, vLLM looks at it before the names of the modules that it joins into one.
Json groups_json(const std::vector<std::pair<MatrixScheme, std::set<std::string>>>& schemes,
                 std::string_view format) {
  Json groups = Json::object();
  for (const auto& [scheme, patterns] : schemes)
    groups[fmt::format("group_{}", groups.size())] = {
        {"targets", schemes.size() == 1 ? Json::array({"Linear"}) : Json(patterns)},
        {"weights", weights_json(scheme)},
        {"input_activations", nullptr},
        {"output_activations", nullptr},
        {"format", format}};
  return groups;
}

// Matrices that stay dense though they may be linear layers: readers must not expect codes there.
std::vector<std::string> ignored(const Checkpoint& checkpoint, const std::set<std::string>& coded) {
  std::vector<std::string> names{"lm_head"};
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    if (coded.contains(tensor.name) || tensor.view.shape.rank() != 2) continue;
    if (!tensor.name.ends_with(kWeight) || tensor.name.ends_with("embed_tokens.weight")) continue;
    if (const std::string module = module_of(tensor.name); module != "lm_head")
      names.push_back(module);
  }
  return names;
}

// A plan while its files are gone through.
struct Planning {
  const Checkpoint& checkpoint;
  CodeFormat format;
  int group;
  std::set<std::string> coded;  // full names
  QuantisePlan& plan;
  std::vector<std::pair<MatrixScheme, std::set<std::string>>> schemes{};

  void note_scheme(const MatrixScheme& scheme, std::string pattern) {
    auto found = std::find_if(schemes.begin(), schemes.end(),
                              [&](const auto& known) { return known.first == scheme; });
    if (found == schemes.end()) found = schemes.insert(found, {scheme, {}});
    found->second.insert(std::move(pattern));
    ++plan.matrices;
    plan.narrower += format != CodeFormat::Fp8 && scheme.group != group;
  }

  PlannedTensor add_tensor(const CheckpointTensor& tensor, std::vector<NamedTensor>& made) {
    PlannedTensor planned{.name = tensor.name};
    if (!coded.contains(tensor.name)) {
      made.push_back({tensor.name, {tensor.view.dtype, tensor.view.shape, nullptr}});
      return planned;
    }
    planned.scheme = scheme_for(tensor.view.shape[1], format, group);
    add_coded(tensor, *planned.scheme, made);
    note_scheme(*planned.scheme, any_layer(module_of(tensor.name), plan.prefix));
    return planned;
  }

  void add_file(std::size_t file) {
    PlannedShard shard{.file = checkpoint.files()[file].filename().string()};
    std::vector<NamedTensor> made;
    std::vector<std::size_t> firsts;
    for (const CheckpointTensor& tensor : checkpoint.tensors()) {
      if (tensor.file != file) continue;
      firsts.push_back(made.size());
      shard.tensors.push_back(add_tensor(tensor, made));
    }
    for (const NamedTensor& tensor : made)
      plan.tensor_bytes += static_cast<std::int64_t>(tensor.view.bytes());
    lay_out(shard, made, firsts);
    plan.shards.push_back(std::move(shard));
  }
};

}  // namespace

std::string module_of(const std::string& tensor) {
  return tensor.ends_with(kWeight) ? tensor.substr(0, tensor.size() - kWeight.size()) : tensor;
}

MatrixScheme scheme_for(std::int64_t in, CodeFormat format, int group) {
  if (format == CodeFormat::Fp8) return {format, 0};
  for (const int size : {group, 64, 32})
    if (size <= group && in % size == 0) return {format, size};
  return {format, 0};
}

std::int64_t QuantisePlan::file_bytes() const {
  std::int64_t bytes = 0;
  for (const PlannedShard& shard : shards) bytes += static_cast<std::int64_t>(shard.layout.bytes);
  return bytes;
}

QuantisePlan make_plan(const Checkpoint& checkpoint, const ModelConfig& config, CodeFormat format,
                       int group) {
  QuantisePlan plan;
  plan.prefix = decoder_prefix(checkpoint);
  Planning planning{checkpoint, format, group, coded_names(config, plan.prefix), plan};
  for (std::size_t file = 0; file < checkpoint.files().size(); ++file) planning.add_file(file);
  const std::string_view stored = format == CodeFormat::Fp8 ? "float-quantized" : "pack-quantized";
  plan.quantization_config = {{"quant_method", "compressed-tensors"},
                              {"format", stored},
                              {"quantization_status", "compressed"},
                              {"config_groups", groups_json(planning.schemes, stored)},
                              {"ignore", ignored(checkpoint, planning.coded)},
                              {"kv_cache_scheme", nullptr},
                              {"global_compression_ratio", nullptr}};
  return plan;
}

}  // namespace counterbeam
