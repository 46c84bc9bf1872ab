#include "eval/comparison_cells.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

namespace counterbeam {
namespace {

// The samples of one task and method in one run.
struct ResultCell {
  const ReportedRun* run;
  std::vector<const Sample*> samples;

  // How much it holds; of two cells the larger one is shown.
  std::tuple<std::size_t, std::size_t, bool> size() const {
    std::set<std::string_view> questions;
    std::size_t graded = 0;
    bool measured = true;
    for (const Sample* sample : samples) {
      if (!sample->error.empty()) continue;
      ++graded;
      questions.insert(sample->id);
      measured = measured && sample->alone;
    }
    return {questions.size(), graded, measured};
  }
};

// The cells of all runs, in order of appearance.
struct CellTable {
  std::vector<CellKey> keys;
  std::map<CellKey, std::vector<ResultCell>> cells;
};

CellTable cells_of(const ModelRuns& model, const std::vector<const ReportedRun*>& runs,
                   const RowOf& row_of) {
  CellTable table;
  for (const ReportedRun* run : runs) {
    std::map<CellKey, CellKey> labels;  // by task and method of this run
    for (const Sample& sample : run->samples) {
      const auto [place, fresh] = labels.try_emplace({sample.task, sample.method});
      if (fresh)
        place->second = {model.task_of(*run, sample.task).label, row_of(*run, sample.method)};
      std::vector<ResultCell>& cells = table.cells[place->second];
      if (cells.empty()) table.keys.push_back(place->second);
      if (cells.empty() || cells.back().run != run) cells.push_back({run, {}});
      cells.back().samples.push_back(&sample);
    }
  }
  return table;
}

// Samples that two runs have in common, of the cells where the first one is shown.
struct CommonSamples {
  std::size_t count = 0, other = 0;
  std::set<std::string> methods;  // of those that are not the same
};
using CommonByFolders = std::map<std::pair<std::string, std::string>, CommonSamples>;

void count_common(const CellKey& key, const ResultCell& shown, const std::vector<ResultCell>& cells,
                  CommonByFolders& common) {
  std::map<std::pair<std::string_view, int>, const Sample*> known;
  for (const Sample* sample : shown.samples)
    if (sample->error.empty()) known[{sample->id, sample->sample}] = sample;
  for (const ResultCell& cell : cells) {
    if (cell.run == shown.run) continue;
    CommonSamples& both = common[{shown.run->folder, cell.run->folder}];
    for (const Sample* sample : cell.samples) {
      const auto same = known.find({sample->id, sample->sample});
      if (same == known.end() || !sample->error.empty()) continue;
      ++both.count;
      if (sample->answer == same->second->answer && sample->correct == same->second->correct)
        continue;
      ++both.other;
      both.methods.insert(key.second);
    }
  }
}

// Draws are keyed, so a sample that two runs have is the same; if not, the reader must know.
void note_differences(const CommonByFolders& common, std::vector<std::string>& notes) {
  for (const auto& [folders, both] : common)
    if (both.other > 0)
      notes.push_back(fmt::format(
          "{} of {} samples differ between {} and {}, although model, seed and settings are the "
          "same (another version of the program, or files that were changed): {}. The first is "
          "shown.",
          both.other, both.count, folders.first, folders.second, fmt::join(both.methods, ", ")));
}

}  // namespace

ShownSamples shown_samples(const ModelRuns& model, const std::vector<const ReportedRun*>& runs,
                           const RowOf& row_of) {
  ShownSamples result;
  const CellTable table = cells_of(model, runs, row_of);
  CommonByFolders common;
  for (const CellKey& key : table.keys) {
    const std::vector<ResultCell>& cells = table.cells.at(key);
    const ResultCell& shown =
        *std::max_element(cells.begin(), cells.end(), [](const ResultCell& a, const ResultCell& b) {
          return a.size() < b.size();  // the first of equal ones
        });
    result.sources[key] = shown.run->folder;
    count_common(key, shown, cells, common);
    for (const Sample* sample : shown.samples) {
      Sample copy = *sample;
      copy.task = key.first;
      copy.method = key.second;
      result.samples.push_back(std::move(copy));
    }
  }
  note_differences(common, result.notes);
  return result;
}

}  // namespace counterbeam
