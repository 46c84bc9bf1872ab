// The letter of a multiple-choice answer. Only single upper-case letters count (in a box or round
// brackets also lower-case ones), so that "Answer: Because" is not B and "This is a result" is not
// A.
#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <vector>

#include "grade/extract.h"
#include "grade/extract_spans.h"
#include "grade/words.h"

namespace counterbeam {
namespace {

using grade::any_of;
using grade::lower_case;

constexpr char kFirst = 'A', kLast = 'J';

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '\'';
}

bool is_choice(char c) {
  return c >= kFirst && c <= kLast;
}

struct Letter {
  char letter;
  std::size_t at;
};

// The lower-case word that starts at `at`; empty if there is none.
std::string_view word_at(std::string_view s, std::size_t at) {
  std::size_t end = std::min(at, s.size());
  const std::size_t start = end;
  while (end < s.size() && std::islower(static_cast<unsigned char>(s[end]))) ++end;
  return s.substr(start, end - start);
}

// A single capital letter. "A" and "I" before a lower-case word are words, as in "A dog", unless
// that word can only follow a letter: "A because".
bool stands_alone(std::string_view s, std::size_t i) {
  if (!is_choice(s[i])) return false;
  if (i > 0 && (is_word(s[i - 1]) || s[i - 1] == '\\' || s[i - 1] == '^')) return false;
  if (i + 1 < s.size() && (is_word(s[i + 1]) || s[i + 1] == '^')) return false;
  if ((s[i] != 'A' && s[i] != 'I') || i + 1 >= s.size() || s[i + 1] != ' ') return true;
  const std::string_view next = word_at(s, i + 2);
  return next.empty() ||
         (s[i] == 'A' && any_of(next, {"and", "or", "is", "because", "since", "as", "but", "was",
                                       "by", "due", "in", "which", "would", "must", "based"}));
}

// "B is wrong", "(B) cannot be": the words after the letter reject it.
bool is_rejected(std::string_view s, std::size_t letter) {
  std::size_t at = letter + 1;
  while (at < s.size() && std::string_view(")*}$ ").find(s[at]) != std::string_view::npos) ++at;
  std::string_view word = word_at(s, at);
  if (any_of(word, {"cannot", "fails", "fail"}) || s.substr(at).starts_with("can't") ||
      s.substr(at).starts_with("isn't"))
    return true;
  if (!any_of(word, {"is", "are", "was", "looks", "seems"})) return false;
  word = word_at(s, at + word.size() + 1);
  return any_of(word, {"wrong", "incorrect", "not", "false", "impossible", "out", "eliminated"});
}

// "A and B", "A or B", "A, B": not a single letter.
bool is_one_of_many(std::string_view s, std::size_t letter) {
  const std::string_view rest = s.substr(letter + 1);
  for (const std::string_view joint : {" and ", " or ", ", ", "/", " & "})
    if (rest.starts_with(joint) && rest.size() > joint.size() && rest[joint.size()] != s[letter] &&
        stands_alone(s, letter + 1 + joint.size()))
      return true;
  return false;
}

std::optional<Letter> first_letter(std::string_view s) {
  for (std::size_t i = 0; i < s.size(); ++i)
    if (stands_alone(s, i)) return Letter{s[i], i};
  return std::nullopt;
}

// The letter of a box or tag, which holds only the letter or the letter followed by the option's
// text.
std::optional<char> letter_of(std::string_view content) {
  std::string plain;
  for (std::size_t i = 0; i < content.size(); ++i) {
    if (content[i] == '\\') {
      while (i + 1 < content.size() && std::isalpha(static_cast<unsigned char>(content[i + 1])))
        ++i;
      plain += ' ';
    } else if (std::string_view("{}()[]*$.:,\"'~\n\t").find(content[i]) != std::string_view::npos) {
      plain += ' ';
    } else {
      plain += content[i];
    }
  }
  const std::size_t first = plain.find_first_not_of(' ');
  if (first == std::string::npos) return std::nullopt;
  const std::size_t end = std::min(plain.find(' ', first), plain.size());
  if (end - first == 1) {
    const char c = static_cast<char>(std::toupper(static_cast<unsigned char>(plain[first])));
    const bool alone = plain.find_first_not_of(' ', end) == std::string::npos;
    if (is_choice(c) && (alone || plain[first] == c)) return c;
  }
  const auto letter = first_letter(plain);
  return letter ? std::optional(letter->letter) : std::nullopt;
}

// The first letter in the sentence that follows the phrase.
std::optional<char> after(std::string_view text, std::size_t at) {
  std::string_view rest = text.substr(at, 120);
  const std::size_t start = rest.find_first_not_of(" \t\r\n:*$\\\"'");
  if (start == rest.npos) return std::nullopt;
  rest = rest.substr(start);
  if (rest.starts_with("not ")) return std::nullopt;
  if (rest.size() >= 3 && rest[0] == '(' && rest[2] == ')') {
    const char c = static_cast<char>(std::toupper(static_cast<unsigned char>(rest[1])));
    if (is_choice(c)) return c;
  }
  std::size_t stop = rest.size();
  for (std::size_t i = 1; i + 1 < rest.size() && stop == rest.size(); ++i)
    if (rest[i] == '\n' || (rest[i] == '.' && rest[i + 1] == ' ')) stop = i;
  const auto letter = first_letter(rest.substr(0, std::max<std::size_t>(stop, 1)));
  if (!letter || is_rejected(rest, letter->at) || is_one_of_many(rest, letter->at))
    return std::nullopt;
  return letter->letter;
}

// The letter after the last phrase that is followed by one.
std::optional<char> last_stated(std::string_view text, const std::string& lower,
                                std::initializer_list<std::string_view> phrases) {
  std::optional<Letter> best;
  for (const std::string_view phrase : phrases)
    for (std::size_t at = 0; (at = lower.find(phrase, at)) != std::string::npos;
         at += phrase.size()) {
      if (at > 0 && std::isalpha(static_cast<unsigned char>(lower[at - 1]))) continue;
      const auto letter = after(text, at + phrase.size());
      if (letter && (!best || at >= best->at)) best = Letter{*letter, at};
    }
  return best ? std::optional(best->letter) : std::nullopt;
}

// The last letter that is confirmed: "so D is correct", "(D) is the answer".
std::optional<char> called_right(std::string_view text) {
  std::optional<char> found;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!stands_alone(text, i)) continue;
    std::size_t at = i + 1;
    while (at < text.size() && std::string_view(")*}$").find(text[at]) != std::string_view::npos)
      ++at;
    const std::string_view rest = text.substr(at);
    for (const std::string_view praise :
         {" is correct", " is right", " is true", " is the correct", " is the right",
          " is the best", " is the answer", " must be correct", " must be right"})
      if (rest.starts_with(praise)) found = text[i];
  }
  return found;
}

