// How a token is drawn from the logits of a row.
#pragma once

namespace counterbeam {

struct Sampling {
  float temperature = 1.0f;  // 0: the likeliest token, the lowest id on ties
  float top_p = 1.0f;        // keep the smallest set of likeliest tokens that reaches this mass
  int top_k = 0;             // keep this many likeliest tokens; 0 keeps all
  float min_p = 0;
};

}  // namespace counterbeam
