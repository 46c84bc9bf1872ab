// The table of methods and the strings that name a method with its settings.
#include "search/methods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/error.h"
#include "base/json.h"

namespace counterbeam {
namespace {

using ::testing::HasSubstr;

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::BadInput);
    return error.what();
  }
  return "accepted";
}

TEST(Methods, EveryRowIsComplete) {
  std::set<std::string_view> names, used;
  for (const Method& method : methods()) {
    EXPECT_TRUE(names.insert(method.name).second) << method.name;
    EXPECT_FALSE(method.help.empty()) << method.name;
    EXPECT_TRUE(method.run) << method.name;
    const Settings settings = default_settings(method);
    EXPECT_NO_THROW(validate(settings)) << method.name;
    const Json json = to_json(settings);
    EXPECT_EQ(json.size(), method.settings.size() + 1) << method.name;
    for (const SettingUse& use : method.settings) {
      used.insert(use.setting->name);
      EXPECT_TRUE(json.contains(std::string(use.setting->name)));
      EXPECT_EQ(method.find(use.setting->name), use.setting);
    }
    EXPECT_EQ(parse_method(method.name).method, &method);
  }
  for (const Setting& setting : all_settings()) {
    EXPECT_TRUE(used.count(setting.name)) << setting.name << " is used by no method";
    EXPECT_FALSE(setting.help.empty()) << setting.name;
  }
}

TEST(Methods, ADefaultGivenAsTextChangesNothing) {
  for (const Method& method : methods())
    for (const SettingUse& use : method.settings) {
      Settings settings = default_settings(method);
      set_value(settings, *use.setting, value_text(settings, *use.setting), "test");
      EXPECT_EQ(to_json(settings), to_json(default_settings(method)))
          << method.name << " " << use.setting->name;
    }
}

TEST(Methods, QuotedValuesHoldAnything) {
  const Settings settings = parse_method(
      R"(cbs:positive="Excellent, step by step:":steer=0.7:negative="Wrong \"reasoning\" \\:")");
  EXPECT_EQ(settings.positive, "Excellent, step by step:");
  EXPECT_EQ(settings.negative, "Wrong \"reasoning\" \\:");
  EXPECT_EQ(settings.steer, 0.7);
  const auto several =
      parse_methods(R"(beam,cbs:positive="a,b:c":negative="d",sample:temperature=0.5)");
  ASSERT_EQ(several.size(), 3u);
  EXPECT_EQ(several[1].text, R"(cbs:positive="a,b:c":negative="d")");
  EXPECT_EQ(several[1].settings.positive, "a,b:c");
  EXPECT_EQ(several[2].settings.temperature, 0.5);
}

TEST(Methods, AnyTextSurvivesQuoting) {
  std::mt19937 random(1);
  constexpr std::string_view kLetters = "ab:,=\"\\ \n";
  for (int trial = 0; trial < 2000; ++trial) {
    std::string text, quoted = "\"";
    for (int i = static_cast<int>(random() % 12) + 1; i > 0; --i)
      text += kLetters[random() % kLetters.size()];
    for (const char c : text) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    quoted += "\"";
    const auto parsed = parse_methods("cbs:positive=" + quoted + ":negative=" + quoted + ",beam");
    ASSERT_EQ(parsed.size(), 2u);
    EXPECT_EQ(parsed[0].settings.positive, text);
    EXPECT_EQ(parsed[0].settings.negative, text);
  }
}

TEST(Methods, BadStringsSayWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"cbs:steer=1:steer=2", "cbs:steer: given twice; give it once"},
      {"cbs:stear=1", "did you mean steer?"},
      {"cbss", "did you mean cbs?"},
      {"cbs:positive=\"a", "a quote is opened and not closed"},
      {"cbs:positive=\"a\"b:negative=c", "nothing may follow the closing quote"},
      {"cbs:min-p=1.5", "cbs:min-p: 1.5 is out of range; allowed: 0 to 1"},
      {"greedy:temperature=1", "greedy has no setting \"temperature\""},
      {"token-contrast:policy=x", "policy: \"x\" is not known; allowed: tilt, cfg, cad"},
  };
  for (const auto& [text, message] : cases)
    EXPECT_THAT(error_of([&] { parse_method(text); }), HasSubstr(message)) << text;
  EXPECT_THAT(error_of([] { parse_methods("beam,beam"); }), HasSubstr("beam is given twice"));
  EXPECT_THAT(error_of([] { parse_methods("beam,"); }), HasSubstr("method \"\" is not known"));
}

TEST(Methods, ContextsAreComputedOnlyWhereTheyCount) {
  EXPECT_TRUE(uses_contexts(parse_method("cbs")));
  EXPECT_FALSE(uses_contexts(parse_method("cbs:steer=0")));
  EXPECT_FALSE(uses_contexts(parse_method("cbs:contexts=none")));
  EXPECT_FALSE(uses_contexts(parse_method("best-of-n")));
  EXPECT_TRUE(uses_contexts(parse_method("best-of-n:steer=0.5")));
  EXPECT_TRUE(uses_contexts(parse_method("token-contrast:steer=0")));
  EXPECT_FALSE(uses_contexts(parse_method("beam")));
}

}  // namespace
}  // namespace counterbeam
