// Finds a model on this machine: a folder, or ORG/NAME in the local Hugging Face cache. Nothing is
// ever downloaded; the error for an absent model says which command does.
#pragma once

#include <filesystem>
#include <string>

namespace counterbeam {

// The cache folders, from the environment: HF_HUB_CACHE, else HF_HOME/hub, else
// XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub.
std::filesystem::path hub_cache();

// The folder that holds the model's config.json. A folder of that name wins over a cached model.
std::filesystem::path find_model(const std::string& name);

// The model that ships with the program: the first folder with a config.json under ../../models
// (a build tree) or ../share/counterbeam/models (an installation) of the program's own folder.
std::filesystem::path shipped_model(const std::filesystem::path& program_folder);

// The folder of that name that ships with the running program, such as "tasks": in the repository
// above a build tree, or in an installation.
std::filesystem::path shipped_folder(const std::string& name);

// find_model, or the shipped model where the name is empty.
std::filesystem::path find_model_or_shipped(const std::string& name);

}  // namespace counterbeam
