#include "grade/extract_python.h"

#include <algorithm>
#include <cctype>

namespace counterbeam {
namespace {

bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_name(char c) {
  return is_name_start(c) || std::isdigit(static_cast<unsigned char>(c));
}

template <std::size_t N>
bool any_of(std::string_view word, const std::string_view (&words)[N]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

constexpr std::string_view kKeywords[] = {
    "and",    "as",   "assert", "async",  "await",  "break",   "class",    "continue",
    "def",    "del",  "elif",   "else",   "except", "finally", "for",      "from",
    "global", "if",   "import", "in",     "is",     "lambda",  "nonlocal", "not",
    "or",     "pass", "raise",  "return", "try",    "while",   "with",     "yield"};
constexpr std::string_view kNoStart[] = {"and", "as", "in", "is", "or"};
constexpr std::string_view kBlocks[] = {"class", "def", "elif", "else",  "except", "finally",
                                        "for",   "if",  "try",  "while", "with",   "async"};

int indent_of(std::string_view line) {
  int indent = 0;
  for (const char c : line) {
    if (c == ' ')
      ++indent;
    else if (c == '\t')
      indent += 8 - indent % 8;
    else
      break;
  }
  return indent;
}

// Reads logical lines, which may span several physical lines.
class Reader {
 public:
  explicit Reader(const std::vector<std::string>& lines) : lines_(lines) {}

  std::vector<LogicalLine> all() {
    std::vector<LogicalLine> out;
    while (row_ < lines_.size()) {
      const std::size_t start = lines_[row_].find_first_not_of(" \t\f");
      if (start == std::string::npos || lines_[row_][start] == '#') {
        ++row_;
        continue;
      }
      out.push_back(read());
    }
    return out;
  }

 private:
  LogicalLine read() {
    line_ = {};
    line_.first = row_;
    line_.indent = indent_of(lines_[row_]);
    brackets_.clear();
    operand_ = false;
    std::string last;
    col_ = 0;
    for (;;) {
      const std::string& s = lines_[row_];
      while (col_ < s.size() && s[col_] != '#') {
        if (s[col_] == '\\' && col_ + 1 == s.size()) break;
        token(last);
        if (row_ >= lines_.size()) break;
        if (&s != &lines_[row_]) break;
      }
      if (row_ >= lines_.size()) break;
      if (&s != &lines_[row_]) continue;  // a string continued on a later line
      const bool continued = !brackets_.empty() || (col_ < s.size() && s[col_] == '\\');
      if (!continued || row_ + 1 >= lines_.size()) {
        if (continued) line_.plausible = false;
        break;
      }
      ++row_;
      col_ = 0;
    }
    line_.last = std::min(row_, lines_.size() - 1);
    row_ = line_.last + 1;
    line_.opens_block = last == ":";
    judge(last);
    return line_;
  }

  void judge(const std::string& last) {
    if (any_of(line_.keyword, kNoStart)) line_.plausible = false;
    const bool block = any_of(line_.keyword, kBlocks);
    if (block && !colon_) line_.plausible = false;
    if (last == ":" && !block && line_.keyword != "match" && line_.keyword != "case")
      line_.plausible = false;
    if (line_.keyword == "from" && !imports_) line_.plausible = false;
    if (line_.keyword == "for" && !in_) line_.plausible = false;
    colon_ = imports_ = in_ = false;
  }

  void operand(bool string = false) {
    if (operand_ && !(string && string_)) line_.plausible = false;
    operand_ = true;
    string_ = string;
  }

  void token(std::string& last) {
    const std::string& s = lines_[row_];
    const char c = s[col_];
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++col_;
      return;
    }
    if (is_name_start(c)) return word(last);
    if (std::isdigit(static_cast<unsigned char>(c))) {
      while (col_ < s.size() && (is_name(s[col_]) || s[col_] == '.')) ++col_;
      operand();
      last = "0";
      return;
    }
    if (c == '"' || c == '\'') {
      operand(true);
      last = "\"";
      return string(c);
    }
    symbol(c, last);
  }

  void word(std::string& last) {
    const std::string& s = lines_[row_];
    const std::size_t start = col_;
    while (col_ < s.size() && is_name(s[col_])) ++col_;
    const std::string word = s.substr(start, col_ - start);
    const bool prefix = col_ < s.size() && (s[col_] == '"' || s[col_] == '\'') &&
                        word.size() <= 2 && word.find_first_not_of("rRbBuUfF") == std::string::npos;
    if (prefix) return;
    const bool first = line_.keyword.empty() && line_.names.empty() && last.empty();
    if (first) line_.keyword = word;
    if (any_of(word, kKeywords)) {
      imports_ |= word == "import";
      in_ |= word == "in";
      line_.returns |= word == "return" || word == "yield";
      operand_ = false;
    } else {
      const bool soft =
          first && (word == "match" || word == "case" || word == "type" || word == "print");
      operand();
      if (soft) operand_ = false;
      line_.names.push_back(word);
      if (brackets_.empty() && last != ".") line_.bases.push_back(word);
      const bool listed = last == "(" || last == "," || last == "*";
      if (listed && !colon_ && brackets_ == "(" &&
          (line_.keyword == "def" || line_.keyword == "async"))
        line_.parameters.push_back(word);
    }
    last = word;
  }

  void symbol(char c, std::string& last) {
    ++col_;
    last = std::string(1, c);
    const std::string_view opens = "([{", closes = ")]}";
    if (opens.find(c) != std::string_view::npos) {
      brackets_ += c;
      operand_ = false;
    } else if (const std::size_t which = closes.find(c); which != std::string_view::npos) {
      if (brackets_.empty() || brackets_.back() != opens[which])
        line_.plausible = false;
      else
        brackets_.pop_back();
      operand_ = true;
      string_ = false;
    } else {
      if (c == '?' || c == '$' || c == '`') line_.plausible = false;
      if (c == '!' && !(col_ < lines_[row_].size() && lines_[row_][col_] == '='))
        line_.plausible = false;
      if (c == ':' && brackets_.empty()) colon_ = true;
      if (c == '=' && brackets_.empty()) {
        const std::string& s = lines_[row_];
        const char before = col_ >= 2 ? s[col_ - 2] : ' ', next = col_ < s.size() ? s[col_] : ' ';
        if (next != '=' && std::string_view("=!<>").find(before) == std::string_view::npos)
          line_.assigns = true, line_.targets = line_.bases.size();
      }
      operand_ = false;
    }
  }

  // Moves the cursor past the string, which may end on a later line.
  void string(char quote) {
    const std::string three(3, quote);
    const bool triple = lines_[row_].compare(col_, 3, three) == 0;
    col_ += triple ? 3 : 1;
    for (;;) {
      const std::string& s = lines_[row_];
      while (col_ < s.size()) {
        if (s[col_] == '\\') {
          col_ += 2;
          continue;
        }
        if (triple ? s.compare(col_, 3, three) == 0 : s[col_] == quote) {
          col_ += triple ? 3 : 1;
          return;
        }
        ++col_;
      }
      const bool escaped = !s.empty() && s.back() == '\\';
      if ((!triple && !escaped) || row_ + 1 >= lines_.size()) {
        line_.plausible = false;  // not closed
        line_.in_string = triple;
        col_ = s.size();
        return;
      }
      ++row_;
      col_ = 0;
    }
  }

  const std::vector<std::string>& lines_;
  std::size_t row_ = 0, col_ = 0;
  LogicalLine line_;
  std::string brackets_;
  bool operand_ = false, string_ = false;  // the last token, and whether it was a string
  bool colon_ = false, imports_ = false, in_ = false;
};

bool continues_statement(const LogicalLine& line) {
  return line.indent > 0 || line.keyword == "else" || line.keyword == "elif" ||
         line.keyword == "except" || line.keyword == "finally";
}

// What the lines of a statement may bind or change: targets of assignments, objects whose methods
// are called, functions that are called, nested definitions and imports.
std::set<std::string> changes_of(const std::vector<LogicalLine>& lines, std::size_t from,
                                 std::size_t to) {
  std::set<std::string> changes;
  for (std::size_t i = from; i < to; ++i) {
    const LogicalLine& line = lines[i];
    if (line.names.empty()) continue;
    const bool import = line.keyword == "import" || line.keyword == "from";
    const bool definition =
        line.keyword == "def" || line.keyword == "class" || line.keyword == "async";
    if (import)
      changes.insert(line.names.begin(), line.names.end());
    else if (line.assigns)
      changes.insert(line.bases.begin(), line.bases.begin() + static_cast<long>(line.targets));
    else if (definition || line.names[0] == line.keyword)
      changes.insert(line.names[0]);
  }
  return changes;
}

// Whether an assignment needs the value that its target had before.
bool is_in_place(const LogicalLine& line, const std::string& text) {
  const std::size_t next = text.find_first_not_of(" \t", line.keyword.size());
  return (next != text.npos &&
          std::string_view("=,:").find(text[next]) == std::string_view::npos) ||
         std::count(line.names.begin(), line.names.end(), line.keyword) > 1;
}

void classify(Statement& s, const LogicalLine& head, const std::vector<LogicalLine>& lines,
              std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i)
    s.uses.insert(lines[i].names.begin(), lines[i].names.end());
  if (head.keyword == "import" || head.keyword == "from") {
    s.kind = Statement::Kind::Import;
  } else if (head.keyword == "def" || head.keyword == "class" || head.keyword == "async") {
    s.kind = Statement::Kind::Definition;
    if (!head.names.empty()) s.defines.push_back(head.names[0]);
    for (const std::string& name : head.parameters) s.uses.erase(name);
    s.returns =
        head.keyword == "class" ||
        std::any_of(lines.begin() + static_cast<long>(from), lines.begin() + static_cast<long>(to),
                    [](const LogicalLine& line) { return line.returns; });
  } else if (head.assigns && !head.names.empty() && head.names[0] == head.keyword) {
    s.kind = Statement::Kind::Assignment;
    s.defines.push_back(head.names[0]);
    s.in_place = is_in_place(head, s.text);
  } else if (head.keyword == "try" && s.text.find("import ") != std::string::npos) {
    s.kind = Statement::Kind::Import;
  }
  if (s.kind != Statement::Kind::Definition) s.changes = changes_of(lines, from, to);
}

}  // namespace

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    if (text[i] == '\n' || text[i] == '\r') {
      lines.push_back(std::move(line));
      line.clear();
    } else {
      line += text[i];
    }
  }
  lines.push_back(std::move(line));
  return lines;
}

std::vector<LogicalLine> logical_lines(const std::vector<std::string>& lines) {
  return Reader(lines).all();
}

std::vector<Statement> statements(const std::vector<std::string>& lines) {
  const std::vector<LogicalLine> logical = logical_lines(lines);
  std::vector<Statement> out;
  for (std::size_t i = 0; i < logical.size();) {
    const std::size_t start = i;
    while (i < logical.size() && lines[logical[i].first].starts_with('@')) ++i;  // decorators
    if (i == logical.size()) break;
    const LogicalLine& head = logical[i++];
    while (i < logical.size() && continues_statement(logical[i])) ++i;
    Statement s;
    for (std::size_t row = logical[start].first; row <= logical[i - 1].last; ++row)
      s.text += lines[row] + (row < logical[i - 1].last ? "\n" : "");
    classify(s, head, logical, start, i);
    out.push_back(std::move(s));
  }
  return out;
}

}  // namespace counterbeam
