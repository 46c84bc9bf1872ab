// Stacks for the threads of a kernel, which take turns on one thread of the host.
#pragma once

#include <functional>

namespace counterbeam::emulated {

struct Fiber;

// A fiber that will call `body`, which must live as long.
Fiber* take_fiber(const std::function<void()>& body);
// Runs a fiber until it pauses (false) or its body returns (true). REQUIRES no running fiber.
bool resume(Fiber& fiber);
// Ends a turn. REQUIRES a running fiber.
void pause(Fiber& fiber);
// Gives back a fiber whose body returned, or one that must never continue: then what its stack
// holds is not destroyed.
void give_back(Fiber* fiber, bool returned);

}  // namespace counterbeam::emulated
