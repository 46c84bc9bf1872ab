// The small parts of the server, without sockets: names, keys, texts, thoughts, labels.
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "serve/api_error.h"
#include "serve/http.h"
#include "serve/keys.h"
#include "serve/live_text.h"
#include "serve/logprobs.h"
#include "serve/metrics.h"
#include "serve/model_names.h"
#include "serve/test_server.h"
#include "support/temporary_folder.h"

namespace counterbeam::serve::testing {
namespace {

int status_of(const std::function<void()>& work) {
  try {
    work();
    return 200;
  } catch (const ApiError& error) {
    return error.status;
  }
}

TEST(ModelNames, ResolvesPlainMethodsSettingsAndAliases) {
  const ModelNames names("org/model", {{"strong", "cbs:steer=0.7"}}, {});
  EXPECT_TRUE(names.at("org/model").plain);
  EXPECT_EQ(names.at("org/model").method.method().name, "sample");
  EXPECT_EQ(names.at("org/model@cbs").method.resolve().steer, 0.25);
  EXPECT_EQ(names.at("org/model@cbs:steer=0.7:beams=32").method.resolve().beams, 32);
  EXPECT_EQ(names.at("strong").method.resolve().steer, 0.7);
  EXPECT_EQ(names.at("org/model@strong").method.resolve().steer, 0.7);
  for (const char* unknown :
       {"", "model", "org/model@", "org/model@nosuch", "cbs", "org/modelx", "Strong", "org/model "})
    EXPECT_EQ(status_of([&] { names.at(unknown); }), 404) << unknown;
  EXPECT_EQ(status_of([&] { names.at("org/model@cbs:nosuch=1"); }), 400);
  EXPECT_EQ(status_of([&] { names.at("org/model@cbs:steer"); }), 400);
  EXPECT_THROW(ModelNames("a b", {}, {}), BadInput);
  EXPECT_THROW(ModelNames("m", {{"m@cbs", "cbs"}}, {}), BadInput);
  EXPECT_THROW(ModelNames("m", {{"x", "cbs"}, {"x", "beam"}}, {}), BadInput);
  EXPECT_THROW(ModelNames("m", {{"x", "nosuch"}}, {}), BadInput);
}

TEST(KeysList, FindsKeysInFilesAndHeaders) {
  const counterbeam::testing::TemporaryFolder folder;
  Keys keys;
  EXPECT_TRUE(keys.empty());
  keys.add_file(folder.write("keys", "# ours\n\n  first  \nsecond\n").string());
  EXPECT_EQ(keys.find("Bearer first"), 0u);
  EXPECT_EQ(keys.find("bearer  second "), 1u);
  for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer # ours", "first", "Bearer firs",
                            "Bearer first second", "Basic first"})
    EXPECT_EQ(keys.find(wrong), std::nullopt) << wrong;
  EXPECT_THROW(keys.add("", "--api-key"), BadInput);
  EXPECT_THROW(keys.add("a b", "--api-key"), BadInput);
  EXPECT_THROW(keys.add_file(folder.write("none", "# nothing\n").string()), BadInput);
  EXPECT_NO_THROW(keys.add(std::string(1024, 'k'), "--api-key"));
  for (const std::string& wrong : {std::string(1025, 'k'), std::string(9, '\0'),
                                   std::string("k\x7f"), std::string("schl\u00fcssel")})
    EXPECT_THROW(keys.add(wrong, "--api-key"), BadInput);
  const auto zeros = folder.write("zeros", "key\n");
  std::filesystem::resize_file(zeros, 1000);
  EXPECT_THROW(Keys().add_file(zeros.string()), BadInput);
  std::filesystem::resize_file(zeros, 1 << 30);
  EXPECT_THROW(Keys().add_file(zeros.string()), BadInput);
}

TEST(Percent, DecodesPathsAndRefusesBrokenOnes) {
  bool valid = false;
  EXPECT_EQ(percent_decoded("/a%40b%2Fc", valid), "/a@b/c");
  EXPECT_TRUE(valid);
  for (const char* broken : {"%", "%4", "%zz", "/%00", "a%4"}) {
    percent_decoded(broken, valid);
    EXPECT_FALSE(valid) << broken;
  }
}

TEST(LiveTextTest, GrowsToTheTextOfTheAnswer) {
  const Tokenizer& tokenizer = tiny_model().tokenizer();
  const std::string text = "It is \u20ac12 \U0001F600 + 3 STOPPED";
  const std::vector<TokenId> tokens = tokenizer.encode(text);
  for (const std::vector<std::string>& texts :
       {std::vector<std::string>{}, {"STOP"}, {"\u20ac", "+ 3"}, {"nothing"}}) {
    const Stops stops(tokenizer, {}, texts);
    LiveText live(tokenizer, stops);
    std::string before;
    std::vector<TokenId> taken;
    for (const TokenId token : tokens) {
      if (!live.push(token)) break;
      taken.push_back(token);
      const std::string settled = live.settled();
      EXPECT_TRUE(settled.starts_with(before));
      EXPECT_TRUE(is_valid_utf8(settled));
      EXPECT_TRUE(stops.text(tokens).starts_with(settled)) << settled;
      before = settled;
    }
    EXPECT_EQ(stops.text(taken), stops.text(tokens)) << "nothing of the answer is missed";
  }
}

