#include "eval/result_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/utf8.h"

namespace counterbeam {
namespace {

constexpr std::size_t kRowsOfAPage = 45;
// Characters of the widest cells that the width of a page is shared among.
constexpr std::size_t kWideColumn = 60;

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// What stands for a character that is not a plain one; empty for those that are.
std::string_view latex_of(std::uint32_t point) {
  constexpr std::array<std::pair<std::uint32_t, std::string_view>, 36> kSpecial = {{
      {'\\', "\\textbackslash{}"},
      {'{', "\\{"},
      {'}', "\\}"},
      {'$', "\\$"},
      {'&', "\\&"},
      {'#', "\\#"},
      {'%', "\\%"},
      {'_', "\\_"},
      {'~', "\\textasciitilde{}"},
      {'^', "\\textasciicircum{}"},
      {'<', "\\textless{}"},
      {'>', "\\textgreater{}"},
      {'|', "\\textbar{}"},
      {'"', "\\symbol{34}"},
      {'`', "\\textasciigrave{}"},
      {'[', "{[}"},  // not the option of a command before it
      {']', "{]}"},
      {'*', "{*}"},
      {0x00A0, "~"},
      {0x00D7, "\\ensuremath{\\times}"},
      {0x00F7, "\\ensuremath{\\div}"},
      {0x00B1, "\\ensuremath{\\pm}"},
      {0x03B1, "\\ensuremath{\\alpha}"},
      {0x03C4, "\\ensuremath{\\tau}"},
      {0x2013, "--"},
      {0x2014, "---"},
      {0x2018, "`"},
      {0x2019, "'"},
      {0x201C, "``"},
      {0x201D, "''"},
      {0x2026, "\\ldots{}"},
      {0x2212, "\\ensuremath{-}"},
      {0x2264, "\\ensuremath{\\leq}"},
      {0x2265, "\\ensuremath{\\geq}"},
      {0x2248, "\\ensuremath{\\approx}"},
      {0x221E, "\\ensuremath{\\infty}"},
  }};
  const auto found = std::find_if(kSpecial.begin(), kSpecial.end(),
                                  [&](const auto& entry) { return entry.first == point; });
  return found == kSpecial.end() ? std::string_view() : found->second;
}

// A line may break after each part of a method string, a model's name or a path.
std::string with_breaks(const std::string& escaped) {
  std::string text;
  for (const char c : escaped) {
    text += c;
    if (c == ':' || c == ',' || c == '=' || c == '/') text += "\\allowbreak{}";
  }
  return text;
}

std::string column_types(const ResultTable& table) {
  if (!table.is_long()) {
    std::string types;
    for (const ResultTable::Column& column : table.columns) types += column.text ? 'l' : 'r';
    return types;
  }
  std::vector<std::size_t> widths;  // in characters
  std::size_t whole = 0;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    std::size_t width = table.columns[i].name.size();
    for (const auto& row : table.rows) width = std::max(width, row[i].size());
    widths.push_back(std::clamp<std::size_t>(width, table.columns[i].text ? 11 : 4, kWideColumn));
    whole += widths.back() + 2;
  }
  std::string types;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const double share = 0.9 * static_cast<double>(widths[i]) / static_cast<double>(whole);
    types += table.columns[i].text ? fmt::format(">{{\\raggedright}}p{{{:.3f}\\linewidth}}", share)
                                   : std::string("r");
  }
  return types;
}

// The headings over groups of columns; empty if there are none.
std::string group_line(const ResultTable& table) {
  std::string cells, rules;
  bool any = false;
  for (std::size_t i = 0; i < table.columns.size();) {
    std::size_t end = i + 1;
    const std::string& group = table.columns[i].group;
    if (!group.empty())
      while (end < table.columns.size() && table.columns[end].group == group) ++end;
    if (i > 0) cells += " & ";
    if (!group.empty()) {
      any = true;
      cells += fmt::format("\\multicolumn{{{}}}{{c}}{{{}}}", end - i, latex_escaped(group));
      rules += fmt::format("\\cmidrule(lr){{{}-{}}}", i + 1, end);
    }
    i = end;
  }
  return any ? cells + " \\\\\n" + rules + "\n" : "";
}

