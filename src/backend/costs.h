// What a back end's steps cost: the constants that scheduling and measuring go by. They are fixed
// when the back end is made.
#pragma once

namespace counterbeam {

struct BackendCosts {
  int activation_bytes = 4;  // per element of a Matrix
  int threads = 1;           // CPU threads that compute
  // A step of at most this many rows takes about as long as a step of one row, because reading the
  // weights takes longer than multiplying by them.
  int cheap_rows = 1;
  // Whether that also holds when a sequence brings several tokens (a chunk) into the step.
  bool takes_pieces = true;
  int step_rows = 512;          // the most rows of a step
  int rows_beside_draws = 128;  // the most prefill and scoring rows in a step that also draws
  // How often a recurrent state crosses the memory bus per token: once if it is only read, twice if
  // it is also written back.
  int state_passes = 2;
};

}  // namespace counterbeam
