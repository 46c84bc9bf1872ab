#include "model/config_rope.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace counterbeam {
namespace {

RopeConfig read(const char* text, int head_dim = 128, int max_positions = 32768) {
  const Json json = parse_json(text, "test");
  return read_rope(JsonFields(json, "config.json"), head_dim, max_positions, {});
}

TEST(Rope, OldAndNewSpellings) {
  EXPECT_EQ(read("{}").theta, 10000);
  EXPECT_EQ(read(R"({"rope_theta": 5e5})").theta, 5e5);
  EXPECT_EQ(read(R"({"rope_theta": 5e5, "rope_parameters": {"rope_theta": 7e5}})").theta, 7e5);
  EXPECT_EQ(read(R"({"rope_theta": 5e5, "rope_scaling": {"type": "linear", "factor": 4}})").theta,
            5e5);
  const RopeConfig both = read(R"({"rope_scaling": {"type": "linear", "factor": 4},
                                   "rope_parameters": {"rope_type": "default"}})");
  EXPECT_EQ(both.kind, RopeKind::Default);
  EXPECT_EQ(read(R"({"rope_scaling": {"type": "linear", "factor": 4}})").kind, RopeKind::Linear);
  EXPECT_EQ(read(R"({"partial_rotary_factor": 0.5})").width, 64);
  EXPECT_EQ(
      read(R"({"partial_rotary_factor": 0.5, "rope_parameters": {"partial_rotary_factor": 0.25}})")
          .width,
      32);
}

TEST(Rope, KindsHaveNames) {
  const std::pair<RopeKind, const char*> names[] = {
      {RopeKind::Default, "default"},   {RopeKind::Factors, "factors"},
      {RopeKind::Linear, "linear"},     {RopeKind::Llama3, "llama3"},
      {RopeKind::LongRope, "longrope"}, {RopeKind::Yarn, "yarn"}};
  for (const auto& [kind, name] : names) EXPECT_EQ(name_of(kind), name);
  EXPECT_EQ(read(R"({"rope_scaling": {"type": "mrope", "mrope_section": [8, 4, 4]}})").kind,
            RopeKind::Default);
}

// Of yarn: 0.1 * mscale * log(factor) + 1, as in transformers; zero counts as not given.
TEST(Rope, ScaleOfYarnBySettings) {
  const auto scale = [](const std::string& more, double factor = 8) {
    return read(fmt::format(R"({{"rope_scaling": {{"type": "yarn", "factor": {}{}}}}})", factor,
                            more)
                    .c_str())
        .scale;
  };
  const double plain = 0.1 * std::log(8.0) + 1;
  EXPECT_DOUBLE_EQ(scale(""), plain);
  EXPECT_DOUBLE_EQ(scale(R"(, "mscale": 2)"), plain);
  EXPECT_DOUBLE_EQ(scale(R"(, "mscale": 0, "mscale_all_dim": 1)"), plain);
  EXPECT_DOUBLE_EQ(scale(R"(, "mscale": 1, "mscale_all_dim": 0)"), plain);
  EXPECT_DOUBLE_EQ(scale(R"(, "mscale": 2, "mscale_all_dim": 1)"),
                   (0.2 * std::log(8.0) + 1) / plain);
  EXPECT_DOUBLE_EQ(scale(R"(, "attention_factor": 1.5)"), 1.5);
  EXPECT_DOUBLE_EQ(scale("", 0.5), 1);
}

TEST(Rope, DefaultAndLinear) {
  const auto plain = inverse_frequencies(read("{}", 8));
  ASSERT_EQ(plain.size(), 4u);
  for (std::size_t j = 0; j < 4; ++j)
    EXPECT_FLOAT_EQ(plain[j], static_cast<float>(std::pow(10000.0, -2.0 * j / 8)));
  const auto linear =
      inverse_frequencies(read(R"({"rope_scaling": {"type": "linear", "factor": 4}})", 8));
  for (std::size_t j = 0; j < 4; ++j) EXPECT_FLOAT_EQ(linear[j], plain[j] / 4);
}

// Expected values from transformers 5.22 (ROPE_INIT_FUNCTIONS), float32.
void expect_frequencies(const RopeConfig& rope, const std::vector<float>& expected, double scale) {
  const std::vector<float> found = inverse_frequencies(rope);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t j = 0; j < found.size(); ++j)
    EXPECT_NEAR(found[j], expected[j], 3e-7 * expected[j]) << j;
  EXPECT_DOUBLE_EQ(rope.scale, scale);
}

TEST(Rope, Llama3) {
  const RopeConfig rope = read(R"({"rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5,
      "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
      "original_max_position_embeddings": 8192}})",
                               64, 131072);
  expect_frequencies(rope,
                     {1.0f,
                      0.663601279f,
                      0.440366626f,
                      0.292227834f,
                      0.193922758f,
                      0.128687382f,
                      0.0853971019f,
                      0.0566696189f,
                      0.0376060307f,
                      0.0249554086f,
                      0.0165604409f,
                      0.0109895291f,
                      0.00729266508f,
                      0.00483942125f,
                      0.00321144611f,
                      0.00137189368f,
                      0.000524846022f,
                      0.000178507791f,
                      7.78465546e-05f,
                      5.16590699e-05f,
                      3.42810235e-05f,
                      2.2748929e-05f,
                      1.50962178e-05f,
                      1.00178686e-05f,
                      6.64786967e-06f,
                      4.41153452e-06f,
                      2.92749974e-06f,
                      1.94269251e-06f,
                      1.28917316e-06f,
                      8.55496921e-07f,
                      5.6770881e-07f,
                      3.7673226e-07f},
                     1.0);
}

