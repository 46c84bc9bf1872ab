#include <algorithm>
#include <map>

#include "grade/extract.h"
#include "grade/extract_python.h"

namespace counterbeam {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kMaxAnswer = 1 << 18;

std::string join(const Lines& lines, std::size_t from, std::size_t to) {
  std::string out;
  for (std::size_t i = from; i < to; ++i) out += lines[i] + (i + 1 < to ? "\n" : "");
  return out;
}

bool is_blank(const std::string& line) {
  return line.find_first_not_of(" \t\r\f") == std::string::npos;
}

Lines trimmed(Lines lines) {
  while (!lines.empty() && is_blank(lines.back())) lines.pop_back();
  lines.erase(lines.begin(), std::find_if_not(lines.begin(), lines.end(), is_blank));
  return lines;
}

// The position of a fence in the line; npos if there is none. Two backticks are not a fence.
std::size_t fence_at(const std::string& line) {
  const std::size_t ticks = line.find("```"), waves = line.find("~~~");
  if (waves != std::string::npos && is_blank(line.substr(0, waves))) return waves;
  return ticks;
}

// Whether the fence is inside a docstring, which is closed further on.
bool inside_string(const Lines& block, const Lines& lines, std::size_t row) {
  const auto code = logical_lines(block);
  if (code.empty() || !code.back().in_string) return false;
  return std::any_of(lines.begin() + static_cast<long>(row), lines.end(), [](const auto& line) {
    return line.find("\"\"\"") != line.npos || line.find("'''") != line.npos;
  });
}

// Whether the text before a string that is not closed is nothing but code.
bool begins_with_code(const Lines& lines) {
  const auto code = logical_lines(lines);
  return code.size() > 1 && std::all_of(code.begin(), code.end(), [](const LogicalLine& line) {
           return line.plausible || line.in_string;
         });
}

// The fenced blocks of an answer. An unclosed fence extends to the end; a closing fence without an
// opening one ends a block that starts with the text.
std::vector<Lines> fenced_blocks(const Lines& lines) {
  std::vector<Lines> blocks;
  Lines current;
  bool open = false, seen = false;
  for (std::size_t row = 0; row < lines.size(); ++row) {
    const std::string& line = lines[row];
    const std::size_t at = fence_at(line);
    if (at == std::string::npos ||
        ((open || begins_with_code(current)) && inside_string(current, lines, row))) {
      current.push_back(line);
      continue;
    }
    const bool bare = is_blank(line.substr(at + 3));
    if (open) {
      if (!is_blank(line.substr(0, at))) current.push_back(line.substr(0, at));
      blocks.push_back(trimmed(current));
      open = !bare;  // a labelled fence opens the next block
    } else {
      const auto code = logical_lines(current);
      const bool stray =
          !seen && bare && !code.empty() &&
          std::all_of(code.begin(), code.end(), [](const LogicalLine& l) { return l.plausible; });
      if (stray) blocks.push_back(trimmed(current));
      open = !stray;
    }
    seen = true;
    current.clear();
  }
  if (open) blocks.push_back(trimmed(current));
  std::erase_if(blocks, [](const Lines& block) { return block.empty(); });
  return blocks;
}

bool defines(const Lines& lines, std::string_view name) {
  const auto all = logical_lines(lines);
  return std::any_of(all.begin(), all.end(), [&](const LogicalLine& line) {
    const bool keyword =
        line.keyword == "def" || line.keyword == "class" || line.keyword == "async";
    const bool lambda = line.assigns && line.indent == 0 && line.keyword == name;
    return (keyword && !line.names.empty() && line.names[0] == name) || lambda;
  });
}

// Whether the block defines `name` as something that returns: no stub.
bool defines_whole(const Lines& block, std::string_view name) {
  const std::vector<Statement> all = statements(block);
  return std::any_of(all.begin(), all.end(), [&](const Statement& s) {
    return s.returns && std::find(s.defines.begin(), s.defines.end(), name) != s.defines.end();
  });
}

// The longest run of lines that can be Python, by the number of non-blank lines. A run that defines
// `entry_point` is preferred.
Lines longest_run(const Lines& lines, std::string_view entry_point) {
  const auto logical = logical_lines(lines);
  Lines best;
  long best_score = 0;
  for (std::size_t i = 0; i < logical.size();) {
    if (!logical[i].plausible) {
      ++i;
      continue;
    }
    const int base = logical[i].indent;
    std::vector<int> indents{base};
    std::size_t end = i;
    for (; end < logical.size() && logical[end].plausible; ++end) {
      const LogicalLine& line = logical[end];
      if (end > i && logical[end - 1].opens_block && line.indent > indents.back())
        indents.push_back(line.indent);
      while (indents.size() > 1 && line.indent < indents.back()) indents.pop_back();
      if (line.indent != indents.back()) break;
    }
    if (end == i) ++end;
    const Lines run(lines.begin() + static_cast<long>(logical[i].first),
                    lines.begin() + static_cast<long>(logical[end - 1].last) + 1);
    long score =
        std::count_if(run.begin(), run.end(), [](const std::string& l) { return !is_blank(l); });
    if (!entry_point.empty() && defines(run, entry_point)) score += 1 << 20;
    if (score > best_score) best_score = score, best = run;
    i = end;
  }
  return best;
}

// Of several definitions of a name, the first that returns a value, or else the last: this skips a
// stub before the function and an alternative after it.
std::map<std::string, std::size_t> chosen_definitions(const std::vector<Statement>& all) {
  std::map<std::string, std::size_t> where;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const std::string& name : all[i].defines) {
      const auto [at, fresh] = where.try_emplace(name, i);
      if (!fresh && !all[at->second].returns) at->second = i;
    }
  return where;
}

