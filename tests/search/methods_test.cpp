// The table of methods and the strings that name a method with its settings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "search/method_strings.h"
#include "support/temporary_folder.h"

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
    text = "a";  // a blank context is refused
    for (int i = static_cast<int>(random() % 12); i > 0; --i)
      text += kLetters[random() % kLetters.size()];
    for (const char c : text) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    quoted += "\"";
    const auto parsed = parse_methods("cbs:positive=" + quoted + ":negative=other,beam");
    ASSERT_EQ(parsed.size(), 2u);
    EXPECT_EQ(parsed[0].settings.positive, text);
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
    EXPECT_THAT(error_of([&given = text] { parse_method(given); }), HasSubstr(message)) << text;
  EXPECT_THAT(error_of([] { parse_methods("beam,beam"); }), HasSubstr("beam is given twice"));
  EXPECT_THAT(error_of([] { parse_methods("beam,"); }), HasSubstr("method \"\" is not known"));
}

TEST(Methods, AFileHasOneMethodPerLine) {
  const testing::TemporaryFolder folder;
  const auto file = folder.write("methods.txt",
                                 "# the plain ones\n\n  beam \r\nsample:temperature=0.5\n"
                                 "cbs:positive=\"a,b:c # d\":negative=\"d\"");
  const auto methods = parse_methods("@" + file.string());
  ASSERT_EQ(methods.size(), 3u);
  EXPECT_EQ(methods[0].text, "beam");
  EXPECT_EQ(methods[1].settings.temperature, 0.5);
  EXPECT_EQ(methods[2].settings.positive, "a,b:c # d");
}

TEST(Methods, AJsonFileHasStringsAndObjects) {
  const testing::TemporaryFolder folder;
  const Settings given = parse_method("cbs:steer=0.7:contexts=detail:joiner=\": \\\"\"");
  const Json array = {"beam", {{"method", "cbs"}, {"steer", 0.7}, {"beams", 4}}, to_json(given)};
  const auto methods = parse_methods("@" + folder.write("methods.json", array.dump(2)).string());
  ASSERT_EQ(methods.size(), 3u);
  EXPECT_EQ(methods[1].text, "cbs:steer=0.7:beams=4");
  // Resolved settings, as run.json and traces show them, are methods again.
  EXPECT_EQ(to_json(methods[2].settings), to_json(given));
}

TEST(Methods, ResolvedSettingsOfEveryMethodAreMethodsAgain) {
  const testing::TemporaryFolder folder;
  for (const Method& method : methods()) {
    const Settings settings = parse_method(method.name);
    const auto again = parse_methods(
        "@" + folder.write("methods.json", Json::array({to_json(settings)}).dump()).string());
    EXPECT_EQ(to_json(again[0].settings), to_json(settings)) << method.name;
  }
}

TEST(Methods, BadFilesNameTheirPlace) {
  const testing::TemporaryFolder folder;
  const std::pair<const char*, const char*> cases[] = {
      {"beam\n\ncbs:stear=1\n", "methods.txt: line 3: cbs has no setting \"stear\""},
      {"beam\nbeam\n", "methods.txt: line 2: beam is given twice"},
      {"beam,cbs\n", "methods.txt: line 1: method \"beam,cbs\" is not known"},
      {"# nothing\n", "methods.txt: holds no method"},
      {"[]", "methods.txt: holds no method"},
      {"{\"method\": \"cbs\"}", "methods.txt: is one JSON object; give an array"},
      {"[1]", "methods.txt: method 1: is 1; give a string or an object"},
      {"[{\"steer\": 1}]", "methods.txt: method 1: \"method\" is missing"},
      {"[\"beam\", {\"method\": \"cbs\", \"steer\": null}]",
       "methods.txt: method 2: \"steer\" is null; give a string, a number"},
      {"[\"beam\", {\"method\": \"cbs\", \"beams\": 2.5}]",
       "methods.txt: method 2: cbs:beams: \"2.5\" is not a whole number"},
      {"[\"beam\"", "methods.txt"},
  };
  for (const auto& [content, message] : cases) {
    const auto file = folder.write("methods.txt", content);
    EXPECT_THAT(error_of([&] { parse_methods("@" + file.string()); }), HasSubstr(message));
  }
  EXPECT_THAT(error_of([] { parse_methods("@no-such-file"); }), HasSubstr("no-such-file"));
  const auto large = folder.write("methods.txt", "cbs\n");
  std::filesystem::resize_file(large, 1 << 30);
  EXPECT_THAT(error_of([&] { parse_methods("@" + large.string()); }),
              HasSubstr("methods.txt: is 1073741824 bytes long; at most 1048576 are read"));
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
