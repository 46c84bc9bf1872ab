// Joins the shards of an evaluation. Shards must be of the same run, as for --resume
// (eval/provenance.h); gaps are named, never passed over.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace counterbeam {

// Merges the folders (or samples files) of shards into `out`: samples.jsonl in the order of a whole
// run, run.json and problems.jsonl. Throws an Error if two contain the same sample, if they are not
// of the same run, if `out` has samples that none of them has, or if something is missing: a shard,
// samples of a shard, the end of a line, or run.json. With `partial` what is missing is returned
// instead, a sentence each, and recorded as "gaps" in run.json.
std::vector<std::string> merge_runs(const std::vector<std::filesystem::path>& shards,
                                    const std::filesystem::path& out, bool partial);

}  // namespace counterbeam
