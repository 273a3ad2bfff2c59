#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>

#include "runtime/core/method.h"
#include "runtime/core/method_meta.h"
#include "runtime/core/program.h"
#include "runtime/tools/support/request.h"

namespace etlab {

// Does what requests ask for. Programs and methods stay loaded, so that a later request finds the
// state that an earlier one left.
class Session {
 public:
  // Throws Error with the reason. `report` gets text for people: signature, times, profile.
  void run(const Request& request, std::ostream* report);
  // Stops the run that is under way and all later ones. From any thread.
  void stop();

 private:
  struct Loaded {
    std::unique_ptr<const Program> program;
    std::map<std::string, std::unique_ptr<Method>> methods;
  };

  Loaded& load(const Request& request);
  Method& method(Loaded& loaded, const std::string& name);

  std::map<std::string, Loaded> programs_;
  std::mutex mutex_;  // of the two below
  Method* running_ = nullptr;
  bool is_stopped_ = false;
};

}  // namespace etlab
