#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/context.h"
#include "runtime/core/span.h"
#include "runtime/core/value.h"

namespace etlab {

// A kernel that is an object, for languages whose functions carry state. Compiled kernels are
// functions and register themselves (core/kernel.h).
class CustomKernel {
 public:
  virtual ~CustomKernel() = default;
  // `arguments` are those of the operator's schema, outputs included, then the returned value.
  // Called by one thread per running method, so by several at once.
  virtual void run(Context& context, Span<Value* const> arguments) = 0;
};

// Custom kernels by operator name ("mylib::foo.out"). They stand in front of every other kernel of
// that name. A method takes the ones there are when it is loaded and keeps them.
class CustomKernelRegistry {
 public:
  static CustomKernelRegistry& global();
  // Replaces an earlier one of the same name (a user re-runs the cell that defines it).
  void add(const std::string& name, std::shared_ptr<CustomKernel> kernel);
  bool remove(std::string_view name);  // false when there is none
  std::shared_ptr<CustomKernel> find(std::string_view name) const;  // nullptr when there is none
  std::vector<std::string> names() const;                           // sorted

 private:
  mutable std::mutex mutex_;  // methods are loaded while a cell registers a kernel
  std::map<std::string, std::shared_ptr<CustomKernel>, std::less<>> kernels_;
};

}  // namespace etlab
