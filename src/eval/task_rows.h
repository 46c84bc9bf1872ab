// Turns the rows of a data file into problems: one reader per public format, and one per grader for
// data files of users. Every error names the file, the row, the field and the remedy.
#pragma once

#include <cstdint>

#include "eval/data_file.h"
#include "eval/tasks.h"

namespace counterbeam {

struct RowContext {
  std::uint64_t seed = 0;
  TaskPrompts prompts;
};

using RowReader = Problem (*)(const DataRow& row, std::size_t index, const RowContext& context);

// The public formats.
Problem read_math(const DataRow& row, std::size_t index, const RowContext& context);
Problem read_gsm8k(const DataRow& row, std::size_t index, const RowContext& context);
Problem read_code(const DataRow& row, std::size_t index, const RowContext& context);
Problem read_gpqa(const DataRow& row, std::size_t index, const RowContext& context);
Problem read_tiny_choice(const DataRow& row, std::size_t index, const RowContext& context);

// Rows of a user's file for a grader: {"id", "question", "answer", ...}. All fields of a row are
// filled into the prompt.
RowReader own_row_reader(Judging judging);

// Reads a task from a JSON Lines or CSV file. `id_field` is named if two rows have the same id.
TaskData read_task(std::string name, Judging judging, const std::filesystem::path& file,
                   RowReader read, std::string_view id_field, const RowContext& context);

}  // namespace counterbeam