using Names = std::set<std::string, std::less<>>;

bool any_in(const std::set<std::string>& some, const Names& names) {
  return std::any_of(some.begin(), some.end(),
                     [&](const auto& name) { return names.contains(name); });
}

// The given names and those of the definitions that use them, directly or not.
Names with_callers(Names names, const std::vector<Statement>& all) {
  for (bool grew = true; grew;) {
    grew = false;
    for (const Statement& s : all)
      if (s.kind == Statement::Kind::Definition && any_in(s.uses, names))
        for (const std::string& name : s.defines) grew |= names.insert(name).second;
  }
  return names;
}

// Statements that prepare what the entry point uses, like a loop that fills a table. Those that run
// the entry point or read input are examples of its use.
class Preparation {
 public:
  Preparation(const std::vector<Statement>& all, std::string_view entry_point)
      : all_(all),
        entry_point_(entry_point),
        asking_(with_callers({"input", "readline"}, all)),
        running_(with_callers(
            {std::string(entry_point), "input", "readline", "stdin", "exit", "quit", "__name__"},
            all)) {}

  bool asks(const Statement& s) const {
    return s.kind == Statement::Kind::Assignment && any_in(s.uses, asking_);
  }

  // `reached`: the names that are used so far; `chosen`: the statement that defines each.
  bool contains(const Statement& s, const Names& reached,
                const std::map<std::string, std::size_t>& chosen) const {
    const bool assignment = s.kind == Statement::Kind::Assignment;
    if (s.aside || (!assignment && s.kind != Statement::Kind::Other)) return false;
    if (s.changes.contains(entry_point_))
      return assignment && s.in_place && !any_in(s.uses, asking_);
    if (any_in(s.uses, running_)) return false;
    if (any_in(s.uses, kSettings)) return true;
    return std::any_of(s.changes.begin(), s.changes.end(), [&](const std::string& name) {
      const auto at = chosen.find(name);
      const bool function =
          at != chosen.end() && all_[at->second].kind == Statement::Kind::Definition;
      if (!reached.contains(name))
        return function && !assignment && fills(all_[at->second], reached);
      return !function || !assignment || s.in_place;
    });
  }

 private:
  // What changes how Python computes, wherever it is used.
  static inline const Names kSettings = {"setrecursionlimit", "set_int_max_str_digits",
                                         "stack_size",        "seed",
                                         "getcontext",        "setcontext"};

  // Whether a function that is called changes data that the entry point uses.
  bool fills(const Statement& function, const Names& reached) const {
    return std::any_of(all_.begin(), all_.end(), [&](const Statement& s) {
      return s.kind == Statement::Kind::Assignment && function.uses.contains(s.defines[0]) &&
             reached.contains(s.defines[0]);
    });
  }

  const std::vector<Statement>& all_;
  std::string entry_point_;
  Names asking_, running_;
};

