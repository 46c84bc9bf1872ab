#include "engine/engine_call.h"

#include "base/error.h"

namespace counterbeam {

bool WorkUnit::draws() const {
  return leader == nullptr && request->has_tokens_to_draw();
}

bool WorkUnit::trails() const {
  return leader != nullptr && request->has_tokens_to_draw();
}

void WorkUnit::admit() {
  CB_CHECK(state == UnitState::Waiting);
  state = UnitState::Admitted;
}

void WorkUnit::enter_step() {
  CB_CHECK(state == UnitState::Admitted);
  state = UnitState::InStep;
}

void WorkUnit::leave_step() {
  CB_CHECK(state == UnitState::InStep);
  state = UnitState::Admitted;
}

void WorkUnit::preempt() {
  CB_CHECK(state == UnitState::Waiting || state == UnitState::Admitted);
  state = UnitState::Waiting;
  for (Feed& feed : feeds) feed.looked_for_prefix = false;
}

void WorkUnit::finish() {
  CB_CHECK(state == UnitState::Waiting || state == UnitState::Admitted);
  CB_CHECK(!draws() && !trails() && caught_up());
  state = UnitState::Done;
}

}  // namespace counterbeam