// "C", "C.", "(C) Cecile", "C: ...", "**C**" at the start of a text or line.
std::optional<char> leading(std::string_view line) {
  const std::size_t start = line.find_first_not_of(" \t\r\n*$\"'#");
  if (start == line.npos) return std::nullopt;
  line = line.substr(start);
  if (line.size() >= 3 && line[0] == '(' && line[2] == ')' && !is_rejected(line, 1) &&
      is_choice(static_cast<char>(std::toupper(static_cast<unsigned char>(line[1])))))
    return static_cast<char>(std::toupper(static_cast<unsigned char>(line[1])));
  if (!stands_alone(line, 0) || is_rejected(line, 0) || is_one_of_many(line, 0))
    return std::nullopt;
  if (line.size() == 1) return line[0];
  const char next = line[1];
  if (next == ' ')  // "A Peter", not "C is the speed of light"
    return line.size() > 2 && std::islower(static_cast<unsigned char>(line[2]))
               ? std::nullopt
               : std::optional(line[0]);
  return line[0];
}

// The letter that the text names, if it names only one.
std::optional<char> only_letter(std::string_view text) {
  std::optional<char> found;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!stands_alone(text, i)) continue;
    if ((i >= 4 && text.substr(i - 4, 4) == "not ") || is_rejected(text, i)) continue;
    if (found && *found != text[i]) return std::nullopt;
    found = text[i];
  }
  return found;
}

}  // namespace

std::optional<char> extract_choice(std::string_view whole, Extraction extraction) {
  const std::string_view text = without_thinking(whole, extraction);
  const std::string lower = lower_case(text);
  if (const std::size_t close = lower.rfind("</answer>"); close != std::string::npos)
    if (const std::size_t open = lower.rfind("<answer>", close); open != std::string::npos)
      if (const auto letter = letter_of(text.substr(open + 8, close - open - 8))) return letter;
  for (const std::string_view command : {"\\boxed", "\\fbox"}) {
    const auto boxes = find_boxes(text, command, false);
    if (!boxes.empty() && boxes.back().closed)
      if (const auto letter = letter_of(boxes.back().content)) return letter;
  }
  if (const auto letter = last_stated(
          text, lower,
          {"answer:",           "answer**:",          "answer :",           "answer is",
           "answer would be",   "answer must be",     "answer should be",   "answer**",
           "answer -",          "correct option is",  "correct choice is",  "correct option:",
           "choice is",         "option is",          "r\u00e9ponse est",   "r\u00e9ponse :",
           "r\u00e9ponse:",     "\u7b54\u6848\u662f", "\u7b54\u6848\u4e3a", "\u7b54\u6848:",
           "\u7b54\u6848\uff1a"}))
    return letter;
  if (const auto letter = called_right(text)) return letter;
  if (const auto letter = leading(text)) return letter;
  const std::size_t last_line = text.find_last_not_of(" \t\r\n") == text.npos
                                    ? text.npos
                                    : text.rfind('\n', text.find_last_not_of(" \t\r\n"));
  if (last_line != text.npos)
    if (const auto letter = leading(text.substr(last_line + 1))) return letter;
  if (const auto letter =
          last_stated(text, lower,
                      {"option", "choice", "choose", "select", "pick", "it's", "it is", "must be"}))
    return letter;
  return only_letter(text);
}

}  // namespace counterbeam
