#include "grade/text_answer.h"

#include <cctype>
#include <vector>

#include "base/trim.h"
#include "grade/lexer.h"
#include "grade/words.h"

namespace counterbeam::grade {
namespace {

constexpr std::string_view kTextCommands[] = {
    "textbf", "textit",       "textrm", "textnormal", "text", "mathrm", "mbox",
    "mathbf", "operatorname", "textsf", "texttt",     "left", "right",  "quad",
    "qquad",  "displaystyle", "mathit", "emph",       "hbox"};

// The length of a styling command at `i`, 0 if there is none.
std::size_t styling(std::string_view s, std::size_t i) {
  if (s[i] != '\\') return 0;
  std::size_t end = i + 1;
  while (end < s.size() && is_letter(s[end])) ++end;
  const std::string_view name = s.substr(i + 1, end - i - 1);
  for (const std::string_view known : kTextCommands)
    if (name == known) return end - i;
  return 0;
}

}  // namespace

namespace {

// Whether some braces are arguments: after a power, an index or a command that is not just styling.
bool groups(std::string_view answer) {
  for (std::size_t i = 0; i < answer.size(); ++i) {
    if (answer[i] == '^' || answer[i] == '_') return true;
    if (answer[i] != '\\') continue;
    const std::size_t n = styling(answer, i);
    if (n == 0 && i + 1 < answer.size() && is_letter(answer[i + 1])) return true;
    i += n > 0 ? n - 1 : 1;
  }
  return false;
}

// Removes surrounding white space and a final full stop.
std::string_view without_full_stop(std::string_view text) {
  text = trim(text, {}, kAsciiSpace);
  if (text.ends_with('.') && !text.ends_with("..")) text.remove_suffix(1);
  return trim(text, kLineSpace, kAsciiSpace);
}

}  // namespace

std::string bare_text(std::string_view answer) {
  const bool keeps_braces = groups(answer);
  std::vector<bool> kept;  // for each open brace
  bool styled = false;     // the next brace belongs to a styling command
  std::string out;
  for (std::size_t i = 0; i < answer.size();) {
    if (const std::size_t n = styling(answer, i)) {
      i += n;
      styled = true;
      continue;
    }
    const char c = answer[i];
    if (c == '\\' && i + 1 < answer.size() && !is_letter(answer[i + 1])) {
      out += std::string_view("$%{}").find(answer[i + 1]) != std::string_view::npos ? answer[i + 1]
                                                                                    : ' ';
      i += 2;
      continue;
    }
    if (c == '{') {
      kept.push_back(keeps_braces && !styled);
      if (kept.back()) out += c;
    } else if (c == '}') {
      if (!kept.empty() && kept.back()) out += c;
      if (!kept.empty()) kept.pop_back();
    } else if (c != '$' && c != '"' && c != '`') {
      out += c == '~' || c == '\n' ? ' ' : c;
    }
    styled = styled && c == ' ';
    ++i;
  }
  return std::string(without_full_stop(out));
}

std::string folded_text(std::string_view answer) {
  const std::string bare = bare_text(answer);
  std::string out, word;
  const auto close = [&] {
    // Words are concatenated; numbers stay separate.
    if (!out.empty() && !word.empty() && is_digit(out.back()) && is_digit(word[0])) out += ' ';
    if (word != "a" && word != "A" && word != "an" && word != "the") out += word;
    word.clear();
  };
  const auto letter = [&](std::size_t i) { return i < bare.size() && is_letter(bare[i]); };
  for (std::size_t i = 0; i < bare.size(); ++i) {
    const char c = bare[i];
    // A single letter may be a variable and keeps its case, unless it is the whole answer.
    const bool lone = !letter(i + 1) && (i == 0 || !letter(i - 1)) && bare.size() > 3;
    const bool point = c == '.' && i + 1 < bare.size() && is_digit(bare[i + 1]);
    if (c == ' ' || c == '\t' || c == '\r') {
      close();
    } else if (point || (c != '\'' && c != '.')) {
      word += lone ? c : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  if (out.empty())
    out = word;  // an answer that is just "a" is not an article
  else
    close();
  return out;
}

bool is_wordy(std::string_view answer) {
  for (const std::string_view command : {"\\text", "\\mathrm", "\\mbox", "\\operatorname"})
    if (answer.find(command) != std::string_view::npos) return true;
  for (const Token& token : tokenize(answer, Commas::List))
    if (token.kind == TokenKind::Word) return true;
  int run = 0;
  for (std::size_t i = 0; i < answer.size(); ++i) {
    if (answer[i] == '\\')
      while (i + 1 < answer.size() && is_letter(answer[i + 1])) ++i;
    else
      run = is_letter(answer[i]) ? run + 1 : 0;
    if (run >= 3 && answer.find_first_of("0123456789+-*/^=<>()") == std::string_view::npos)
      return true;
  }
  return false;
}

}  // namespace counterbeam::grade