// Imports and the definitions that the entry point uses, with what prepares them, in source order;
// without an entry point every definition that returns a value.
std::string reachable(std::vector<Statement> all, std::string_view entry_point) {
  const Preparation preparation(all, entry_point);
  if (!entry_point.empty())
    std::erase_if(all, [&](const Statement& s) { return preparation.asks(s); });
  const auto where = chosen_definitions(all);
  std::vector<char> keep(all.size(), 0);
  std::vector<std::string> todo{std::string(entry_point)};
  if (entry_point.empty())
    for (const auto& [name, i] : where)
      if (all[i].returns) todo.push_back(name);
  Names seen;
  const auto reach = [&](std::size_t i) {
    keep[i] = 1;
    todo.insert(todo.end(), all[i].uses.begin(), all[i].uses.end());
  };
  for (bool grew = true; grew;) {
    while (!todo.empty()) {
      const std::string name = todo.back();
      todo.pop_back();
      if (!seen.insert(name).second) continue;
      if (const auto at = where.find(name); at != where.end()) reach(at->second);
    }
    grew = false;
    for (std::size_t i = 0; i < all.size() && !entry_point.empty(); ++i)
      if (!keep[i] && preparation.contains(all[i], seen, where)) reach(i), grew = true;
  }
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (keep[i] || all[i].kind == Statement::Kind::Import)
      out += (out.empty() ? "" : "\n") + all[i].text;
  return out;
}

Lines dedented(Lines lines) {
  std::size_t common = std::string::npos;
  for (const std::string& line : lines)
    if (!is_blank(line)) common = std::min(common, line.find_first_not_of(" \t"));
  if (common == std::string::npos || common == 0) return lines;
  for (std::string& line : lines) line.erase(0, std::min(common, line.size()));
  return lines;
}

// Appends a function body to the prompt, which has the head of the function.
std::string completed(const Lines& body, std::string_view prompt) {
  Lines lines;
  const bool first_flush = !body.empty() && body[0].find_first_not_of(" \t") == 0;
  std::size_t deeper = 0, flush = 0;
  for (std::size_t i = 1; i < body.size(); ++i) {
    if (is_blank(body[i])) continue;
    (body[i][0] == ' ' || body[i][0] == '\t' ? deeper : flush) += 1;
  }
  // "return x" without indentation: indents all lines, or only the first if only that has lost its
  // indentation.
  const bool first_only =
      first_flush && flush == 0 && deeper > 0 && !logical_lines(body)[0].opens_block;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const bool move = first_flush && (!first_only || i == 0);
    if (!first_flush && i > 0 && !is_blank(body[i]) && body[i][0] != ' ' && body[i][0] != '\t')
      break;
    lines.push_back(move && !is_blank(body[i]) ? "    " + body[i] : body[i]);
  }
  std::string head(prompt);
  if (!head.empty() && head.back() != '\n') head += '\n';
  return head + join(lines, 0, lines.size());
}

}  // namespace

std::string extract_code(std::string_view answer, std::string_view prompt,
                         std::string_view entry_point, Extraction extraction) {
  answer = without_thinking(answer, extraction);
  if (answer.size() > kMaxAnswer) answer = answer.substr(0, kMaxAnswer);
  const Lines lines = split_lines(answer);
  std::vector<Lines> blocks = fenced_blocks(lines);
  const bool fenced = !blocks.empty();
  if (!fenced) blocks.push_back(trimmed(longest_run(lines, entry_point)));
  for (Lines& block : blocks)
    if (entry_point.empty() || defines(block, entry_point)) block = dedented(block);
  if (blocks[0].empty()) return "";

  auto main = std::find_if(blocks.begin(), blocks.end(),
                           [&](const Lines& block) { return defines_whole(block, entry_point); });
  if (main == blocks.end())
    main = std::find_if(blocks.begin(), blocks.end(),
                        [&](const Lines& block) { return defines(block, entry_point); });
  if (entry_point.empty() && fenced) return reachable(statements(blocks[0]), "");
  if (entry_point.empty() || (main == blocks.end() && prompt.empty()))
    return join(blocks[0], 0, blocks[0].size());
  if (main == blocks.end()) return completed(blocks[0], prompt);

  // The block with the function as it is, and from other blocks the definitions that it lacks.
  std::vector<Statement> all;
  std::set<std::string> own;
  const std::vector<Statement> chosen = statements(*main);
  for (const Statement& s : chosen) own.insert(s.defines.begin(), s.defines.end());
  for (auto block = blocks.begin(); block != blocks.end(); ++block) {
    const std::vector<Statement> found = block == main ? chosen : statements(*block);
    for (const Statement& s : found) {
      const bool taken =
          block != main && std::any_of(s.defines.begin(), s.defines.end(),
                                       [&](const std::string& name) { return own.contains(name); });
      if (taken) continue;
      own.insert(s.defines.begin(), s.defines.end());
      all.push_back(s);
      all.back().aside = block != main;
    }
  }
  return reachable(all, entry_point);
}

}  // namespace counterbeam
