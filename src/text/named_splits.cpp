#include "text/named_splits.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "text/piece_scanner.h"

namespace counterbeam {
namespace {

constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kMiniCpm5 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kSeedCoder =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kViking = " ?[^(\\s|.,!?…。，、।۔،)]+";
constexpr std::string_view kThreeDigits = R"(\p{N}{1,3})";
constexpr std::string_view kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDeepseekV3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kHan = "[一-龥ࠀ-一가-퟿]+";
constexpr std::string_view kHanAndKana = "[一-龥぀-ゟ゠-ヿ]+";
constexpr std::string_view kLineEnd = "[\r\n]";
constexpr std::string_view kDeepseekWords =
    R"(\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+)";
constexpr std::string_view kDeepseekSigns = R"(\s?[!-/:-~！-／：-～‘-‟　-。]+)";
// Not a pattern: every digit is a piece.
constexpr std::string_view kDigits = "digits";

struct NamedSplit {
  std::string_view name;
  std::array<std::string_view, 6> steps;  // one after the other, up to the first empty one
  SplitFacts facts{};
};

// What the tokenizer.json of the model that a name stands for does. Names that share the pattern of
// another one in llama.cpp's table (falcon3, kormo, mellum, ...) share it here too.
constexpr NamedSplit kNamedSplits[] = {
    {"qwen2", {kQwen2}, {.nfc = true}},
    {"deepseek-r1-qwen", {kQwen2}, {.nfc = true}},
    {"kormo", {kQwen2}},
    {"f2llmv2", {kQwen2}},
    {"megrez", {kQwen2}},
    {"stablelm2", {kQwen2}},
    {"hunyuan", {kQwen2}},
    {"solar-open", {kQwen2}},
    {"grok-2", {kQwen2}},
    {"qwen35", {kQwen35}, {.nfc = true}},
    {"llama-bpe", {kLlama3}, {.ignore_merges = true, .add_bos = true}},
    {"llama3", {kLlama3}, {.ignore_merges = true, .add_bos = true}},
    {"llama-v3", {kLlama3}, {.ignore_merges = true, .add_bos = true}},
    {"falcon3", {kLlama3}, {.ignore_merges = true, .add_bos = true}},
    {"falcon-h1", {kLlama3}, {.ignore_merges = true, .add_bos = true}},
    {"pixtral", {kLlama3}, {.ignore_merges = true, .add_bos = true}},
    {"midm-2.0", {kLlama3}, {.ignore_merges = true, .add_bos = true}},
    {"lfm2", {kLlama3}, {.ignore_merges = true, .add_bos = true}},
    {"smaug-bpe", {kLlama3}},
    {"dbrx", {kLlama3}},
    {"glm4", {kLlama3}},
    {"chatglm-bpe", {kLlama3}},
    {"tekken", {kTekken}, {.ignore_merges = true, .add_bos = true}},
    {"gpt-4o", {kGpt4o}},
    {"llama4", {kGpt4o}, {.ignore_merges = true}},
    {"kanana2", {kGpt4o}},
    {"talkie", {kGpt4o}},
    {"minimax-m2", {kGpt4o}},
    {"gpt-2", {kGpt2Pattern}},
    {"phi-2", {kGpt2Pattern}},
    {"gigachat", {kGpt2Pattern}},
    {"a.x-4.0", {kGpt2Pattern}},
    {"mellum", {kGpt2Pattern}},
    {"exaone4", {kGpt2Pattern}},
    {"mpt", {kGpt2Pattern}},
    {"olmo", {kGpt2Pattern}},
    {"jais", {kGpt2Pattern}},
    {"trillion", {kGpt2Pattern}},
    {"granite-docling", {kGpt2Pattern}},
    {"smollm", {kDigits, kGpt2Pattern}},
    {"starcoder", {kDigits, kGpt2Pattern}},
    {"refact", {kDigits, kGpt2Pattern}},
    {"codeshell", {kDigits, kGpt2Pattern}},
    {"exaone", {kDigits, kGpt2Pattern}},
    {"minerva-7b", {kDigits, kGpt2Pattern}},
    {"mellum2", {kDigits, kGpt2Pattern}},
    {"command-r", {kDigits, kGpt2Pattern}, {.nfc = true}},
    {"minicpm5", {kThreeDigits, kMiniCpm5}, {.ignore_merges = true}},
    {"seed-coder", {kSeedCoder}},
    {"viking", {kViking, kDigits}},
    {"deepseek-llm", {kLineEnd, kDeepseekWords, kDeepseekSigns, R"(\s+$)", kHan, kDigits}},
    {"deepseek-coder", {kLineEnd, R"(\s?\p{L}+)", R"(\s?\p{P}+)", kHan, kDigits}},
    {"deepseek-v3", {kThreeDigits, kHanAndKana, kDeepseekV3}},
    {"hunyuan-dense", {kThreeDigits, kHanAndKana, kDeepseekV3}},
    {"joyai-llm", {kThreeDigits, kHanAndKana, kDeepseekV3}},
};

}  // namespace

std::string known_splits() {
  std::string names;
  for (const NamedSplit& split : kNamedSplits)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", split.name);
  return names;
}

std::optional<SplitFacts> add_named_split(std::string_view name, PreTokenizer& steps) {
  const auto found = std::find_if(std::begin(kNamedSplits), std::end(kNamedSplits),
                                  [&](const NamedSplit& split) { return split.name == name; });
  if (found == std::end(kNamedSplits)) return std::nullopt;
  for (const std::string_view step : found->steps) {
    if (step.empty()) break;
    SplitPattern pattern =
        step == kDigits ? SplitPattern(CharKind::Numeric) : SplitPattern(std::string(step));
    steps.add(PreTokenizer::Split{std::move(pattern), SplitBehavior::Isolated, false});
  }
  steps.add(PreTokenizer::ByteChars{});
  return found->facts;
}

}  // namespace counterbeam