TEST(ThoughtsTest, AreToldApartInEveryCut) {
  struct Case {
    std::string text;
    bool open;
    std::string reasoning, content;
  };
  const Case cases[] = {
      {"<think>\nSo 2.\n</think>\n\nIt is 2.", false, "So 2.", "It is 2."},
      {"So 2. </think>It is 2.", true, "So 2.", "It is 2."},
      {"It is < 2 <think> no", false, "", "It is < 2 <think> no"},
      {"<think>never closed </thin", false, "never closed </thin", ""},
      {" <think></think> a", false, "", "a"},
      {"", false, "", ""},
      {"<thi", false, "", "<thi"},
  };
  for (const Case& one : cases) {
    const Thoughts whole = split_thoughts(one.text, one.open, true);
    EXPECT_EQ(whole.reasoning, one.reasoning) << one.text;
    EXPECT_EQ(whole.content, one.content) << one.text;
    Thoughts before;
    for (std::size_t n = 0; n <= one.text.size(); ++n) {
      const Thoughts now = split_thoughts(one.text.substr(0, n), one.open, false);
      EXPECT_TRUE(now.reasoning.starts_with(before.reasoning)) << one.text << n;
      EXPECT_TRUE(now.content.starts_with(before.content)) << one.text << n;
      before = now;
    }
    EXPECT_TRUE(whole.reasoning.starts_with(before.reasoning));
    EXPECT_TRUE(whole.content.starts_with(before.content));
  }
}

TEST(Labels, OfTokensThatAreNoText) {
  const Tokenizer& tokenizer = tiny_model().tokenizer();
  std::size_t bytes = 0;
  for (TokenId id = 0; id < tokenizer.id_limit(); ++id) {
    const std::string label = token_label(tokenizer, id);
    EXPECT_TRUE(is_valid_utf8(label));
    bytes += label.starts_with("bytes:\\x");
  }
  EXPECT_GT(bytes, 0u) << "a byte-level vocabulary has bytes above 127";
  const std::vector<TokenId> euro = tokenizer.encode("\u20ac");
  std::string joined;
  for (const TokenId id : euro) joined += tokenizer.token_bytes(id);
  EXPECT_EQ(joined, "\u20ac");
}

TEST(MetricsText, HasTheNamesOfOtherServers) {
  Metrics metrics;
  metrics.started(0.02);
  metrics.done({.method = "cbs", .prompt_tokens = 5, .completion_tokens = 7, .seconds = 0.3});
  metrics.request(200);
  const std::string text = metrics.text("m\"x", {}, {}, 0, {});
  for (const char* name : {"vllm:num_requests_running",
                           "vllm:num_requests_waiting",
                           "vllm:kv_cache_usage_perc",
                           "vllm:prefix_cache_queries_total",
                           "vllm:prefix_cache_hits_total",
                           "vllm:prompt_tokens_total",
                           "vllm:generation_tokens_total",
                           "vllm:request_success_total",
                           "vllm:num_preemptions_total",
                           "vllm:time_to_first_token_seconds_bucket",
                           "vllm:inter_token_latency_seconds_count",
                           "vllm:e2e_request_latency_seconds_sum",
                           "llamacpp:prompt_tokens_total",
                           "llamacpp:prompt_seconds_total",
                           "llamacpp:tokens_predicted_total",
                           "llamacpp:tokens_predicted_seconds_total",
                           "llamacpp:prompt_tokens_seconds",
                           "llamacpp:predicted_tokens_seconds",
                           "llamacpp:requests_processing",
                           "llamacpp:requests_deferred",
                           "llamacpp:n_decode_total",
                           "llamacpp:n_busy_slots_per_decode",
                           "llamacpp:n_tokens_max",
                           "counterbeam:blocks_total",
                           "counterbeam:beams_kept_total",
                           "counterbeam:agreed_prefix_share",
                           "counterbeam:queue_wait_seconds_bucket"})
    EXPECT_NE(text.find(std::string("\n") + name + "{model_name=\"m\\\"x\""), std::string::npos)
        << name;
  EXPECT_NE(
      text.find("counterbeam:queue_wait_seconds_bucket{model_name=\"m\\\"x\",le=\"0.025\"} 1"),
      std::string::npos);
}

}  // namespace
}  // namespace counterbeam::serve::testing
