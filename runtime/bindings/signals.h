#pragma once

#include <pybind11/pybind11.h>
#include <pythread.h>

#include <cstdint>
#include <optional>

#include "runtime/core/context.h"
#include "runtime/core/error.h"
#include "runtime/core/ticks.h"

namespace etlab {

// Lets Python's signal handlers run now and then, so that the notebook's stop button ends a run.
// Only the main thread may do that.
class SignalPoller : public Poller {
 public:
  static bool is_main_thread() {
    static const auto main_thread = pybind11::module_::import("threading")
                                        .attr("main_thread")()
                                        .attr("ident")
                                        .cast<unsigned long>();
    return PyThread_get_thread_ident() == main_thread;
  }

  bool poll() override {
    if (raised_) return true;
    const int64_t now = ticks();
    if (now < next_) return false;
    next_ = now + ticks_of_about(kPeriodMilliseconds);
    pybind11::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) raised_.emplace();
    return raised_.has_value();
  }

  // Throws the exception of the signal handler (KeyboardInterrupt), if a signal came.
  void rethrow_if_raised() const {
    if (raised_) throw pybind11::error_already_set(*raised_);
    if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
  }

 private:
  static constexpr int64_t kPeriodMilliseconds = 40;

  int64_t next_ = ticks() + ticks_of_about(kPeriodMilliseconds);
  std::optional<pybind11::error_already_set> raised_;
};

// Runs `body(poller)` without the GIL; a signal's exception wins over the one that it caused.
template <typename Body>
void run_interruptible(const Body& body) {
  std::optional<SignalPoller> poller;
  if (SignalPoller::is_main_thread()) poller.emplace();
  try {
    pybind11::gil_scoped_release release;
    body(poller ? &*poller : nullptr);
  } catch (const Error&) {
    if (poller) poller->rethrow_if_raised();
    throw;
  }
}

}  // namespace etlab