std::string table_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i > 0 ? " & " : "") + cells[i];
  return line + " \\\\\n";
}

}  // namespace

bool ResultTable::is_long() const {
  return rows.size() > kRowsOfAPage;
}

std::string csv_text(const TextRows& rows) {
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) text += (i > 0 ? "," : "") + csv_cell(row[i]);
    text += "\r\n";
  }
  return text;
}

std::string latex_escaped(std::string_view text) {
  std::string escaped;
  for (std::size_t at = 0; at < text.size();) {
    const DecodedChar decoded = decode_utf8(text, at);
    const auto point = static_cast<std::uint32_t>(decoded.point);
    const std::string_view character = text.substr(at, decoded.length);
    at += decoded.length;
    const bool letter = point >= 0xC0 && point <= 0xFF;
    if (const std::string_view special = latex_of(point); !special.empty())
      escaped += special;
    else if (point < 0x20 || point == 0x7F)
      escaped += escaped.empty() || escaped.back() == ' ' ? "" : " ";
    else if (point == '-' && escaped.ends_with('-'))
      escaped += "{}-";  // two hyphens, not a dash
    else if (point < 0x7F || letter)
      escaped += character;
    else
      escaped += fmt::format("\\texttt{{U+{:04X}}}", point);
  }
  return escaped;
}

std::string latex_text(const ResultTable& table) {
  const bool is_long = table.is_long();
  const char* environment = is_long ? "longtable" : "tabular";
  std::string text =
      fmt::format("% {}\n% Needs \\usepackage{{booktabs{}}}.\n\\begin{{{}}}{{{}}}\n\\toprule\n",
                  latex_escaped(table.title), is_long ? ",array,longtable" : "", environment,
                  column_types(table));
  std::vector<std::string> head;
  for (const ResultTable::Column& column : table.columns)
    head.push_back(latex_escaped(column.name));
  text += group_line(table) + table_line(head) + "\\midrule\n";
  if (is_long) text += "\\endhead\n\\bottomrule\n\\endlastfoot\n";
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string cell = latex_escaped(row[i]);
      cells.push_back(is_long && table.columns[i].text ? with_breaks(cell) : cell);
    }
    std::string line = table_line(cells);
    // \raggedright redefines \\ in the last column.
    if (is_long) line.replace(line.rfind("\\\\"), 2, "\\tabularnewline");
    text += line;
  }
  if (!is_long) text += "\\bottomrule\n";
  return text + fmt::format("\\end{{{}}}\n", environment);
}

std::string latex_document(const std::vector<ResultTable>& tables) {
  std::string text =
      R"(% All tables of the report: pdflatex all.tex
\documentclass[10pt,a4paper]{article}
\usepackage[utf8]{inputenc}
\usepackage[margin=2cm]{geometry}
\usepackage{array,booktabs,longtable,graphicx}
\newsavebox{\wholetable}
% A table in its own size, or scaled down to the width of the page.
\newcommand{\fitted}[1]{\sbox{\wholetable}{\input{#1}}%
  \ifdim\wd\wholetable>\textwidth\resizebox{\textwidth}{!}{\usebox{\wholetable}}%
  \else\usebox{\wholetable}\fi}
\setlength{\parindent}{0pt}
\begin{document}
)";
  for (const ResultTable& table : tables)
    text +=
        fmt::format("\\section*{{{}}}\n{}\n\n", latex_escaped(table.title),
                    table.is_long() ? fmt::format("{{\\footnotesize\\input{{{}.tex}}}}", table.name)
                                    : fmt::format("\\fitted{{{}.tex}}", table.name));
  return text + "\\end{document}\n";
}

}  // namespace counterbeam
