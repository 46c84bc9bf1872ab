// Connects a model's tokenizer and chat template with the servers that compute the model, and
// checks that both are of the same model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "counterbeam/counterbeam.h"
#include "engine/remote_engine.h"
#include "model/model_source.h"

namespace counterbeam {

struct ConnectedModel {
  std::unique_ptr<RemoteEngine> engine;
  std::vector<std::string> warnings;
};

// REQUIRES options.engine, and parts as read_text_parts() gives them. BadInput where a server has
// another tokenizer or a smaller vocabulary.
ConnectedModel connect_model(const std::string& name, const ModelParts& parts,
                             const LoadOptions& options);

}  // namespace counterbeam
