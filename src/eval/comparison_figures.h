// The figures of a comparison of models.
#pragma once

#include <vector>

#include "eval/comparison.h"

namespace counterbeam {

// Per task: the accuracy of every method with its interval, the models beside each other, and the
// paper's figures as hollow diamonds.
std::vector<Figure> accuracy_figures(const std::vector<ComparedModel>& models);

}  // namespace counterbeam
