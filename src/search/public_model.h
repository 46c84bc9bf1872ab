// What stands behind a LanguageModel, for the rooms that implement the public interface.
#pragma once

#include "search/loaded_model.h"

namespace counterbeam {

struct LanguageModel::Parts {
  LoadedModel model;
};

struct PublicModel {
  static const LoadedModel& of(const LanguageModel& model) { return model.parts_->model; }
};

}  // namespace counterbeam
