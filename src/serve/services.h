// What the handlers of requests share. All parts outlive every request.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "search/loaded_model.h"
#include "serve/admission.h"
#include "serve/metrics.h"
#include "serve/model_names.h"
#include "serve/prompt_scores.h"
#include "serve/request_log.h"
#include "serve/searches.h"

namespace counterbeam::serve {

struct Services {
  const LoadedModel& model;
  const ModelNames& names;
  Admission& admission;
  Searches& searches;
  PromptScores& scores;
  Metrics& metrics;
  RequestLog& log;
  // Runs a function later, on a thread that may not be blocked.
  std::function<void(std::chrono::milliseconds, std::function<void()>)> after;
  std::string fingerprint;  // of answers: program and back end
  bool system_as_user = false, ignore_tools = false;
  std::chrono::milliseconds keep_alive{10'000};  // the longest silence of a stream
};

}  // namespace counterbeam::serve
