// Finds a model on this machine: a folder, or ORG/NAME in the local Hugging Face cache. Nothing is
// ever downloaded; the error for an absent model says which command does.
#pragma once

#include <filesystem>
#include <string>

namespace counterbeam {

// The cache folders, from the environment: HF_HUB_CACHE, else HF_HOME/hub, else
// XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub.
std::filesystem::path hub_cache();

// The folder of a model: a folder of that name, else the model of that name that ships with the
// program, else ORG/NAME in the cache. It holds a config.json.
std::filesystem::path find_model(const std::string& name);

// The default model: the first of those that ship, looked for under ../../models (a build tree) or
// ../share/counterbeam/models (an installation) of the program's own folder.
std::filesystem::path shipped_model(const std::filesystem::path& program_folder);

// find_model, or the default model for an empty name.
std::filesystem::path find_model_or_shipped(const std::string& name);

// Whether the folder is one of the models that ship with the running program.
bool is_shipped_model(const std::filesystem::path& folder);

// Throws an Error with a remedy if the folder has no config.json.
void check_model_folder(const std::filesystem::path& folder);

// The folder of that name that ships with the running program, such as "tasks": in the repository
// above a build tree, or in an installation.
std::filesystem::path shipped_folder(const std::string& name);

}  // namespace counterbeam
