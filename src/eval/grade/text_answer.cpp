#include "eval/grade/text_answer.h"

#include <cctype>

#include "eval/grade/lexer.h"

namespace counterbeam::grade {
namespace {

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

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

std::string bare_text(std::string_view answer) {
  std::string out;
  for (std::size_t i = 0; i < answer.size();) {
    if (const std::size_t n = styling(answer, i)) {
      i += n;
      continue;
    }
    const char c = answer[i];
    if (c == '\\' && i + 1 < answer.size() && !is_letter(answer[i + 1])) {
      if (std::string_view("$%{}").find(answer[i + 1]) != std::string_view::npos)
        out += answer[i + 1];
      else
        out += ' ';
      i += 2;
      continue;
    }
    if (c != '$' && c != '{' && c != '}' && c != '"' && c != '`')
      out += c == '~' || c == '\n' ? ' ' : c;
    ++i;
  }
  const std::size_t first = out.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  const std::size_t last = out.find_last_not_of(" \t\r.");
  return last == std::string::npos || last < first ? out.substr(first)
                                                   : out.substr(first, last - first + 1);
}

std::string folded_text(std::string_view answer) {
  const std::string bare = bare_text(answer);
  std::string out, word;
  const auto close = [&] {
    if (word != "a" && word != "A" && word != "an" && word != "the") out += word;
    word.clear();
  };
  const auto letter = [&](std::size_t i) { return i < bare.size() && is_letter(bare[i]); };
  for (std::size_t i = 0; i < bare.size(); ++i) {
    const char c = bare[i];
    // A letter on its own may be a variable and keeps its case, unless it is all there is.
    const bool lone = !letter(i + 1) && (i == 0 || !letter(i - 1)) && bare.size() > 3;
    if (c == ' ' || c == '\t' || c == '\r') {
      close();
    } else if (c != '\'' && c != '.') {
      word += lone ? c : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  if (out.empty())
    out = word;  // a lone "a" is an answer
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
