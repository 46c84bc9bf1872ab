// Finds a model on this machine: a folder, or ORG/NAME in the local Hugging Face cache. Nothing is
// downloaded; the error for an absent model gives the command that downloads it.
#pragma once

#include <filesystem>
#include <string>

namespace counterbeam {

// The cache folder, from the environment: HF_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub
// or ~/.cache/huggingface/hub, whichever is set first.
std::filesystem::path hub_cache();

// The folder of a model: a folder of that name, else the model of that name that ships with the
// program, else ORG/NAME in the cache. It holds a config.json.
std::filesystem::path find_model(const std::string& name);

// The default model: the first of those that ship, looked for under ../../models (a build tree) or
// ../share/counterbeam/models (an installation) of the program's own folder, which for the Python
// package is that of its module.
std::filesystem::path shipped_model(const std::filesystem::path& program_folder);

// find_model, or the default model for an empty name.
std::filesystem::path find_model_or_shipped(const std::string& name);

// What to call the model in a folder: ORG/NAME for a snapshot in a hub cache
// (models--ORG--NAME/snapshots/HASH), also if a link leads there, otherwise the name of the folder
// itself. Never empty, and never "." or "..".
std::string model_name(const std::filesystem::path& folder);

// Whether the folder is one of the models that ship with the running program.
bool is_shipped_model(const std::filesystem::path& folder);

// Throws an Error with a remedy if the folder has no config.json.
void check_model_folder(const std::filesystem::path& folder);

// A folder that ships with the running program, such as "tasks": in the repository for a build
// tree, or in the installation.
std::filesystem::path shipped_folder(const std::string& name);

}  // namespace counterbeam
