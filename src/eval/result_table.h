// A table of results as files: CSV for programs, LaTeX (booktabs) for papers. The two differ: CSV
// has one plain row per fact with all digits, LaTeX what a reader wants to see.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace counterbeam {

using TextRows = std::vector<std::vector<std::string>>;

struct ResultTable {
  struct Column {
    std::string name;
    std::string group = {};  // a heading over adjacent columns of the same group
    bool text = false;       // aligned to the left; in a long table its lines break
  };
  std::string name;   // of its files, without extension
  std::string title;  // a sentence without its full stop
  TextRows csv;       // the first row names the columns

  std::vector<Column> columns;  // of the LaTeX table
  TextRows rows;                // as many cells as columns; plain text, not LaTeX

  bool is_long() const;  // longer than a page: a longtable instead of a tabular
};

// RFC 4180: lines end with CR LF, and cells with a comma, a quote or a line break are quoted.
std::string csv_text(const TextRows& rows);

// Text as LaTeX shows it, in any font encoding and on one line. Characters that pdflatex cannot
// show without further packages are written as their code points.
std::string latex_escaped(std::string_view text);

// The table alone, for \input: a tabular, or a longtable. Needs booktabs (and longtable).
std::string latex_text(const ResultTable& table);

// A document that inputs NAME.tex of every table; wide ones are scaled to the width of the page.
std::string latex_document(const std::vector<ResultTable>& tables);

}  // namespace counterbeam
