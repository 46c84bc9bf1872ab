#include "serve/admission.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace counterbeam::serve {
namespace {

// A search that runs until it is let go.
class Gate {
 public:
  std::function<void()> search(std::vector<std::string>* order = nullptr, std::string name = "") {
    return [this, order, name] {
      std::unique_lock lock(mutex_);
      if (order) order->push_back(name);
      ++running_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return open_; });
    };
  }
  void wait_for(int running) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return running_ >= running; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int running_ = 0;
  bool open_ = false;
};

Admission::Work work_of(std::function<void()> search, std::atomic<int>* refused = nullptr) {
  Admission::Work work;
  work.searches.push_back(std::move(search));
  work.refused = [refused](const ApiError&) {
    if (refused) ++*refused;
  };
  return work;
}

TEST(Admission, ClientsTakeTurns) {
  Gate first, gate;
  gate.open();
  std::vector<std::string> order;
  {
    Admission admission(1, 100);
    admission.submit("z", work_of(first.search()));
    first.wait_for(1);
    for (int i = 0; i < 3; ++i) admission.submit("many", work_of(gate.search(&order, "many")));
    admission.submit("few", work_of(gate.search(&order, "few")));
    EXPECT_EQ(admission.waiting(), 4);
    EXPECT_EQ(admission.running(), 1);
    first.open();
    EXPECT_TRUE(admission.wait_idle(std::chrono::seconds(10)));
  }
  EXPECT_EQ(order, (std::vector<std::string>{"many", "few", "many", "many"}));
}

TEST(Admission, AFullQueueDropsTheNewestOfTheBusiestClient) {
  Gate gate;
  std::atomic<int> refused = 0, refused_newest = 0;
  Admission admission(1, 3);
  admission.submit("a", work_of(gate.search()));
  gate.wait_for(1);
  admission.submit("a", work_of(gate.search(), &refused));
  admission.submit("a", work_of(gate.search(), &refused));
  admission.submit("a", work_of(gate.search(), &refused_newest));
  try {
    admission.submit("a", work_of(gate.search()));
    ADD_FAILURE() << "the busiest client itself is refused";
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status, 429);
    EXPECT_GE(error.retry_after, 1);
  }
  admission.submit("b", work_of(gate.search()));
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(refused_newest, 1);
  EXPECT_EQ(admission.waiting(), 3);
  // a has two waiting and b one: b would have as many, so that nobody is dropped for it.
  EXPECT_THROW(admission.submit("b", work_of(gate.search())), ApiError);
  gate.open();
}

TEST(Admission, SearchesOfOneRequestRunSideBySideAndCountOnce) {
  Gate gate;
  Admission admission(4, 1);
  Admission::Work work;
  for (int i = 0; i < 6; ++i) work.searches.push_back(gate.search());
  work.refused = [](const ApiError&) {};
  admission.submit("a", std::move(work));
  gate.wait_for(4);
  EXPECT_EQ(admission.running(), 4);
  EXPECT_EQ(admission.waiting(), 0) << "a request that has begun does not wait";
  gate.open();
  EXPECT_TRUE(admission.wait_idle(std::chrono::seconds(10)));
}

TEST(Admission, WithdrawnRequestsNeverBegin) {
  Gate gate;
  std::atomic<int> refused = 0;
  std::vector<std::string> order;
  Admission admission(1, 10);
  admission.submit("a", work_of(gate.search()));
  gate.wait_for(1);
  const auto entry = admission.submit("b", work_of(gate.search(&order, "b"), &refused));
  admission.withdraw(entry);
  admission.withdraw(entry);
  EXPECT_EQ(admission.waiting(), 0);
  gate.open();
  EXPECT_TRUE(admission.wait_idle(std::chrono::seconds(10)));
  EXPECT_TRUE(order.empty());
  EXPECT_EQ(refused, 0);
}

TEST(Admission, DrainingRefusesWhatWaitsAndWhatIsNew) {
  Gate gate;
  std::atomic<int> refused = 0;
  Admission admission(1, 10);
  admission.submit("a", work_of(gate.search()));
  gate.wait_for(1);
  admission.submit("a", work_of(gate.search(), &refused));
  admission.submit("b", work_of(gate.search(), &refused));
  admission.drain();
  EXPECT_EQ(refused, 2);
  EXPECT_FALSE(admission.wait_idle(std::chrono::milliseconds(1)));
  try {
    admission.submit("c", work_of(gate.search()));
    ADD_FAILURE();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status, 503);
  }
  gate.open();
  EXPECT_TRUE(admission.wait_idle(std::chrono::seconds(10)));
}

TEST(Admission, WithoutAQueueOnlyFreeWorkersAreGiven) {
  Gate gate;
  Admission admission(1, 0);
  admission.submit("a", work_of(gate.search()));
  gate.wait_for(1);
  EXPECT_THROW(admission.submit("b", work_of(gate.search())), ApiError);
  gate.open();
}

}  // namespace
}  // namespace counterbeam::serve
