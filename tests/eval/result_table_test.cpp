// Tables as files: what CSV and LaTeX do with text that has a meaning there.
#include "eval/result_table.h"

#include <gtest/gtest.h>

#include <random>

namespace counterbeam {
namespace {

// Reads CSV by the grammar of RFC 4180.
TextRows parsed_csv(const std::string& text) {
  TextRows rows(1);
  std::string cell;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted) {
      if (text[i] != '"') {
        cell += text[i];
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        cell += text[i++];
      } else {
        quoted = false;
      }
    } else if (text[i] == '"') {
      EXPECT_TRUE(cell.empty()) << "a quote inside a plain cell";
      quoted = true;
    } else if (text[i] == ',') {
      rows.back().push_back(std::exchange(cell, ""));
    } else if (text[i] == '\r') {
      EXPECT_EQ(text.substr(i, 2), "\r\n");
      rows.back().push_back(std::exchange(cell, ""));
      rows.emplace_back();
      ++i;
    } else {
      EXPECT_NE(text[i], '\n') << "a line break outside quotes";
      cell += text[i];
    }
  }
  EXPECT_FALSE(quoted);
  EXPECT_TRUE(rows.back().empty() && cell.empty()) << "the last line has no end";
  rows.pop_back();
  return rows;
}

TEST(ResultTable, CsvQuotesWhatNeedsIt) {
  EXPECT_EQ(csv_text({{"a", "b"}, {"1", ""}}), "a,b\r\n1,\r\n");
  EXPECT_EQ(csv_text({{"cbs:positive=\"a, b\"", "x\ny", "50 %"}}),
            "\"cbs:positive=\"\"a, b\"\"\",\"x\ny\",50 %\r\n");
  EXPECT_EQ(csv_text({}), "");
}

TEST(ResultTable, CsvGivesBackEveryText) {
  std::mt19937 random(11);
  const std::string letters = "a,\"\r\n\\%_#& ;='\t\xC3\xA9";
  for (int round = 0; round < 200; ++round) {
    TextRows rows(1 + random() % 4);
    const std::size_t columns = 1 + random() % 4;
    for (auto& row : rows)
      for (std::size_t i = 0; i < columns; ++i) {
        std::string& cell = row.emplace_back();
        for (std::size_t n = random() % 8; n > 0; --n) cell += letters[random() % letters.size()];
      }
    EXPECT_EQ(parsed_csv(csv_text(rows)), rows);
  }
}

TEST(ResultTable, LatexEscapesEverySpecialCharacter) {
  EXPECT_EQ(latex_escaped("50 % of a_b & c#1 $5 {x}"), "50 \\% of a\\_b \\& c\\#1 \\$5 \\{x\\}");
  EXPECT_EQ(latex_escaped("\\boxed~^"),
            "\\textbackslash{}boxed\\textasciitilde{}\\textasciicircum{}");
  EXPECT_EQ(latex_escaped("<b>|\"`"),
            "\\textless{}b\\textgreater{}\\textbar{}\\symbol{34}\\textasciigrave{}");
  EXPECT_EQ(latex_escaped("first\nsecond\r\n\tthird"), "first second third")
      << "a blank line would end the cell's paragraph";
  EXPECT_EQ(latex_escaped("--max"), "-{}-max") << "not a dash";
  EXPECT_EQ(latex_escaped("a---b"), "a-{}-{}-b");
  EXPECT_EQ(latex_escaped("[0.1]*"), "{[}0.1{]}{*}") << "not an option of \\\\";
  EXPECT_EQ(latex_escaped("caf\u00e9 \u2212 \u03b1"),
            "caf\u00e9 \\ensuremath{-} \\ensuremath{\\alpha}");
  EXPECT_EQ(latex_escaped("\u6f22"), "\\texttt{U+6F22}") << "pdflatex has no such letter";
  EXPECT_EQ(latex_escaped("\U0001F600"), "\\texttt{U+1F600}");
  EXPECT_EQ(latex_escaped("a\xFF"
                          "b"),
            "a\\texttt{U+FFFD}b");
  EXPECT_EQ(latex_escaped(""), "");
}

// No text can open or close a group, end a cell or a line, or start a comment.
TEST(ResultTable, LatexIsBalancedWhateverTheText) {
  std::mt19937 random(12);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (std::size_t n = random() % 12; n > 0; --n) text += static_cast<char>(random() % 256);
    const std::string escaped = latex_escaped(text);
    int depth = 0;
    for (std::size_t i = 0; i < escaped.size(); ++i) {
      const char c = escaped[i];
      if (c == '\\' && i + 1 < escaped.size()) {
        ++i;
        EXPECT_NE(escaped[i], '\\') << "a line end";
        continue;
      }
      depth += c == '{' ? 1 : c == '}' ? -1 : 0;
      EXPECT_GE(depth, 0);
      EXPECT_EQ(std::string("&%#_$^\n").find(c), std::string::npos) << escaped;
    }
    EXPECT_EQ(depth, 0) << escaped;
  }
}

ResultTable small_table() {
  ResultTable table{"small", "Accuracy, 100 %", {}, {}, {}};
  table.columns = {{.name = "method", .text = true},
                   {.name = "tiny-math", .group = "org/a_b"},
                   {.name = "tiny-code", .group = "org/a_b"},
                   {.name = "tiny-math", .group = "c"}};
  table.rows = {{"cbs:steer=0.7", "0.5", "0.25", "-"}};
  return table;
}

TEST(ResultTable, LatexIsABooktabsTabular) {
  EXPECT_EQ(latex_text(small_table()),
            "% Accuracy, 100 \\%\n"
            "% Needs \\usepackage{booktabs}.\n"
            "\\begin{tabular}{lrrr}\n"
            "\\toprule\n"
            " & \\multicolumn{2}{c}{org/a\\_b} & \\multicolumn{1}{c}{c} \\\\\n"
            "\\cmidrule(lr){2-3}\\cmidrule(lr){4-4}\n"
            "method & tiny-math & tiny-code & tiny-math \\\\\n"
            "\\midrule\n"
            "cbs:steer=0.7 & 0.5 & 0.25 & - \\\\\n"
            "\\bottomrule\n"
            "\\end{tabular}\n");
}

TEST(ResultTable, LongTablesBreakOverPages) {
  ResultTable table = small_table();
  for (int i = 0; i < 100; ++i) table.rows.push_back(table.rows.front());
  const std::string text = latex_text(table);
  EXPECT_NE(text.find("\\begin{longtable}"), std::string::npos);
  EXPECT_NE(text.find("\\endhead"), std::string::npos);
  EXPECT_NE(text.find("cbs:\\allowbreak{}steer"), std::string::npos);
  const std::string document = latex_document({small_table(), table});
  EXPECT_NE(document.find("\\fitted{small.tex}"), std::string::npos);
  EXPECT_NE(document.find("{\\footnotesize\\input{small.tex}}"), std::string::npos);
}

}  // namespace
}  // namespace counterbeam
