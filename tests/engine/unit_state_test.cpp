// The states of a unit: which transitions are allowed, and what follows from its request.
#include <gtest/gtest.h>

#include "engine/engine_call.h"

namespace counterbeam {
namespace {

struct OneUnit {
  EngineRequest request;
  WorkUnit unit;
  OneUnit() { unit.request = &request; }
};

TEST(UnitState, GoesFromWaitingToDone) {
  OneUnit one;
  EXPECT_FALSE(one.unit.holds_memory());
  one.unit.admit();
  EXPECT_TRUE(one.unit.holds_memory());
  one.unit.enter_step();
  EXPECT_TRUE(one.unit.holds_memory());
  one.unit.leave_step();
  one.unit.finish();
  EXPECT_EQ(one.unit.state, UnitState::Done);
}

TEST(UnitState, PreemptionLooksForPrefixesAgain) {
  OneUnit one;
  one.unit.feeds.resize(2);
  for (Feed& feed : one.unit.feeds) feed.looked_for_prefix = true;
  one.unit.admit();
  one.unit.preempt();
  EXPECT_EQ(one.unit.state, UnitState::Waiting);
  for (const Feed& feed : one.unit.feeds) EXPECT_FALSE(feed.looked_for_prefix);
  one.unit.preempt();  // its cache may be taken before it is admitted
}

TEST(UnitState, DrawsUntilStoppedOrAllTokensAreThere) {
  OneUnit one;
  WorkUnit follower;
  follower.request = &one.request;
  follower.leader = &one.unit;
  const auto expect = [&](bool more) {
    EXPECT_EQ(one.unit.draws(), more);
    EXPECT_EQ(follower.trails(), more);
    EXPECT_FALSE(one.unit.trails() || follower.draws());
  };
  one.request.max_tokens = 2;
  expect(false);  // a prompt
  one.request.kind = RequestKind::Extend;
  expect(true);
  one.request.extension.tokens = {1};
  expect(true);
  one.request.extension.stopped = true;
  expect(false);
  one.request.extension.stopped = false;
  one.request.extension.tokens = {1, 2};
  expect(false);
}

TEST(UnitStateDeathTest, OtherTransitionsStopTheProgram) {
  OneUnit one;
  EXPECT_DEATH(one.unit.enter_step(), "Waiting|Admitted");
  EXPECT_DEATH(one.unit.leave_step(), "InStep");
  one.unit.admit();
  EXPECT_DEATH(one.unit.admit(), "Waiting");
  one.unit.enter_step();
  EXPECT_DEATH(one.unit.preempt(), "Waiting|Admitted");
  EXPECT_DEATH(one.unit.finish(), "Waiting|Admitted");
  one.unit.leave_step();
  one.request.kind = RequestKind::Extend;
  one.request.max_tokens = 1;
  EXPECT_DEATH(one.unit.finish(), "draws");  // has a token to draw
  one.request.kind = RequestKind::Prompt;
  one.unit.finish();
  EXPECT_DEATH(one.unit.admit(), "Waiting");
}

}  // namespace
}  // namespace counterbeam
