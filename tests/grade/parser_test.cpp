// Tests the parser of answers by itself: which spellings give the same tree, and what is refused. A
// spelling that is refused is compared as text, so a parser that accepts too much makes wrong
// answers right.
#include "grade/parser.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace counterbeam::grade {
namespace {

// The tree of `text` as canonical text; "refused" if it has none.
std::string tree_of(const std::string& text) {
  const auto tree = parse(text, Commas::Thousands);
  return tree ? canonical(*tree) : "refused";
}

std::string repeated(const std::string& part, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += part;
  return out;
}

void expect_same(const std::vector<std::pair<std::string, std::string>>& table) {
  for (const auto& [one, other] : table) {
    EXPECT_NE(tree_of(one), "refused") << one;
    EXPECT_EQ(tree_of(one), tree_of(other)) << one << " | " << other;
  }
}

void expect_different(const std::vector<std::pair<std::string, std::string>>& table) {
  for (const auto& [one, other] : table)
    EXPECT_NE(tree_of(one), tree_of(other)) << one << " | " << other;
}

void expect_refused(const std::vector<std::string>& table) {
  for (const std::string& text : table) EXPECT_EQ(tree_of(text), "refused") << text;
}

TEST(AnswerParser, NumbersAndTheirSeparators) {
  expect_same({{"1{,}234", "1234"},
               {"12 {, }345", "12345"},
               {"1,\\!234", "1234"},
               {"1,\\!  234,\\!567", "1234567"},
               {"1\\,234", "1234"},
               {"1 234 567", "1234567"},
               {"6.5e+3", "6500"},
               {"6.5E-1", "0.65"},
               {"2.", "2"},
               {"1\\frac45", "9/5"},
               {"1 4/5", "9/5"},
               {"2\\frac{4}{2}", "2 \\cdot 2"},
               {"2\\frac{4}{0.5}", "2 \\cdot 8"},
               {"2\\frac{0.5}{4}", "2 \\cdot 0.125"},
               {"2\\frac{x}{4}", "2 \\cdot \\frac{x}{4}"},
               {"2\\frac{3}{x}", "2 \\cdot \\frac{3}{x}"},
               {"2\\frac{0}{3}", "2 \\cdot 0"}});
  expect_different({{"1,2345", "12345"},    // four digits are no group of three
                    {"1,\\!", "1234"},      // the separator ends the text
                    {"1e5x", "100000x"},    // "e" is a constant here
                    {"1e12345", "1e1234"},  // more than four digits are no exponent
                    {"1e+", "1"}});
  expect_refused({"1 2", "1 4/3", "1 0/0", "1 4/x", "1 2 3/4", "1e9999", "1\\frac{2}", "1\\frac"});
}

TEST(AnswerParser, RepeatingDecimals) {
  expect_same({{"0.\\overline{3}", "1/3"},
               {"0.1\\bar{6}", "1/6"},
               {"0.\\dot{9}", "1"},
               {"0.333...", "1/3"},
               {"0.1666\\ldots", "1/6"},
               {"0.1212...", "4/33"},
               {"2.\\overline{45}", "27/11"},
               {"3\\overline{AB}", "3(AB)"}});
  expect_refused({"0.12...", "0.12345...", "0.5...", "0.\\overline{x}", "0.\\overline{3",
                  "0.\\overline 3", "0.\\barx{3}", "1.5e3\\overline{3}", "1.5e9999\\overline{3}",
                  "1.555e5...", "0.3 ?"});
}

TEST(AnswerParser, DigitsInABase) {
  expect_same({{"101_2", "101_{2}"},
               {"(101)_2", "101_{\\text{two}}"},
               {"77 \\text{ base } 8", "77_8"},
               {"77_{\\text{base eight}}", "77_{8}"},
               {"99_{36}", "99_{36}"},
               {"10_{\\text{sixteen}}", "10_{16}"}});
  expect_different({{"11_2", "3"}, {"11_2", "11_3"}});
  expect_refused({"11_1", "11_0", "11_{37}", "11_{100}", "11_{x}", "11_{2.5}", "11_{\\text{dozen}}",
                  "2.5_8", "82_8", "12_2", "11_", "11_{2", repeated("1", 1001) + "_2"});
}

TEST(AnswerParser, SignsAndPostfixOperators) {
  expect_same({{"\\mp 2 \\pm 3", "\\mp 2 \\pm 3"},
               {"2 \\cdot -x", "2 \\cdot (-x)"},
               {"2 / -x", "2/(-x)"},
               {"-+3", "-3"},
               {"x^+2", "x^2"},
               {"x^-2", "x^{-2}"},
               {"90^o", "90^\\circ"},
               {"90^{\\circ}", "90^\\circ"},
               {"90 degrees", "90^\\circ"},
               {"n!!", "n!!"},
               {"25\\percent", "25\\%"},
               {"25 pct", "25\\%"},
               {"2[x+1]", "2(x+1)"},
               {"2\\{1\\}", "2 \\cdot \\{1\\}"},
               {"2{x}", "2x"},
               {"2\\lceil x \\rceil", "\\lceil x \\rceil \\cdot 2"},
               {"\\lfloor x \\rfloor 2", "2\\lfloor x \\rfloor"},
               {"x^*", "x^'"},
               {"x_{12}", "x_{12}"},
               {"x_\\text{max}", "x_\\mathrm{max}"},
               {"f''(x)", "f''(x)"}});
  expect_different({{"n!!", "n!"},
                    {"\\pm 2", "\\mp 2"},
                    {"x_1", "x_2"},
                    {"f(x,y)", "f(x)"},
                    {"3! = 6", "3 != 6"}});
  expect_refused({"",
                  "+",
                  "2 *",
                  "2 /",
                  "x^",
                  "x_",
                  "x^{2",
                  "(x",
                  "x)",
                  "(1]",
                  "[x)",
                  "(x}",
                  "|x",
                  "\\lfloor x",
                  "\\lceil x \\rfloor",
                  "\\unknown x",
                  "? 3",
                  repeated("-", 100) + "3",
                  repeated("(", 70),
                  std::string(4001, '1')});
}

TEST(AnswerParser, ListsSetsAndIntervals) {
  expect_same({{"1, 2,", "1, 2"},
               {"1, 2,; 3", "1, 2; 3"},
               {"3, 5, and 7", "3, 5 and 7"},
               {"\\{1, 2\\}", "\\{2, 1\\}"},
               {"\\lbrace 1 \\rbrace", "\\{1\\}"},
               {"{1, 2}", "\\{1, 2\\}"},
               {"\\{\\}", "\\emptyset"},
               {"\\varnothing", "\\emptyset"},
               {"(0,1) U (2,3)", "(0,1) \\cup (2,3)"},
               {"[0,1] U [2,3]", "[0,1] cup [2,3]"},
               {"\\{1\\} U \\{2\\}", "\\{2\\} \\cup \\{1\\}"},
               {"\\{x : x > 2\\}", "\\{x \\mid x > 2\\}"},
               {"\\{x | x > 2\\}", "\\{x \\mid x > 2\\}"},
               {"\\{x \\in \\mathbb{R} | x > 2\\}", "\\{x \\in \\Bbb R \\mid x > 2\\}"},
               {"\\{x \\in \\mathbb{R} : x > 2\\}", "\\{x : x > 2\\}"},
               {"(-oo, inf)", "(-\\infty, infinity)"},
               {"\\mathbb{Z}", "\\Bbb{Z}"},
               {"x == 3", "x = 3"},
               {"1 \\text{ to } 2", "1:2"}});
  expect_different(
      {{"\\mathbb{Z}", "\\mathbb{R}"}, {"[0,1]", "[0,1)"}, {"3 or 4", "3 and 4"}, {"U", "\\cup"}});
  expect_refused({"\\{x \\in \\mathbb{Z} | x > 2\\}", "\\{x \\in \\mathbb{R} x > 2\\}", "\\{1, 2",
                  "\\{x | x > 2", "\\mathbb{2}", "\\mathbb{x+1}", ", 2", "1 \\cup"});
}

TEST(AnswerParser, FunctionsAndBigOperators) {
  expect_same({{"\\sin^{-1} x", "\\arcsin x"},
               {"\\cos^{-1}(x)", "\\arccos(x)"},
               {"\\tan^{-1} x", "\\arctan x"},
               {"\\sec^{-1} x", "\\sec^{-1}(x)"},
               {"\\sin[x]", "\\sin(x)"},
               {"\\sin x(y)", "(\\sin x)(y)"},
               {"\\sin 2x|y|", "\\sin(2x)|y|"},
               {"\\gcd(4, 6)", "\\gcd (4,6)"},
               {"\\log_2 8", "\\log_{2} 8"},
               {"\\log 8", "\\log_{10} 8"},
               {"\\lg 8", "\\log_{10} 8"},
               {"\\lg_3 8", "\\log_3 8"},
               {"\\exp(x)", "e^x"},
               {"cis x", "e^{ix}"},
               {"\\sum_{k=1}^n k", "\\sum^{n}_{k=1} k"},
               {"\\frac12", "1/2"},
               {"\\frac 1 2", "1/2"},
               {"\\frac1{2}", "1/2"},
               {"\\dbinom52", "\\binom{5}{2}"},
               {"{5 \\choose 2}", "\\binom{5}{2}"},
               {"\\sqrt[3]{x}", "x^{1/3}"},
               {"\\overline{AB}", "AB"},
               {"m\\angle A", "A"},
               {"2\\angle A", "2A"},
               {"f^\\prime", "f^'"}});
  expect_different({{"\\sec^{-1} x", "\\arccos x"},
                    {"\\overline{z}", "z"},
                    {"\\overline{ABC}", "ABC"},
                    {"\\overline{A+B}", "A+B"},
                    {"\\overline{aB}", "aB"},
                    {"\\overline{A2}", "A2"},
                    {"\\overline{A\\alpha}", "A\\alpha"}});
  expect_refused({"\\sum_{k=1} k", "\\sum^n k", "\\sum_{k}^n k", "\\sum_{k<3}^n k",
                  "\\sum_{2=k}^n k", "\\sum_{k=1}^n", "\\sqrt[0]{x}", "\\frac{1}", "\\binom{5}",
                  "\\frac", "\\sin", "x^{1" + repeated("0", 10) + "e9999}", "x^1.5e9999"});
}

TEST(AnswerParser, Matrices) {
  expect_same({{"\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}",
                "\\begin{bmatrix}1&2\\\\3&4\\\\\\end{bmatrix}"},
               {"\\begin{array}{cc} 1 & 2 \\end{array}", "\\begin{matrix} 1 & 2 \\end{matrix}"},
               {"\\begin{matrix} 1 \\& 2 \\end{matrix}", "\\begin{matrix} 1 & 2 \\end{matrix}"}});
  expect_refused({"\\begin{pmatrix} 1 & 2 \\\\ 3 \\end{pmatrix}", "\\begin{pmatrix} \\end{pmatrix}",
                  "\\begin{cases} 1 \\end{cases}", "\\begin{pmatrix", "\\begin",
                  "\\begin{pmatrix} 1 & 2", "\\begin{pmatrix} 1 ) \\end{pmatrix}"});
}

TEST(AnswerParser, WordsAndUnits) {
  expect_same({{"3 \\text{ m/s}", "3 \\text{ m / s}"},
               {"3 \\text{ m*s}", "3 \\text{m * s}"},
               {"4\\pi\\text{ m}", "4\\pi \\text{ m}"},
               {"5 \\text{ cm}^2", "5\\text{ cm}^{2}"},
               {"5:30 p.m.", "5:30 PM"},
               {"5:30 a.M", "5:30 am"},
               {"20^\\circ C", "20^\\circ \\text{C}"},
               {"20^{\\circ} F", "20^{\\circ}\\text{F}"},
               {"\\$5", "5 \\$"},
               {"2or3", "2 or 3"},
               {"(2)or3", "(2) or 3"},
               {"7\\quad", "7"},
               {"x\\qquad = 3", "x = 3"},
               {"\\left. x \\right.", "x"},
               {"\\text x", "x"},
               {"5 \\text {cm}", "5\\text{cm}"}});
  expect_different({{"20^\\circ C", "20^\\circ F"},
                    {"3 \\text{ m/s}", "3 \\text{ m*s}"},
                    {"x.m", "xm"},
                    {"p.x", "px"}});
  expect_refused({"3 \\text{ m/}", "3 \\text{ m} / 2", "3 \\text{ m} * (x)", "5 \\text{ cm}^x",
                  "5 \\text{ cm}^{1.5}", "5 \\text{ cm}^{10}", "\\text{yes}", "\\text",
                  "\\text{open", repeated("\\text{", 30) + "x" + repeated("}", 30)});
}

}  // namespace
}  // namespace counterbeam::grade
