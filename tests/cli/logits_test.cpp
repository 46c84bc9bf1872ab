// Tests the commands logits and score.
#include <gtest/gtest.h>

#include <cstring>

#include "base/file.h"
#include "base/json.h"
#include "support/run_command.h"
#include "tensor/safetensors.h"

namespace counterbeam {
namespace {

using testing::run_counterbeam;
using testing::TemporaryFolder;
namespace fs = std::filesystem;

const fs::path kSource = COUNTERBEAM_SOURCE_DIR;

std::vector<int> ints(const TensorView& view) {
  std::vector<int> values(static_cast<std::size_t>(view.shape.elements()));
  std::memcpy(values.data(), view.data, view.bytes());
  return values;
}

// Reads a .npy file of floats: the text of the header, then the numbers.
std::vector<float> numbers_of(const std::string& bytes, std::string* header) {
  std::uint16_t length = 0;
  std::memcpy(&length, bytes.data() + 8, sizeof length);
  *header = bytes.substr(10, length);
  std::vector<float> values((bytes.size() - 10 - length) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + 10 + length, values.size() * sizeof(float));
  return values;
}

class LogitsTest : public ::testing::Test {
 protected:
  std::string command(const std::string& model, const std::string& ids) {
    folder_.write("ids.json", ids);
    return "--device cpu --dtype f32 --model '" + (kSource / "models" / model).string() +
           "' logits --ids '" + (folder_.path() / "ids.json").string() + "' --out '" +
           (folder_.path() / "out.npy").string() + "'";
  }
  TemporaryFolder folder_;
};

TEST_F(LogitsTest, AgreeWithTransformers) {
  for (const std::string model : {"tiny-dense", "tiny-hybrid"}) {
    const SafetensorsFile reference(kSource / "tests/fixtures/shipped_logits" /
                                    (model + ".safetensors"));
    const std::vector<int> ids = ints(*reference.find("input_ids.0"));
    const auto result = run_counterbeam(command(model, to_line(Json(ids))));
    ASSERT_EQ(result.code, 0) << result.err;
    std::string header;
    const auto got = numbers_of(read_file(folder_.path() / "out.npy"), &header);
    const auto wanted = to_f32(*reference.find("logits.0"));
    const std::vector<int> positions = ints(*reference.find("positions.0"));
    const std::size_t vocab = wanted.size() / positions.size();
    ASSERT_EQ(got.size(), ids.size() * vocab);
    EXPECT_NE(header.find("(" + std::to_string(ids.size()) + ", " + std::to_string(vocab) + ")"),
              std::string::npos)
        << header;
    double error = 0, power = 0;
    for (std::size_t p = 0; p < positions.size(); ++p) {
      for (std::size_t v = 0; v < vocab; ++v) {
        const double want = wanted[p * vocab + v];
        const double off = got[static_cast<std::size_t>(positions[p]) * vocab + v] - want;
        error += off * off;
        power += want * want;
      }
    }
    EXPECT_LE(error / power, 1e-9) << model;
  }
}

TEST_F(LogitsTest, RowsThatAreNotFiniteAreReported) {
  const fs::path model = folder_.path() / "model", from = kSource / "models" / "tiny-dense";
  fs::create_directory(model);
  for (const auto& entry : fs::directory_iterator(from))
    if (entry.path().filename() != "model.safetensors")
      fs::create_symlink(entry.path(), model / entry.path().filename());
  {
    const SafetensorsFile file(from / "model.safetensors");
    const TensorView* embeddings = file.find("model.embed_tokens.weight");
    ASSERT_NE(embeddings, nullptr);
    const auto place =
        static_cast<std::size_t>(embeddings->row(5).data - file.file().bytes().data());
    std::string bytes = read_file(from / "model.safetensors");
    bytes.replace(place, 4, "\xff\xff\xff\xff");  // NaN in every format
    write_file(model / "model.safetensors", bytes);
  }
  const auto result = run_counterbeam(command(model.string(), "[1, 5, 2]"));
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("hold NaN or infinity"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("tensor model.embed_tokens.weight, element "), std::string::npos);
  EXPECT_TRUE(fs::exists(folder_.path() / "out.npy"));
  const auto asked = run_counterbeam(
      "ask 'Compute 1 + 1.' --method greedy --max-tokens 2 -q --model '" + model.string() + "'");
  EXPECT_NE(asked.err.find("warning: "), std::string::npos) << asked.err;
}

TEST_F(LogitsTest, RejectsFilesThatAreNotAListOfIds) {
  for (const auto& [ids, word] : {std::pair{"[]", "empty"},
                                  {"[1, 999999]", "999999"},
                                  {"[1, \"a\"]", "ids.json"},
                                  {"{", "ids.json"}}) {
    const auto result = run_counterbeam(command("tiny-dense", ids));
    EXPECT_NE(result.code, 0) << ids;
    EXPECT_NE(result.err.find(word), std::string::npos) << ids << ": " << result.err;
    EXPECT_FALSE(fs::exists(folder_.path() / "out.npy")) << ids;
  }
}

TEST(Score, AddsUp) {
  const auto result = run_counterbeam(
      "--device cpu --json score --question 'Compute 12 + 3 * 7.' --answer '12 + 21 = 33' --steer "
      "0.5");
  ASSERT_EQ(result.code, 0) << result.err;
  const Json json = parse_json(result.out, "output");
  std::string text;
  double base = 0, positive = 0, negative = 0;
  for (const Json& token : json["tokens"]) {
    text += token["text"].get<std::string>();
    base += token["base"].get<double>();
    positive += token["positive"].get<double>();
    negative += token["negative"].get<double>();
    EXPECT_LT(token["base"].get<double>(), 0);
  }
  EXPECT_EQ(text, "12 + 21 = 33");
  EXPECT_NEAR(json["base"].get<double>(), base, 1e-4);
  EXPECT_NEAR(json["reward"].get<double>(), positive - negative, 1e-4);
  const auto tokens = static_cast<double>(json["tokens"].size());
  EXPECT_NEAR(json["score"].get<double>(), (base + 0.5 * (positive - negative)) / tokens, 1e-4);
}

}  // namespace
}  // namespace counterbeam
