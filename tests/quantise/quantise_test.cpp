// Whole folders: what is written is what our reader reads, however often the run was stopped.
#include "quantise/quantise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "model/hugging_face.h"
#include "quantise/coded_matrix.h"
#include "quantise/plan.h"
#include "small_model.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;
using testing::content_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::small_config;
using testing::SmallModel;
using testing::TemporaryFolder;

constexpr CodeFormat kFormats[] = {CodeFormat::Fp8, CodeFormat::Int8, CodeFormat::Int4};

class Quantise : public ::testing::Test {
 protected:
  QuantiseOptions options(CodeFormat format, const std::string& out = "out") const {
    QuantiseOptions options;
    options.source = folder_.path() / "model";
    options.out = folder_.path() / out;
    options.format = format;
    options.threads = 2;
    return options;
  }
  std::string error_of(const QuantiseOptions& options) const {
    try {
      quantise(options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  fs::path model() const { return folder_.path() / "model"; }

  TemporaryFolder folder_;
};

// Runs until the n-th tensor is done, then ends as a killed process would: without a last word.
struct Stopped {};
void run_until(QuantiseOptions options, int tensors) {
  options.flush_bytes = 1;
  options.progress = [&](QuantiseOptions::Stage, std::int64_t, std::int64_t) {
    if (--tensors < 0) throw Stopped{};
  };
  EXPECT_THROW(quantise(options), Stopped);
}

TEST_F(Quantise, OurReaderReadsTheValuesOfTheSearch) {
  for (const char* type : {"llama", "phi3", "qwen3_5_text"})
    for (const DType dtype : {DType::BF16, DType::F32, DType::F16})
      for (const CodeFormat format : kFormats) {
        if (std::string(type) != "llama" && dtype != DType::BF16) continue;
        const std::string out = fmt::format("{}-{}-{}", type, name_of(dtype), name_of(format));
        SmallModel{.config = small_config(type, 128, 96), .dtype = dtype}.write(model());
        const QuantiseReport report = quantise(options(format, out));
        const HuggingFaceFolder read(folder_.path() / out);
        const ModelConfig config = read.config();
        const auto weights = read.weights(config);
        EXPECT_TRUE(weights->quantised());
        EXPECT_THAT(dry_load(config, *weights).problems, IsEmpty()) << out;
        EXPECT_THAT(weights->unexpected(), IsEmpty()) << out;
        const Checkpoint source = Checkpoint::open(model());
        int seen = 0;
        for (const CheckpointTensor& tensor : source.tensors()) {
          if (tensor.view.shape.rank() != 2 || !tensor.name.starts_with("model.layers.")) continue;
          const int rows = static_cast<int>(tensor.view.shape[0]);
          const int in = static_cast<int>(tensor.view.shape[1]);
          const StoredMatrix matrix = weights->matrix(tensor.name.substr(6), rows, in);
          if (!matrix.codes()) continue;
          ++seen;
          const int group = matrix.codes()->group;
          EXPECT_EQ(group, format == CodeFormat::Fp8 ? in
                           : in % 128 == 0           ? 128
                           : in % 64 == 0            ? 64
                                                     : 32);
          std::vector<float> dense(static_cast<std::size_t>(in)), got(dense.size());
          for (int row = 0; row < rows; ++row) {
            to_f32(dtype, tensor.view.row(row).data, dense);
            matrix.read_row(row, 0, got);
            for (int first = 0; first < in; first += group) {
              const auto part = std::span(dense).subspan(static_cast<std::size_t>(first),
                                                         static_cast<std::size_t>(group));
              const float scale = find_scale(part, {}, format, dtype).scale;
              std::vector<std::uint8_t> codes(part.size());
              encode(part, scale, format, codes);
              for (std::size_t i = 0; i < part.size(); ++i)
                ASSERT_EQ(got[static_cast<std::size_t>(first) + i],
                          decode(codes[i], format) * scale)
                    << out << " " << tensor.name << " " << row;
            }
          }
        }
        EXPECT_EQ(seen, report.matrices) << out;
        EXPECT_GT(report.relative_error, 0);
        EXPECT_LT(report.relative_error, 0.02);
      }
}

TEST_F(Quantise, WritesAnOrdinaryFolder) {
  SmallModel{.shards = 2}.write(model());
  quantise(options(CodeFormat::Int4));
  auto files = content_of(folder_.path() / "out");
  const auto source = content_of(model());
  EXPECT_EQ(files.at("tokenizer.json"), source.at("tokenizer.json"));
  EXPECT_EQ(files.at("LICENSE"), "ours");
  Json config = parse_json(files.at("config.json"), "config.json");
  const Json quantised = config["quantization_config"];
  config.erase("quantization_config");
  EXPECT_EQ(config, parse_json(source.at("config.json"), "config.json"));
  EXPECT_EQ(quantised["quant_method"], "compressed-tensors");
  EXPECT_EQ(quantised["format"], "pack-quantized");
  EXPECT_EQ(quantised["ignore"], Json::array({"lm_head"}));
  EXPECT_EQ(quantised["config_groups"].size(), 1u);
  EXPECT_EQ(quantised["config_groups"]["group_0"]["targets"], Json::array({"Linear"}));
  EXPECT_EQ(quantised["config_groups"]["group_0"]["weights"]["group_size"], 128);
  const Json index = parse_json(files.at("model.safetensors.index.json"), "index");
  const Checkpoint made = Checkpoint::open(folder_.path() / "out");
  EXPECT_EQ(index["weight_map"].size(), made.tensors().size());
  EXPECT_EQ(index["metadata"]["total_size"], made.bytes());
  EXPECT_EQ(made.files().size(), 2u);
  EXPECT_EQ(made.at("model.layers.0.mlp.down_proj.weight_packed").shape, Shape({128, 32}));
  EXPECT_EQ(made.at("model.layers.0.mlp.down_proj.weight_scale").shape, Shape({128, 2}));
  for (const auto& [name, content] : files)
    EXPECT_TRUE(!name.starts_with('.')) << name << " is left";
}

// Readers expect codes in every linear layer that is not ignored: all that stay dense are named.
TEST_F(Quantise, NamesWhatStaysDense) {
  Json config = small_config("qwen3_5_text", 128, 96);
  SmallModel{.config = config, .extra = {{"model.visual.merger.weight", {8, 8}}}}.write(model());
  quantise(options(CodeFormat::Int8));
  const Json made = read_json_file(folder_.path() / "out/config.json")["quantization_config"];
  EXPECT_THAT(made["ignore"].get<std::vector<std::string>>(),
              ElementsAre("lm_head", "model.layers.0.linear_attn.in_proj_a",
                          "model.layers.0.linear_attn.in_proj_b", "model.visual.merger"));
  // in_proj_*, o_proj and up_proj have 128 inputs, out_proj 64 and down_proj 96.
  EXPECT_EQ(made["config_groups"].size(), 3u);
  for (const auto& [name, group] : made["config_groups"].items())
    for (const Json& target : group["targets"])
      EXPECT_THAT(target.get<std::string>(), HasSubstr("re:^model\\.layers\\.\\d+\\.")) << name;
}

// The decoder of a multimodal model, whose names have a prefix of their own.
TEST_F(Quantise, FindsTheDecoderBehindAPrefix) {
  SmallModel{.config = small_config("qwen3", 128, 96), .prefix = "model.language_model."}.write(
      model());
  EXPECT_EQ(quantise(options(CodeFormat::Int4)).matrices, 14);
  const HuggingFaceFolder read(folder_.path() / "out");
  EXPECT_THAT(dry_load(read.config(), *read.weights(read.config())).problems, IsEmpty());
  const Json made = read_json_file(folder_.path() / "out/config.json")["quantization_config"];
  EXPECT_EQ(made["config_groups"]["group_0"]["targets"][0],
            "re:^model\\.language_model\\.layers\\.\\d+\\.mlp\\.down_proj$");
}

TEST_F(Quantise, WidthsDecideGroups) {
  EXPECT_EQ(scheme_for(256, CodeFormat::Int4, 128).group, 128);
  EXPECT_EQ(scheme_for(704, CodeFormat::Int4, 128).group, 64);
  EXPECT_EQ(scheme_for(96, CodeFormat::Int8, 128).group, 32);
  EXPECT_EQ(scheme_for(256, CodeFormat::Int8, 32).group, 32);
  EXPECT_EQ(scheme_for(100, CodeFormat::Int4, 128).group, 0);
  EXPECT_EQ(scheme_for(256, CodeFormat::Fp8, 128).group, 0);
}

TEST_F(Quantise, AnyWidthIsReadBack) {
  SmallModel{.config = small_config("llama", 20, 27)}.write(model());
  for (const CodeFormat format : kFormats) {
    const std::string out(name_of(format));
    EXPECT_LT(quantise(options(format, out)).relative_error, 0.03);
    const HuggingFaceFolder read(folder_.path() / out);
    EXPECT_THAT(dry_load(read.config(), *read.weights(read.config())).problems, IsEmpty());
  }
}

TEST_F(Quantise, AStoppedRunContinuesToTheSameBytes) {
  SmallModel{.shards = 2}.write(model());
  for (const CodeFormat format : kFormats) {
    quantise(options(format, "whole"));
    const auto whole = content_of(folder_.path() / "whole");
    for (const int tensors : {0, 7, 10, 14}) {  // 10: where the first file ends
      run_until(options(format), tensors);
      EXPECT_FALSE(fs::exists(folder_.path() / "out/config.json"));
      const QuantiseReport report = quantise(options(format));
      EXPECT_EQ(report.tensors_before, tensors + 1);  // the last one was entered before the report
      EXPECT_EQ(content_of(folder_.path() / "out"), whole) << tensors;
      fs::remove_all(folder_.path() / "out");
    }
    fs::remove_all(folder_.path() / "whole");
  }
}

TEST_F(Quantise, ATornJournalLosesOnlyWork) {
  SmallModel{}.write(model());
  const double error = quantise(options(CodeFormat::Int4, "whole")).relative_error;
  const auto whole = content_of(folder_.path() / "whole");
  run_until(options(CodeFormat::Int4), 12);
  const fs::path journal = folder_.path() / "out/.counterbeam-quantize/model.safetensors.journal";
  const std::string text = read_file(journal);
  for (const std::string& torn : {text.substr(0, text.size() - 3), text.substr(0, 5),
                                  "junk\n" + text, text + "x", std::string("\0\0\0", 3)}) {
    fs::remove_all(folder_.path() / "out");
    run_until(options(CodeFormat::Int4), 12);
    write_file(journal, torn);
    run_until(options(CodeFormat::Int4), 14);
    const QuantiseReport report = quantise(options(CodeFormat::Int4));
    EXPECT_EQ(report.tensors_before, 15);
    EXPECT_DOUBLE_EQ(report.relative_error, error);
    EXPECT_EQ(content_of(folder_.path() / "out"), whole);
  }
}

TEST_F(Quantise, AJournalWithoutItsFileIsNotBelieved) {
  SmallModel{}.write(model());
  quantise(options(CodeFormat::Int4, "whole"));
  for (const bool shorter : {false, true}) {
    run_until(options(CodeFormat::Int4), 12);
    const fs::path file = folder_.path() / "out/.counterbeam-quantize/model.safetensors";
    if (shorter)
      fs::resize_file(file, 1000);
    else
      fs::remove(file);
    EXPECT_EQ(quantise(options(CodeFormat::Int4)).tensors_before, 0);
    EXPECT_EQ(content_of(folder_.path() / "out"), content_of(folder_.path() / "whole"));
    fs::remove_all(folder_.path() / "out");
  }
}

TEST_F(Quantise, AFinishedFolderStaysAsItIs) {
  SmallModel{}.write(model());
  quantise(options(CodeFormat::Int4));
  const auto before = content_of(folder_.path() / "out");
  EXPECT_TRUE(quantise(options(CodeFormat::Int4)).complete_before);
  EXPECT_EQ(content_of(folder_.path() / "out"), before);
  EXPECT_THAT(error_of(options(CodeFormat::Int8)), HasSubstr("(to differs)"));
  QuantiseOptions other = options(CodeFormat::Int4);
  other.group = 64;
  EXPECT_THAT(error_of(other), HasSubstr("(group differs)"));
  SmallModel{.factors = {{"model.layers.1.mlp.up_proj.weight", 2.0f}}}.write(model());
  EXPECT_THAT(error_of(options(CodeFormat::Int4)), HasSubstr("(source_weights differs)"));
  EXPECT_EQ(content_of(folder_.path() / "out"), before);
}

TEST_F(Quantise, AFolderWhoseNameIsNotUtf8IsASource) {
  QuantiseOptions odd = options(CodeFormat::Int8);
  odd.source = folder_.path() / "model\xff";
  SmallModel{}.write(odd.source);
  run_until(odd, 3);
  EXPECT_EQ(quantise(odd).tensors_before, 4) << "continued";
  EXPECT_TRUE(quantise(odd).complete_before);
}

TEST_F(Quantise, RefusesAFolderOfOthers) {
  SmallModel{}.write(model());
  folder_.write("out/notes.txt", "mine");
  EXPECT_THAT(error_of(options(CodeFormat::Int4)),
              HasSubstr("out: holds files already; name a folder that is new or empty"));
  EXPECT_EQ(content_of(folder_.path() / "out").size(), 1u);
  EXPECT_THAT(error_of(options(CodeFormat::Int4, "out/notes.txt")),
              HasSubstr("notes.txt: is a file"));
  EXPECT_THAT(error_of(options(CodeFormat::Int4, "model")), HasSubstr("holds files already"));
}

TEST_F(Quantise, RefusesBadSources) {
  const auto refused = [&](const SmallModel& small) {
    fs::remove_all(model());
    small.write(model());
    const std::string message = error_of(options(CodeFormat::Int4, "never"));
    EXPECT_EQ(fs::exists(folder_.path() / "never/config.json"), message.empty());
    fs::remove_all(folder_.path() / "never");
    return message;
  };
  EXPECT_THAT(error_of(options(CodeFormat::Int4)), HasSubstr("config.json"));
  Json config = small_config();
  config["quantization_config"] = {{"quant_method", "bitsandbytes"}};
  SmallModel{}.write(model());
  write_file(model() / "config.json", config.dump());
  EXPECT_THAT(error_of(options(CodeFormat::Int4)),
              HasSubstr("has quantization_config: the model is quantised already"));
  config = small_config();
  config["num_hidden_layers"] = 3;
  write_file(model() / "config.json", config.dump());
  EXPECT_THAT(error_of(options(CodeFormat::Int4)), HasSubstr("model.layers.2."));
  EXPECT_FALSE(fs::exists(folder_.path() / "out"));
  for (const float value : {std::numeric_limits<float>::infinity(), std::nanf("")})
    EXPECT_THAT(refused({.spoilt = {{"model.layers.1.mlp.up_proj.weight", value}}}),
                HasSubstr("tensor model.layers.1.mlp.up_proj.weight, element 32767 of 32768, is "));
  EXPECT_EQ(refused({.spoilt = {{"model.layers.1.mlp.up_proj.weight", 5.0f}}}), "");
}

TEST_F(Quantise, CalibrationIsReproducibleAndCounts) {
  SmallModel{.config = small_config("qwen3_5_text")}.write(model());
  std::string text;
  for (int i = 0; i < 300; ++i) text += i % 3 ? "ab" : i % 7 ? "b" : "a";
  QuantiseOptions with = options(CodeFormat::Int4);
  with.calibrate = folder_.write("text", text);
  const QuantiseReport report = quantise(with);
  EXPECT_EQ(report.calibration_tokens, 300);
  EXPECT_FALSE(report.calibration_cut);
  const auto made = content_of(with.out);
  quantise(options(CodeFormat::Int4, "without"));
  EXPECT_NE(made.at("model.safetensors"),
            content_of(folder_.path() / "without").at("model.safetensors"));
  with.out = folder_.path() / "again";
  run_until(with, 10);
  EXPECT_EQ(quantise(with).calibration_tokens, 0);  // kept from the run that was stopped
  EXPECT_EQ(content_of(with.out), made);
  with.calibrate = folder_.write("empty", "");
  with.out = folder_.path() / "never";
  EXPECT_THAT(error_of(with), HasSubstr("empty: has no text to calibrate on"));
  with.calibrate = folder_.path() / "absent";
  EXPECT_THAT(error_of(with), HasSubstr("absent"));
}

// The message names the source, whether its tensors are searched or copied, and nothing of what is
// missing is entered.
TEST_F(Quantise, ASourceThatIsCutMeanwhileIsNamed) {
  SmallModel{}.write(model());
  quantise(options(CodeFormat::Int4, "whole"));
  const auto whole = content_of(folder_.path() / "whole");
  const fs::path source = model() / "model.safetensors";
  const std::string bytes = read_file(source);
  for (const std::size_t left : {bytes.size() - 3, bytes.size() - 5000, std::size_t{4096}})
    for (const int tensors : {1, 7, 19}) {
      QuantiseOptions cut = options(CodeFormat::Int4);
      cut.flush_bytes = 1;
      int seen = 0;
      cut.progress = [&](QuantiseOptions::Stage, std::int64_t, std::int64_t) {
        if (++seen == tensors) fs::resize_file(source, left);
      };
      EXPECT_THAT(error_of(cut),
                  HasSubstr(source.string() + ": a part of the file disappeared while it was read"))
          << left << " bytes left after " << tensors;
      EXPECT_EQ(seen, tensors);
      write_file(source, bytes);
      EXPECT_EQ(quantise(options(CodeFormat::Int4)).tensors_before, tensors);
      EXPECT_EQ(content_of(folder_.path() / "out"), whole);
      fs::remove_all(folder_.path() / "out");
    }
}

TEST_F(Quantise, StopsWhenAsked) {
  SmallModel{}.write(model());
  Cancellation cancellation;
  QuantiseOptions asked = options(CodeFormat::Int4);
  asked.cancellation = &cancellation;
  int tensors = 0;
  asked.progress = [&](QuantiseOptions::Stage, std::int64_t, std::int64_t) {
    if (++tensors == 3) cancellation.cancel();
  };
  EXPECT_THAT(error_of(asked), HasSubstr("the same command continues"));
  EXPECT_EQ(tensors, 3);
}

}  // namespace
}  // namespace counterbeam
