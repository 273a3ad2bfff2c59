#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/context.h"
#include "runtime/core/span.h"
#include "runtime/core/value.h"

namespace etlab {

struct CompileSpec {
  std::string_view key;
  Span<const uint8_t> value;
};

// Bytes that a program (or a .ptd file) stores under a name, for delegates.
class NamedData {
 public:
  virtual ~NamedData() = default;
  // Throws kNotFound naming the key.
  virtual Span<const uint8_t> get(std::string_view key) const = 0;
};

// What a program says of one delegated subgraph. The bytes stay valid as long as the delegate.
struct DelegateDescription {
  Span<const uint8_t> processed;
  Span<const CompileSpec> specs;
  const NamedData& named_data;
  std::string_view method;
  size_t input_count;   // of its call; the rest are outputs
  size_t output_count;
};

// A node of a delegated subgraph.
struct DelegateNode {
  static constexpr uint32_t kAdded = 0xFFFFFFFFu;

  std::string_view name;  // its kind, as the backend calls it
  uint32_t index;         // its place in the subgraph; kAdded: the backend's own addition
  uint32_t debug_handle;  // what the backend's compiler gave it
};

// What a node wrote, as the backend holds it.
struct NodeResult {
  uint32_t value;  // the backend's number of the value
  const Tensor& tensor;
  // Integers q stand for (q - zero_point) * scale; with none, elements are the numbers themselves.
  // One of each for the whole tensor, or for each row: a row is the elements behind one another
  // that numel / count of them make.
  Span<const float> scales;
  Span<const int32_t> zero_points;
};

// Sees the nodes of delegated subgraphs, each after it ran.
class NodeObserver {
 public:
  virtual ~NodeObserver() = default;
  // Times in ticks (ticks.h).
  virtual void on_node(const DelegateNode& node, int64_t begin, int64_t end) = 0;
  // Whether the node that just ran is to hand out its results, which it then does before on_node.
  virtual bool wants_results() const { return false; }
  // Valid within the call: the next node may overwrite the memory.
  virtual void on_result(const NodeResult& /*result*/) {}
};

// One delegated subgraph, made when its method is loaded and run by each delegate call.
class Delegate {
 public:
  virtual ~Delegate() = default;
  // `arguments` are the inputs of the subgraph, then its outputs.
  virtual void execute(Context& context, Span<Value* const> arguments) = 0;
  // Tells of its nodes from now on; nullptr: no more. Delegates that are one step need not.
  virtual void observe(NodeObserver* /*observer*/) {}
};

// A way to run delegated subgraphs, found by the name that the program gives.
class Backend {
 public:
  virtual ~Backend() = default;
  // Throws Error with the reason when refused.
  virtual std::unique_ptr<Delegate> create(const DelegateDescription& description) = 0;
};

class BackendRegistry {
 public:
  static BackendRegistry& global();
  // Replaces a backend of the same name (a user re-runs the cell that defines it).
  void add(std::string name, std::shared_ptr<Backend> backend);
  std::shared_ptr<Backend> find(std::string_view name) const;  // nullptr when unknown
  std::vector<std::string> names() const;                      // sorted

 private:
  mutable std::mutex mutex_;  // methods are loaded while a cell registers a backend
  std::vector<std::pair<std::string, std::shared_ptr<Backend>>> backends_;  // sorted
};

}  // namespace etlab
