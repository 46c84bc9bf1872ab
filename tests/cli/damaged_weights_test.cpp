// Weights that are infinite or NaN: nothing is measured with them unless that was asked for, and
// then the record and the report say so.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "support/run_command.h"
#include "tensor/safetensors.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;
using testing::CommandResult;
using ::testing::HasSubstr;
using testing::run_counterbeam;
using testing::TemporaryFolder;

const fs::path kModels = fs::path(COUNTERBEAM_SOURCE_DIR) / "models";

// tiny-hybrid with an infinite decay, which leaves all logits finite.
class DamagedWeights : public ::testing::Test {
 protected:
  DamagedWeights() {
    const fs::path from = kModels / "tiny-hybrid";
    fs::create_directory(model_);
    for (const auto& entry : fs::directory_iterator(from))
      if (entry.path().filename() != "model.safetensors")
        fs::create_symlink(entry.path(), model_ / entry.path().filename());
    const SafetensorsFile file(from / "model.safetensors");
    const TensorView* decay = file.find("model.layers.0.linear_attn.A_log");
    EXPECT_TRUE(decay && decay->dtype == DType::BF16);
    std::string bytes = read_file(from / "model.safetensors");
    const auto place = static_cast<std::size_t>(decay->data - file.file().bytes().data());
    bytes.replace(place + 2, 2, "\x80\x7f");  // element 1
    write_file(model_ / "model.safetensors", bytes);
  }

  CommandResult run(const std::string& arguments) const {
    return run_counterbeam(arguments + " --device cpu -q --model '" + model_.string() + "'");
  }
  std::string out() const { return " --out '" + out_.string() + "' "; }

  TemporaryFolder folder_;
  fs::path model_ = folder_.path() / "model", out_ = folder_.path() / "out";
};

constexpr const char* kWeight = "tensor model.layers.0.linear_attn.A_log, element 1 of 4, is inf";
const std::string kEval = "eval --task tiny-math --limit 2 --methods greedy:max-tokens=8";

TEST_F(DamagedWeights, AreNotMeasured) {
  for (const std::string& command :
       {kEval, std::string("reproduce table1 --quick --limit 1 --task tiny-math"),
        std::string("diagnose --task tiny-math --limit 2 --rollouts 0"),
        std::string("contexts search --task tiny-math --dev 8 --confirm 8")}) {
    const CommandResult result = run(command + out());
    EXPECT_EQ(result.code, 1) << command << result.err;
    EXPECT_THAT(result.err, HasSubstr(kWeight)) << command;
    EXPECT_THAT(result.err, HasSubstr("download the checkpoint again")) << command;
    for (const char* name : {"samples.jsonl", "run.json", "search.json", "diagnose.json"})
      EXPECT_FALSE(fs::exists(out_ / name)) << command;
    fs::remove_all(out_);
  }
}

TEST_F(DamagedWeights, AreRecordedWhereFailuresAreAllowed) {
  const CommandResult result = run(kEval + " --allow-failures" + out());
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(read_json_file(out_ / "run.json")["damaged_weights"], kWeight);
  EXPECT_THAT(read_file(out_ / "report.html"), HasSubstr(kWeight));
  // What the fingerprint does not see: it reads a few samples of every tensor.
  const CommandResult repaired =
      run_counterbeam(kEval + " --resume --device cpu -q --model tiny-hybrid" + out());
  EXPECT_EQ(repaired.code, 2);
  EXPECT_THAT(repaired.err, HasSubstr("damaged_weights was \"tensor"));
}

TEST_F(DamagedWeights, AnswersComeWithAWarning) {
  const CommandResult result =
      run_counterbeam("ask 'Compute 1 + 1.' --method greedy:max-tokens=4 --device cpu --model '" +
                      model_.string() + "'");
  EXPECT_THAT(result.err, HasSubstr(kWeight));
  EXPECT_THAT(result.err, HasSubstr("download the checkpoint again"));
}

TEST_F(DamagedWeights, AreNotCopiedWhenAModelIsQuantised) {
  const CommandResult result = run_counterbeam("--threads 2 quantize --to int8 '" +
                                               model_.string() + "' '" + out_.string() + "'");
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_THAT(result.err, HasSubstr(kWeight));
  EXPECT_FALSE(fs::exists(out_ / "config.json"));
}

}  // namespace
}  // namespace counterbeam