TEST(Rope, Yarn) {
  const RopeConfig rope =
      read(R"({"rope_theta": 1e6, "rope_scaling": {"type": "yarn", "factor": 4.0,
      "original_max_position_embeddings": 32768}})",
           64, 131072);
  expect_frequencies(rope,
                     {1.0f,
                      0.649381638f,
                      0.421696514f,
                      0.273841977f,
                      0.177827939f,
                      0.115478203f,
                      0.0749894157f,
                      0.0486967526f,
                      0.0316227786f,
                      0.0205352511f,
                      0.0133352149f,
                      0.00865964312f,
                      0.00515479548f,
                      0.0030431177f,
                      0.00177853031f,
                      0.00102661771f,
                      0.000583333371f,
                      0.000324690831f,
                      0.000175706868f,
                      9.12806499e-05f,
                      4.44569851e-05f,
                      2.88695483e-05f,
                      1.87473561e-05f,
                      1.21741887e-05f,
                      7.90569356e-06f,
                      5.13381246e-06f,
                      3.33380353e-06f,
                      2.16491094e-06f,
                      1.40585337e-06f,
                      9.1293532e-07f,
                      5.92843435e-07f,
                      3.84981632e-07f},
                     1.138629436111989);
}

TEST(Rope, YarnWithEverySetting) {
  const RopeConfig rope = read(R"({"rope_parameters": {"rope_type": "yarn", "factor": 40.0,
      "original_max_position_embeddings": 4096, "beta_fast": 16, "beta_slow": 2, "mscale": 0.7,
      "mscale_all_dim": 1.0, "truncate": false}})",
                               64, 131072);
  expect_frequencies(rope,
                     {1.0f,
                      0.749894202f,
                      0.562341332f,
                      0.421696514f,
                      0.316227764f,
                      0.237137362f,
                      0.177827939f,
                      0.133352146f,
                      0.100000001f,
                      0.0749894157f,
                      0.0562341288f,
                      0.0421696492f,
                      0.0316227786f,
                      0.0233312435f,
                      0.0150961196f,
                      0.00952086132f,
                      0.00579010462f,
                      0.00332995923f,
                      0.00173821871f,
                      0.000734386675f,
                      0.000123952457f,
                      5.92843462e-05f,
                      4.44569851e-05f,
                      3.3338034e-05f,
                      2.49999994e-05f,
                      1.87473543e-05f,
                      1.40585325e-05f,
                      1.05424124e-05f,
                      7.90569447e-06f,
                      5.92843435e-06f,
                      4.44569832e-06f,
                      3.33380353e-06f},
                     0.9191559952044436);
}

constexpr const char* kFactors = R"("short_factor": [1.0, 1.25, 2, 3.5],
                                    "long_factor": [1.5, 4.0, 17.25, 60])";

RopeConfig read_longrope(const std::string& inside, const std::string& outside, int max_positions,
                         const RopeDefaults& defaults = {}) {
  const Json json =
      parse_json("{\"rope_scaling\": {" + inside + ", " + kFactors + "}, " + outside + "}", "test");
  return read_rope(JsonFields(json, "config.json"), 8, max_positions, defaults);
}

// The long factors as soon as a sequence may outgrow the original context, the short ones where it
// cannot, whatever its length.
TEST(Rope, LongRopeFollowsTheLongestContext) {
  const std::string type = R"("rope_type": "longrope")",
                    original = R"("original_max_position_embeddings": 4096)";
  expect_frequencies(read_longrope(type, original, 131072),
                     {0.666666687f, 0.0250000004f, 0.000579710118f, 1.66666671e-05f},
                     1.1902380714238083);
  expect_frequencies(read_longrope(type, original, 4096),
                     {1.0f, 0.0799999982f, 0.00499999989f, 0.000285714283f}, 1.0);
  EXPECT_EQ(read_longrope(type + R"(, "attention_factor": 1.5)", original, 131072).scale, 1.5);
  EXPECT_DOUBLE_EQ(read_longrope(type + R"(, "factor": 4)", original, 131072).scale,
                   std::sqrt(1 + std::log(4.0) / std::log(4096.0)));
  // Inside rope_scaling alone.
  EXPECT_EQ(read_longrope(type + ", " + original, R"("rope_theta": 10000)", 8192).dividers[3], 60);
}

TEST(Rope, OldNamesOfLongRope) {
  const RopeDefaults phi{.original_positions = 4096, .old_longrope_names = true};
  for (const char* name : {"su", "yarn", "longrope"}) {
    const RopeConfig rope = read_longrope(std::string(R"("type": ")") + name + "\"",
                                          R"("rope_theta": 10000)", 8192, phi);
    EXPECT_EQ(rope.kind, RopeKind::LongRope) << name;
    EXPECT_EQ(name_of(rope.kind), "longrope");
    EXPECT_EQ(rope.original_positions, 4096) << name;
    EXPECT_EQ(rope.dividers[0], 1.5) << name;
  }
  EXPECT_THROW(read_longrope(R"("type": "su")", R"("rope_theta": 10000)", 8192), Error);
}

TEST(Rope, YarnScaleAndContext) {
  const RopeConfig given = read(R"({"rope_scaling": {"rope_type": "yarn", "factor": 2,
      "attention_factor": 1.5}, "original_max_position_embeddings": 100})");
  EXPECT_EQ(given.scale, 1.5);
  EXPECT_EQ(given.original_positions, 100);
  const RopeConfig implied = read(R"({"rope_scaling": {"rope_type": "yarn",
      "original_max_position_embeddings": 8192}})");
  EXPECT_EQ(implied.factor, 4);  // max_position_embeddings over the original
}

}  // namespace
}  // namespace counterbeam
